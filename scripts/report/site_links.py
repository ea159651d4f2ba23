#!/usr/bin/env python3
"""Checks a built site: every link and image leads to a file, every anchor to an element, images have alt texts, and no
list or table of the Markdown became part of a paragraph.

    scripts/report/site_links.py FOLDER     exit 1 if something is wrong
"""
import html.parser
import pathlib
import re
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.names, self.wrong = [], set(), []
        self.depth = 0  # of paragraphs
        self.feed(path.read_text(encoding="utf-8"))

    def handle_endtag(self, tag):
        self.depth -= tag == "p"

    def handle_data(self, data):
        found = re.search(r"\n *(- .*|\d+\. .*|\|.*\| *$)", data, re.M) if self.depth else None
        if found:
            self.wrong.append(f"in a paragraph: {found[0].strip()}")

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.depth += tag == "p"
        if tag == "img" and not found.get("alt"):
            self.wrong.append(f"{found.get('src')} has no text")
        self.names |= {found[name] for name in ("id", "name") if found.get(name)}
        self.links += [found[name] for name in ("href", "src") if found.get(name)]


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in root.rglob("*.html") if path.name != "404.html"}
    bad = checked = 0
    for path, page in pages.items():
        bad += len(page.wrong)
        for what in page.wrong:
            print(f"{path.relative_to(root)}: {what}")
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            checked += 1
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            names = pages[target].names if target in pages else None
            anchor = urllib.parse.unquote(parts.fragment)
            outside = root not in target.parents
            if outside or not target.exists() or (anchor and names is not None and anchor not in names):
                bad += 1
                print(f"{path.relative_to(root)}: {link} leads nowhere")
    print(f"{len(pages)} pages, {checked} links, {bad} bad")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
