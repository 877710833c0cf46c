#!/usr/bin/env python3
"""usage: parse_svg.py WRITE_FILES
Reads a flame graph of hostile names with an XML parser: it is well-formed, has no script but its
own, loads nothing, and the names are the text that they are."""
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SVG = "{http://www.w3.org/2000/svg}"
MAY_HOLD = {"svg", "style", "g", "rect", "line", "title", "text", "tspan", "script"}
NAMES = ["all", "<module>", "Conv<float, 3>::exec", "<script>window.wasRun=1;alert(1)</script>",
         'odd ?? "name" \\ ? \u2028']


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        root = xml.etree.ElementTree.parse(pathlib.Path(folder) / "small.svg").getroot()
    elements = [element.tag.removeprefix(SVG) for element in root.iter()]
    assert set(elements) == MAY_HOLD, set(elements) ^ MAY_HOLD
    assert elements.count("script") == 1 and elements.count("style") == 1
    for element in root.iter():
        bad = [key for key in element.attrib if key.startswith("on") or key.endswith("href")]
        assert not bad, bad
    titles = {title.text.split("\n")[0] for title in root.iter(SVG + "title")}
    assert titles.issuperset(NAMES), set(NAMES) - titles


main()
