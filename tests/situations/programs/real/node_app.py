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
path = pathlib.Path(tempfile.gettempdir()) / "shop.js"
path.write_text(PROGRAM, encoding="utf-8")
run.watch(subprocess.Popen(["node", "--perf-basic-prof", path]), 1)
