"""usage: embed.py OUTPUT.h NAME=FILE...
Writes a header in which each FILE's text is a C string called NAME."""
import sys


def quoted(line):
    escaped = line.replace("\\", "\\\\").replace('"', '\\"')
    return f'    "{escaped}\\n"'


def main():
    out, *inputs = sys.argv[1:]
    with open(out, "w", encoding="utf-8") as header:
        print("/* Made by base/embed.py. */\n#pragma once", file=header)
        for name, path in (word.split("=", 1) for word in inputs):
            text = open(path, encoding="utf-8").read()
            assert "]]>" not in text, f"{path} would end its CDATA section"
            lines = "\n".join(map(quoted, text.splitlines()))
            print(f"\nstatic const char {name}[] =\n{lines};", file=header)


main()
