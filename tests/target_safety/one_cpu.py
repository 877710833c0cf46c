"""Runs a test of this folder with everything on one CPU: whatever keeps the target off it, as
wallspy's better nice may, harms it more.

usage: one_cpu.py TEST ARGUMENT...
"""
import os
import sys

os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
