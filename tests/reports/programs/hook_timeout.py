"""wait(timeout=...) sleeps longer and longer, past the child's end."""
import subprocess

from account import Account

account = Account()


def run_hook():
    process = subprocess.Popen(["sleep", "0.035"])
    with account.at("run_hook"):
        process.wait(timeout=10)


account.ready()
while account.goes_on():
    run_hook()
account.tell()
