"""Each command looks through everything that is installed for its plug-ins."""
import importlib.metadata
import pathlib
import sys
import tempfile

from account import Account

account = Account()


def install(folder, count):
    for i in range(count):
        info = pathlib.Path(folder, f"package{i}-1.{i}.dist-info")
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: package{i}\nVersion: 1.{i}\n")
        (info / "entry_points.txt").write_text(f"[tool.plugins]\np{i} = package{i}:main\n" if i % 9
                                               else "[console_scripts]\nx = y:z\n")


def find_plugins():
    with account.at("find_plugins"):
        found = importlib.metadata.entry_points()
    return found


def run_command(text):
    plugins = find_plugins()
    return len(plugins) + sum(ord(c) ** 2 for c in text)


with tempfile.TemporaryDirectory() as folder:
    install(folder, 150)
    sys.path.insert(0, folder)
    account.ready()
    while account.goes_on():
        run_command("status --short " * 300)
account.tell()
