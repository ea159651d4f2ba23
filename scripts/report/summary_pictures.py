"""Bars and lines as SVG on a light card, legible on pages of any colour.  Standard library only."""
import html
import math

WIDTH, NAMES, RIGHT = 860, 300, 210
BAR, GAP, TITLE = 15, 10, 36
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
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
            f'aria-label="{html.escape(label)}"><style>{STYLE}</style>\n'
            f'<rect width="{WIDTH}" height="{height:.0f}" rx="8" fill="#fbfbfb" stroke="#d8d8d8"/>\n'
            + "".join(part + "\n" for part in body) + "</svg>\n")


def legend(names, y):
    out, x = [], NAMES
    for name, colour in zip(names, COLOURS):
        out += [f'<rect x="{x}" y="{y - 10}" width="11" height="11" fill="{colour}"/>', text(x + 16, y, name)]
        x += 30 + 8 * len(name)
    return out


def bars(title, groups, names, log=False, mark=None):
    """GROUPS of (label, bars), each bar (name, value, words); MARK draws a line at a value."""
    values = [value for _, mine in groups for _, value, _ in mine]
    least = 10 ** math.floor(math.log10(min(values))) if log else 0.0
    span = math.log10(max(values) / least) if log else max(values)

    def length(value):
        return (math.log10(value / least) if log else value) / span * (WIDTH - NAMES - RIGHT)

    out, y = [text(14, 24, title, kind="title")], TITLE
    if len(names) > 1:
        out, y = out + legend(names, y + 14), y + 26
    for label, mine in groups:
        out.append(text(NAMES - 8, y + BAR * len(mine) / 2 + 5, label, "end"))
        for name, value, words in mine:
            out.append(f'<rect x="{NAMES}" y="{y}" width="{max(length(value), 1):.1f}" height="{BAR - 2}" '
                       f'fill="{COLOURS[names.index(name) if name in names else 1]}"/>')
            out.append(text(NAMES + length(value) + 6, y + BAR - 4, words, kind="faint"))
            y += BAR
        y += GAP
    if mark is not None:
        x = NAMES + length(mark)
        out.append(line(x, TITLE, x, y - GAP + 3, "mark"))
    return card(y + 4, title, out)


def lines(title, data, height=380):
    """DATA by name: points (count, fraction), with counts on a logarithmic axis."""
    left, bottom, top, right = 56, 46, 70, 24
    xs = sorted({x for points in data.values() for x, _ in points})
    low, high = math.log2(xs[0]), math.log2(xs[-1])

    def at(x, y):
        return (left + (math.log2(x) - low) / (high - low) * (WIDTH - left - right),
                height - bottom - y * (height - bottom - top))

    out = [text(14, 24, title, kind="title")]
    for part in (0, 0.25, 0.5, 0.75, 1):
        (x0, y), (x1, _) = at(xs[0], part), at(xs[-1], part)
        out += [line(x0, y, x1, y), text(x0 - 8, y + 4, f"{100 * part:.0f} %", "end", "faint")]
    out += [text(at(x, 0)[0], height - bottom + 18, str(x), "middle", "faint") for x in xs]
    out.append(text((left + WIDTH - right) / 2, height - 10, "GPUs", "middle", "faint"))
    at_name = left
    for colour, (name, points) in zip(COLOURS, data.items()):
        places = [at(*p) for p in points]
        out.append(polyline(places, colour))
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        out += [f'<rect x="{at_name}" y="42" width="11" height="11" fill="{colour}"/>', text(at_name + 16, 52, name)]
        at_name += 46 + 8 * len(name)
    return card(height, title, out)
