"""Reports are written with an indent, which the encoder in C cannot do here."""
import json

from account import Account

account = Account()


def collect(day):
    return {f"shop {i}": {"day": day, "sales": [day * i % 97] * 8, "open": i % 7 > 0}
            for i in range(300)}


def export(report):
    with account.at("export"):
        return len(json.dumps(report, indent=2))


day = 0
account.ready()
while account.goes_on():
    day += 1
    export(collect(day))
account.tell()
