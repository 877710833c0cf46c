"""Each span looks up its caller's name by inspect.stack()."""
import inspect

from account import Account

account = Account()


def span(name):
    with account.at("span"):
        caller = inspect.stack()[1]
    return f"{name} {caller.function} {caller.lineno}"


def score(sample):
    span("score")
    return sum(x * x for x in range(sample))


def evaluate(samples, depth=12):
    """As deep as a call of a framework's plug-in."""
    return evaluate(samples, depth - 1) if depth else [score(sample) for sample in samples]


account.ready()
while account.goes_on():
    evaluate([2000, 3000, 4000])
account.tell()
