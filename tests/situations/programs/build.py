"""Has its steps done by commands and waits for each.  The culprit: the commands; the twin does the
same itself.  They do without `site`, which imports whatever packages ask for at each start."""
import subprocess
import sys

from steady import Steady

run = Steady()
STEP = "import time\nend = time.process_time() + 0.1\nwhile time.process_time() < end: pass"


def compile_unit():
    if run.twin:
        exec(STEP, {})  # pylint: disable=exec-used
    else:
        subprocess.run([sys.executable, "-S", "-c", STEP], check=True)


def main():
    units = 0
    run.ready()
    while run.goes_on():
        compile_unit()
        units += 1
    run.tell(units_per_s=run.per_second(units))


main()
