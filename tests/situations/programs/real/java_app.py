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
path = pathlib.Path(tempfile.gettempdir()) / "Shop.java"
path.write_text(PROGRAM, encoding="utf-8")
run.watch(subprocess.Popen(["java", path]), 3)
