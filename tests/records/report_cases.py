"""report.py makes one complete, self-contained page of the fixture's records; Chromium, if available, renders it in light
and dark."""
import html.parser
import re
import shutil
import subprocess
import sys

from running import ROOT, run_checks

sys.path.insert(0, str(ROOT / "scripts" / "report"))
import report_charts as charts  # pylint: disable=wrong-import-position

FIXTURE = ROOT / "tests" / "records" / "report"
SCRIPT = ROOT / "scripts" / "report" / "report.py"
SECTIONS = ["Speed over ranks", "Scaling in one job", "Roofline", "Phases", "When each rank did what: trace.json", "Links", "Forecasts",
            "Runs", "Machines"]


class Page(html.parser.HTMLParser):
    """Checks that elements are closed properly; counts the titles and numbers of shapes."""

    def __init__(self, text):
        super().__init__()
        self.open, self.titles, self.count, self.in_title = [], [], {}, False
        self.feed(text)
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        for name, value in attrs:
            assert name not in ("src", "href"), f"{tag} {name}={value}: the page stands alone"
            if name in ("x", "y", "width", "height", "cx", "cy", "points"):
                assert not re.search("nan|inf", value or ""), f"{tag} {name}={value}"
        if tag != "meta":
            self.open.append(tag)
        self.in_title = tag == "h2"

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> in {self.open}"
        self.open.pop()
        self.in_title = False

    def handle_data(self, data):
        if self.in_title:
            self.titles.append(data)


def make(folder, *words):
    return subprocess.run([sys.executable, SCRIPT, *words, "-o", folder / "report.html"],
                          capture_output=True, text=True, check=False)


def check_page(_, folder):
    done = make(folder, FIXTURE / "runs.jsonl", "--trace", FIXTURE / "trace.json")
    assert done.returncode == 0, done.stderr
    text = (folder / "report.html").read_text()
    page = Page(text)
    assert page.titles == SECTIONS, page.titles
    assert page.count["svg"] == 7 and page.count["table"] == 5 and page.count["rect"] > 100
    assert not re.search(r"https?://|@import|url\((?!#)", text), "nothing comes from a network"
    assert "prefers-color-scheme: dark" in text and "@media print" in text


def check_paper(*_):
    """Rules for printing come last, and no picture is taller than a page."""
    style = (SCRIPT.parent / "report.css").read_text()
    assert style.index("@media print") > style.index("overflow-x: auto"), "tables are cut on paper"
    spans = [{"ph": "X", "pid": pid, "tid": 10 * cat + row, "cat": charts.ROWS[cat], "ts": row, "dur": 5,
              "name": "step"} for pid in range(16) for cat in range(6) for row in range(9)]
    text = charts.timeline({"traceEvents": spans})
    heights = [float(h) for h in re.findall(r'viewBox="0 0 900 (\d+)"', text)]
    assert len(heights) > 1 and max(heights) < 900, heights
    assert text.count("<rect") == len(spans), "no span is lost"


def check_refusals(_, folder):
    (folder / "bad.jsonl").write_text("{\n")
    done = make(folder, folder / "bad.jsonl")
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    (folder / "empty.jsonl").write_text("")
    done = make(folder, folder / "empty.jsonl")
    assert done.returncode == 0, done.stderr
    assert not Page((folder / "report.html").read_text()).titles


def check_drawing(_, folder):
    """The two pictures are not blank and differ."""
    chromium = shutil.which("chromium")
    if not chromium:
        print("not drawn: there is no chromium")
        return
    make(folder, FIXTURE / "runs.jsonl", "--trace", FIXTURE / "trace.json")
    pictures = []
    for scheme in (1, 0):  # light, dark
        picture = folder / f"{scheme}.png"
        subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu",
                        f"--user-data-dir={folder}/chromium",
                        f"--blink-settings=preferredColorScheme={scheme}", "--window-size=1000,2300",
                        f"--screenshot={picture}", (folder / "report.html").as_uri()],
                       capture_output=True, timeout=600, check=True)
        pictures.append(picture.read_bytes())
    assert min(map(len, pictures)) > 50000 and pictures[0] != pictures[1]


run_checks(check_page, check_paper, check_refusals, check_drawing)
