"""A program of Go's, whose other threads wait for work.  The culprit: main.price()."""
import pathlib
import subprocess
import tempfile

from steady import Steady

PROGRAM = """
package main

import "time"

//go:noinline
func price(number int) int {
	total := 0
	for item := 0; item < number; item++ {
		total += item * item % 7
	}
	return total
}

func tick() {
	for {
		time.Sleep(10 * time.Millisecond)
	}
}

func main() {
	go tick()
	for price(1000000) >= 0 {
	}
}
"""
run = Steady()
folder = pathlib.Path(tempfile.gettempdir())
(folder / "shop.go").write_text(PROGRAM, encoding="utf-8")
subprocess.run(["go", "build", "-o", folder / "shop", folder / "shop.go"], check=True)
run.watch(subprocess.Popen([folder / "shop"]), 0.1)
