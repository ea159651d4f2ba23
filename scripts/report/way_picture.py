#!/usr/bin/env python3
"""Draws docs/pictures/way.svg: the way of the data from files to a file.

    scripts/report/way_picture.py > docs/pictures/way.svg
"""
import html
import sys

BOX = 150, 58
TOP, GAP = 64, 52
ABOVE = (("A.h5, B.h5", "files"), ("share", "each element on one rank"), ("panel in a slot", "a slice of k"),
         ("panel on the GPU", "if there is one"), ("block of C", "partial sums"))
BELOW = (("C.h5", "verified, renamed"), ("C.h5.part", "strips, rounded"), ("sum over layers", "if pk > 1"),
         ("finish", "α, β, rounding"))
ARROWS = ("read", "transport", "copy", "product")


def text(x, y, words, kind=""):
    return f'<text x="{x}" y="{y}" text-anchor="middle" class="{kind}">{html.escape(words)}</text>'


def box(x, y, title, below):
    middle = x + BOX[0] / 2
    return (f'<rect x="{x}" y="{y}" width="{BOX[0]}" height="{BOX[1]}" rx="6" class="box"/>'
            + text(middle, y + 25, title, "title") + text(middle, y + 44, below, "faint"))


def arrow(x1, y1, x2, y2):
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" class="arrow" marker-end="url(#head)"/>'


def main():
    step = BOX[0] + GAP
    width, low = 28 + len(ABOVE) * step - GAP + 12, TOP + BOX[1] + 72
    out = [text(width / 2, 28, "All stages work at the same time, on different panels", "title")]
    for i, (title, below) in enumerate(ABOVE):
        x = 20 + i * step
        out.append(box(x, TOP, title, below))
        if i:
            out += [arrow(x - GAP + 3, TOP + BOX[1] / 2, x - 4, TOP + BOX[1] / 2),
                    text(x - GAP / 2, TOP - 8, ARROWS[i - 1], "faint")]
    last = 20 + (len(ABOVE) - 1) * step + BOX[0] / 2
    for i, (title, below) in enumerate(BELOW):
        x = 20 + i * step
        out.append(box(x, low, title, below))
        if i:
            out.append(arrow(x - 4, low + BOX[1] / 2, x - GAP + 3, low + BOX[1] / 2))
    end = 20 + (len(BELOW) - 1) * step + BOX[0]
    out.append(f'<polyline points="{last},{TOP + BOX[1] + 3} {last},{low + BOX[1] / 2} {end + 5},{low + BOX[1] / 2}" '
               'class="arrow" marker-end="url(#head)"/>')
    height = low + BOX[1] + 20
    style = ("text{font:13px system-ui,sans-serif;fill:#1a1a1a}.title{font-weight:600}.faint{fill:#5b6470;font-size:11px}"
             ".box{fill:#e8eef6;stroke:#1f5fa8}.arrow{stroke:#1f5fa8;stroke-width:1.6;fill:none}")
    sys.stdout.write(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="the way of the data">'
        f'<style>{style}</style>\n<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#1f5fa8"/></marker></defs>\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="#fbfbfb" stroke="#d8d8d8"/>\n' + "\n".join(out) + "\n</svg>\n")


if __name__ == "__main__":
    main()
