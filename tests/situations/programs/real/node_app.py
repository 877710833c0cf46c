"""A program of node's, whose other threads wait for work.  The culprit: price()."""
import pathlib
import subprocess
import tempfile

from steady import Steady

PROGRAM = """
function price(number) {
  let total = 0;
  for (let item = 0; item < number; item++) total += item * item % 7;
  return total;
}
setInterval(() => { for (let n = 0; n < 40; n++) price(100000); }, 1);
"""
run = Steady()
run.has_rounds = False
path = pathlib.Path(tempfile.gettempdir()) / "shop.js"
path.write_text(PROGRAM, encoding="utf-8")
node = subprocess.Popen(["node", "--perf-basic-prof", path])
while not run.start or run.goes_on():
    try:
        node.wait(1)
    except subprocess.TimeoutExpired:
        if not run.start:
            run.ready(node.pid)
node.kill()
