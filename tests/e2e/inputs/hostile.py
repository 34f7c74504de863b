"""hostile.py: texts that a shell, gnuplot, SVG, HTML, Markdown or a terminal would take for something else.
  hostile.py write MARK   an experiment with such texts in every place that takes one, on standard output
  hostile.py svg FILE     the drawing is well-formed and holds the texts that begin with "chart:"
  hostile.py html FILE    the page has its three scripts and no other element of ours, and its data hold every text"""
import html.parser
import json
import sys
import xml.etree.ElementTree

MARK = sys.argv[2] if sys.argv[1] == "write" else "MARK"
TEXTS = ["`{0}`", "$({0})", "\" . system('{0}') . \"", "' . system(\"{0}\") . '", "|{0}", "< {0}", "@ARG1 @x %s %n 50%",
         "\\n \\042 \\", "]]></script><script>alert(1)</script>", "<!-- <b>& -->", "# a, b; {{/:Bold c}}^{{d}}_e", "é ☃",
         "x\nsystem('{0}')\n!{0}\nEOD\n", "long " * 2000]
texts = [t.format(MARK) for t in TEXTS]


def write():
    one = " ".join(texts[:-1]).replace("\n", " ")
    e = {"title": "title " + one, "source": "source " + one, "note": "note " + one,
         "workloads": [{"name": "vecadd", "label": "row " + t} for t in texts],
         "variants": [{"name": "base"}] + [{"name": "series " + t} for t in texts], "baseline": "base",
         "metrics": [{"name": "metric " + t, "stat": "cycles", "label": "label " + t, "unit": "unit " + t}
                     for t in texts[:2] + texts[8:9]],
         "checks": [{"says": "says " + t, "that": "1 < 2"} for t in texts]}
    json.dump(e, sys.stdout)  # JSON is YAML


def visible(t):
    t = " ".join(t.split("\n"))
    return t if len(t) <= 120 else t[:120] + "…"


def check_svg(path):
    root = xml.etree.ElementTree.parse(path).getroot()
    found = [e.text or "" for e in root.iter() if e.tag.endswith("}text") or e.tag.endswith("}title")]
    found += ["".join(e.itertext()) for e in root.iter() if e.tag.endswith("}text")]
    if any(e.tag.endswith("}script") for e in root.iter()):
        sys.exit("a script in the drawing")
    for t in texts[:-1]:
        for kind in ("row ", "series "):
            want = visible(kind + t).replace("MARK", sys.argv[3])
            if want not in found:
                sys.exit(f"not in the drawing: {want!r}")


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.inside, self.data = {}, None, ""

    def handle_starttag(self, tag, attrs):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.inside = dict(attrs).get("id") if tag == "script" else None

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "data":
            self.data += data


def check_html(path):
    page = Page()
    page.feed(open(path, encoding="utf-8").read())
    page.close()
    if page.tags.get("script") != 3 or page.tags.get("b"):
        sys.exit(f"elements of the page: {page.tags}")
    figure = json.loads(page.data)["figures"][0]
    found = figure["rows"] + [s["label"] for s in figure["series"]] + [c["says"] for c in figure["checks"]]
    for t in texts:
        for kind in ("row ", "series ", "says "):
            if kind + t.replace("MARK", sys.argv[3]) not in found:
                sys.exit(f"not in the page: {kind + t!r}")


if sys.argv[1] == "write":
    write()
elif sys.argv[1] == "svg":
    check_svg(sys.argv[2])
else:
    check_html(sys.argv[2])
