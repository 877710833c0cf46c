"""A program of Java's, whose other threads wait for work.  Its main thread computes."""
import pathlib
import subprocess
import tempfile

from steady import Steady

PROGRAM = """
public class Shop {
    static long price(int number) {
        long total = 0;
        for (int item = 0; item < number; item++) total += (long) item * item % 7;
        return total;
    }
    public static void main(String[] words) {
        long total = 0;
        while (total >= 0) total = total % 1000 + price(1000000);
    }
}
"""
run = Steady()
run.has_rounds = False
path = pathlib.Path(tempfile.gettempdir()) / "Shop.java"
path.write_text(PROGRAM, encoding="utf-8")
java = subprocess.Popen(["java", path])
while not run.start or run.goes_on():
    try:
        java.wait(3)
    except subprocess.TimeoutExpired:
        if not run.start:
            run.ready(java.pid)
java.kill()
