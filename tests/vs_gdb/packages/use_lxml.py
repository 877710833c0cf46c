"""lxml: parsers, XPath and XSLT that call Python back."""
import lxml.etree as et
from everywhere import forever

TEXT = b"<all>" + b"".join(b"<item key='%d'><name>n%d</name></item>" % (i, i)
                           for i in range(200)) + b"</all>"
TREE = et.fromstring(TEXT)
SHEET = et.XSLT(et.fromstring("""<x:stylesheet version="1.0"
 xmlns:x="http://www.w3.org/1999/XSL/Transform"
 xmlns:p="urn:python"><x:template match="/"><out><x:for-each select="//item">
 <x:value-of select="p:shout(name)"/>
 </x:for-each></out></x:template></x:stylesheet>"""),
                extensions={("urn:python", "shout"): lambda c, n: shout(c, n)})


def shout(_, nodes):
    return "".join(node.text.upper() for node in nodes)


class Counting:
    def __init__(self):
        self.depth = self.seen = 0

    def start(self, _tag, _attributes):
        self.depth += 1

    def end(self, _tag):
        self.depth -= 1

    def data(self, data):
        self.seen += len(data)

    def close(self):
        return self.seen


def parses():
    return et.fromstring(TEXT, et.XMLParser(target=Counting()))


def transforms():
    return str(SHEET(TREE))


def searches():
    functions = et.FunctionNamespace("urn:search")
    functions["odd"] = lambda _, keys: int(keys[0]) % 2 == 1
    return TREE.xpath("//item[s:odd(@key)]",
                      namespaces={"s": "urn:search"}), et.tostring(TREE, pretty_print=True)


forever(parses, transforms, searches)
