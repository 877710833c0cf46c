"""wait() for a command that prints more than a pipe holds."""
import signal
import subprocess

from account import Account

account = Account()


def run_command(*command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    signal.signal(signal.SIGALRM, lambda *_: process.kill())
    with account.at("run_command"):
        process.wait()
    return process.stdout.read()


account.ready()
signal.setitimer(signal.ITIMER_REAL, account.end - account.start)
run_command("head", "-c", "200000", "/dev/zero")
account.tell()
