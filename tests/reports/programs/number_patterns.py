"""Numbers are checked by the patterns of more countries than re's cache holds."""
import re

from account import Account

account = Account()
COUNTRIES = {c: [f"(?:00|[+]){c}(?:0?[1-9]\\d{{{n},9}}|[48]0\\d{{4,{n + 6}}})" for n in (2, 3, 4)]
             for c in range(30, 330)}


def matches(pattern, number):
    with account.at("matches"):
        compiled = re.compile(pattern)
    return compiled.fullmatch(number)


def check(number):
    for patterns in COUNTRIES.values():
        if any(matches(pattern, number) for pattern in patterns):
            return True
    return False


account.ready()
while account.goes_on():
    check("+4930123456")
    check("030 1234567")
account.tell()
