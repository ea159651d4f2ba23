#!/usr/bin/env python3
"""Checks that links in the Markdown files of the repository lead to files and headings: links.py ROOT, or --self to check the checker."""
import functools
import pathlib
import re
import sys
import tempfile

LINK = re.compile(r'\]\(\s*<?([^)\s>]*)>?(?:\s+"[^"]*")?\s*\)|^\[[^\]]+\]:\s*(\S+)|\b(?:src|href)="([^"]+)"', re.M)
SKIPPED = {"build", "site-packages"}


def prose(path):
    """The text without code."""
    text = re.sub(r"^ *(```|~~~).*?^ *\1[^\n]*$", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
    return re.sub(r"^(?: {4}|\t).*$", "", text, flags=re.M)


@functools.cache
def anchors(path):
    """Of the headings, as in a repository on the web, and those set by hand."""
    found, counts = set(), {}
    for title in re.findall(r"^#{1,6} +(.*?)\s*#*$", prose(path), re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "").strip().lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number = counts.get(name, 0)
        counts[name] = number + 1
        found.add(f"{name}-{number}" if number else name)
    return found | set(re.findall(r'\b(?:id|name)="([^"]+)"', prose(path)))


def problem(root, path, link):
    """What is wrong with LINK; None: nothing."""
    target, _, anchor = link.partition("#")
    there = (path.parent / target).resolve() if target else path
    if root != there and root not in there.parents:
        return "leads out of the repository"
    if not there.exists():
        return "leads nowhere"
    if anchor and there.suffix == ".md" and anchor not in anchors(there):
        return "names no heading of that page"
    return None


def problems(root):
    for path in sorted(root.rglob("*.md")):
        inside = path.relative_to(root).parts
        if any(part in SKIPPED or part.startswith(".") for part in inside[:-1]):
            continue
        for found in LINK.finditer(re.sub(r"`[^`\n]*`", "", prose(path))):
            link = next(text for text in found.groups() if text is not None)
            said = None if re.match(r"[a-z]+:", link) else problem(root, path, link)
            if said:
                yield f"{'/'.join(inside)}: {link} {said}"


def check_itself():
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name).resolve()
        (root / "docs").mkdir()
        (root / "docs/b.md").write_text("# C = `A` B\n## Once\n## Once\n```\n# no heading\n```\n")
        (root / "a.md").write_text("[1](docs/b.md) [2](docs/b.md#c--a-b) [3](docs/b.md#once-1) `[4](no.md)` <img src=\"no.svg\">\n"
                                   "[5](no.md) [6](docs/b.md#no-heading) [7](../x.md) [8](https://x.org/no) [9](#none)\n\n    [10](no.md)\n")
        found = [line.split()[1] for line in problems(root)]
        return found == ["no.svg", "no.md", "docs/b.md#no-heading", "../x.md", "#none"]


def main():
    if sys.argv[1] == "--self":
        return 0 if check_itself() else "the checker of links does not find what it should"
    found = list(problems(pathlib.Path(sys.argv[1]).resolve()))
    return "\n".join(found) if found else 0


sys.exit(main())
