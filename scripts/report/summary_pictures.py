"""Bars and lines as SVG on a light card, legible on pages of any colour.  Standard library only."""
import html
import math

WIDTH, MARGIN, LETTER = 480, 14, 7.5  # narrow, so that letters are legible on a phone
BAR, GAP, TITLE = 16, 10, 36
COLOURS = ("#1f5fa8", "#c2571a", "#2d7d46", "#8a3b8f")
STYLE = ("text{font:13px system-ui,sans-serif;fill:#1a1a1a}.title{font-weight:600}.faint{fill:#5b6470}"
         ".grid{stroke:#d8d8d8}.mark{stroke:#1a1a1a;stroke-dasharray:4 3}")


def text(x, y, words, anchor="start", kind=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">'
            f"{html.escape(str(words))}</text>")


def line(x1, y1, x2, y2, kind="grid", more=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}" {more}/>'


def polyline(points, colour, more=""):
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" {more}/>'


def card(height, label, body):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
            f'aria-label="{html.escape(label)}"><style>{STYLE}</style>\n'
            f'<rect width="{WIDTH}" height="{height:.0f}" rx="8" fill="#fbfbfb" stroke="#d8d8d8"/>\n'
            + "".join(part + "\n" for part in body) + "</svg>\n")


def legend(names, x, y):
    """Coloured names in rows from (X, Y), and the y below them."""
    out, at = [], x
    for name, colour in zip(names, COLOURS):
        needed = 26 + LETTER * len(name)
        if at > x and at + needed > WIDTH:
            at, y = x, y + 18
        out += [f'<rect x="{at:.0f}" y="{y - 10}" width="11" height="11" fill="{colour}"/>', text(at + 16, y, name)]
        at += needed
    return out, y + 12


def bars(title, groups, names, mark=None, alike=True):
    """GROUPS of (label, bars), each bar (name, value, words), from one scale or (not ALIKE) each from its own; long labels
    stand above their bars. MARK draws a line at a value."""
    label_width = LETTER * max(len(label) for label, _ in groups)
    beside = label_width < WIDTH / 3
    left = MARGIN + label_width + 8 if beside else MARGIN
    room = WIDTH - left - MARGIN - 6 - LETTER * max(len(words) for _, mine in groups for *_, words in mine)
    longest = max(value for _, mine in groups for _, value, _ in mine)
    at_mark = mark / longest * room if mark is not None else 0
    out, y = [text(MARGIN, 24, title, kind="title")], TITLE
    if len(names) > 1:
        rows, y = legend(names, left, y + 14)
        out += rows
    for label, mine in groups:
        if beside:
            out.append(text(left - 8, y + BAR * len(mine) / 2 + 5, label, "end"))
        else:
            out.append(text(left, y + BAR - 2, label))
            y += BAR + 3
        most = longest if alike else max(value for _, value, _ in mine)
        for name, value, words in mine:
            length = max(value / most * room, 1)
            out.append(f'<rect x="{left:.1f}" y="{y}" width="{length:.1f}" height="{BAR - 2}" '
                       f'fill="{COLOURS[names.index(name) if name in names else 1]}"/>')
            out.append(text(left + max(length, at_mark) + 6, y + BAR - 4, words, kind="faint"))
            y += BAR
        if mark is not None:
            out.append(line(left + at_mark, y - BAR * len(mine) - 2, left + at_mark, y, "mark"))
        y += GAP
    return card(y + 4, title, out)


def lines(title, data, height=340):
    """DATA by name: points (count, fraction), with counts on a logarithmic axis."""
    left, bottom, right = 52, 46, 24
    xs = sorted({x for points in data.values() for x, _ in points})
    low, high = math.log2(xs[0]), math.log2(xs[-1])
    out, top = legend(data, MARGIN, TITLE + 14)
    out.append(text(MARGIN, 24, title, kind="title"))

    def at(x, y):
        return (left + (math.log2(x) - low) / (high - low) * (WIDTH - left - right),
                height - bottom - y * (height - bottom - top))

    for part in (0, 0.25, 0.5, 0.75, 1):
        (x0, y), (x1, _) = at(xs[0], part), at(xs[-1], part)
        out += [line(x0, y, x1, y), text(x0 - 8, y + 4, f"{100 * part:.0f} %", "end", "faint")]
    out += [text(at(x, 0)[0], height - bottom + 18, str(x), "middle", "faint") for x in xs]
    out.append(text((left + WIDTH - right) / 2, height - 10, "GPUs", "middle", "faint"))
    for colour, points in zip(COLOURS, data.values()):
        places = [at(*p) for p in points]
        out.append(polyline(places, colour))
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
    return card(height, title, out)
