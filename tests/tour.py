#!/usr/bin/env python3
"""Checks docs/tour.md and the examples of CONTRIBUTING.md against the sources: tour.py ROOT, or --self to check the checker.

A link [`name`](file) says that FILE defines NAME. There are at most 15 stations, each with a link into the sources, in at most 130 words.
Each folder of tests that CONTRIBUTING.md lists has a first example of at most 40 lines, but for tests/lib; so has each folder of src: a
test_first_FOLDER.c, or what CONTRIBUTING.md says, "of FOLDER [`file`](file)".
"""
import pathlib
import re
import sys
import tempfile

MOST_STATIONS, MOST_WORDS, MOST_LINES = 15, 130, 40
LINK = re.compile(r"\[`([^`]+)`\]\(([^)#]+)\)")


def defines(text, name):
    """Whether TEXT, in C, has a function or a constant NAME that is not only declared."""
    word = re.escape(name)
    return re.search(rf"^[a-z][^;={{}}]*\b{word}(?:\([^;{{]*\)\s*\{{|\s*=)", text, re.M) is not None


def problems(root):
    page = root / "docs/tour.md"
    stations = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.M)[1:]
    if not 0 < len(stations) <= MOST_STATIONS:
        yield f"{len(stations)} stations, not at most {MOST_STATIONS}"
    for station in stations:
        title = station.splitlines()[0]
        links = LINK.findall(station)
        if not links:
            yield f"{title}: no link into the sources"
        if len(station.split()) > MOST_WORDS:
            yield f"{title}: {len(station.split())} words, not at most {MOST_WORDS}"
        for name, link in links:
            file = (page.parent / link).resolve()
            if not file.is_file():
                yield f"{title}: there is no file {link}"
            elif "/" not in name and not defines(file.read_text(encoding="utf-8"), name):
                yield f"{title}: {link} does not define {name}"


def lines_of(file):
    return len(file.read_text(encoding="utf-8").splitlines())


def unlike_examples(root):
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `tests/(\w+)` \|.*?\|([^|\n]*)\|$", text, re.M)
    if not rows:
        yield "CONTRIBUTING.md lists no folders of tests"
    for folder, cell in rows:
        found = LINK.search(cell)
        file = root / found[2] if found else None
        if folder != "lib" and not (file and file.is_file()):
            yield f"tests/{folder} has no first example"
        elif file and lines_of(file) > MOST_LINES:
            yield f"{found[2]} has more than {MOST_LINES} lines"
    for folder in sorted(path.name for path in (root / "src").iterdir() if path.is_dir()):
        told = re.search(rf"\bof {folder}\s+\[`[^`]+`\]\(([^)]+)\)", text)
        file = root / (told[1] if told else f"tests/unit/test_first_{folder}.c")
        if not file.is_file():
            yield f"src/{folder} has no first example"
        elif lines_of(file) > MOST_LINES:
            yield f"{file.relative_to(root)} has more than {MOST_LINES} lines"


def check_itself():
    source = "int declared(void);\nstatic int made(int x,\n                int y) {\n  return called(x);\n}\nconst ops table = {\n};\n"
    right = "## A\nSee [`made`](../src/a.c), [`table`](../src/a.c), [`src/a.c`](../src/a.c).\n"
    cases = {right: 0, "": 1, "## A\nnothing\n": 1, right * 16: 1, "## A\n[`declared`](../src/a.c)": 1, "## A\n[`called`](../src/a.c)": 1,
             "## A\n[`made`](../src/b.c)": 1, right + "word " * 200: 1}
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        (root / "docs").mkdir()
        (root / "src").mkdir()
        (root / "src/a.c").write_text(source)
        for text, wanted in cases.items():
            (root / "docs/tour.md").write_text(text)
            found = list(problems(root))
            if len(found) != wanted:
                yield f"the checker finds {found} in {text!r}"
        (root / "long.c").write_text("line\n" * 41)
        for cell, wanted in (("[`a.c`](src/a.c)", 0), ("", 1), ("[`b.c`](src/b.c)", 1), ("[`long.c`](long.c)", 1)):
            (root / "CONTRIBUTING.md").write_text(f"| `tests/unit` | what | runs | {cell} |\n")
            found = list(unlike_examples(root))
            if len(found) != wanted:
                yield f"the checker finds {found} of {cell!r}"
        (root / "src/part").mkdir()
        for told, wanted in (("", 1), ("of part [`long.c`](long.c)", 1), ("of part\n[`a.c`](src/a.c)", 0)):
            (root / "CONTRIBUTING.md").write_text(f"| `tests/unit` | what | runs | [`a.c`](src/a.c) |\n\n{told}\n")
            found = list(unlike_examples(root))
            if len(found) != wanted:
                yield f"the checker finds {found} of the part {told!r}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    found = list(check_itself()) if sys.argv[1:] == ["--self"] else [*problems(root), *unlike_examples(root)]
    print("\n".join(found) or "in order")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
