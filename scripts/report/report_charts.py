"""The pictures of report.py: SVG with colours from the page's style."""
import html
import math

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 900, 380, 70, 40, 15, 15
COLOURS = [f"var(--c{i})" for i in range(8)]
ROWS = ("phase", "compute", "copy", "transport", "read", "write")


def svg(height, body, label):
    return (f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{html.escape(label)}">'
            + "".join(body) + "</svg>")


def text(x, y, words, anchor="start", kind=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">'
            f"{html.escape(str(words))}</text>")


def line(x1, y1, x2, y2, kind="grid", more=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}" {more}/>'


def rect(x, y, width, height, fill, title="", more=""):
    words = f"<title>{html.escape(title)}</title>" if title else ""
    return (f'<rect x="{x:.2f}" y="{y:.2f}" width="{max(width, 0.3):.2f}" height="{height:.2f}" '
            f'fill="{fill}" {more}>{words}</rect>')


def table(head, rows):
    if not rows:
        return ""
    cells = "".join(f"<th>{html.escape(c)}</th>" for c in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(c))}</td>" for c in row) + "</tr>"
                   for row in rows)
    return f'<div class="wide"><table><tr>{cells}</tr>{body}</table></div>'


class LogPlane:
    """Both axes logarithmic, limits at powers of BASE."""

    def __init__(self, xs, ys, base_x=10.0):
        self.base_x = base_x
        self.x = self.borders(xs, base_x)
        self.y = self.borders(ys, 10.0)

    @staticmethod
    def borders(values, base):
        low = math.floor(math.log(min(values), base) + 1e-9)
        high = math.ceil(math.log(max(values), base) - 1e-9)
        return low, max(high, low + 1)

    def at(self, x, y):
        (x0, x1), (y0, y1) = self.x, self.y
        right = (math.log(x, self.base_x) - x0) / (x1 - x0)
        up = (math.log10(y) - y0) / (y1 - y0)
        return (LEFT + right * (WIDTH - LEFT - RIGHT),
                HEIGHT - BOTTOM - up * (HEIGHT - BOTTOM - TOP))

    def axes(self, x_words, y_words):
        out = []
        for e in range(self.x[0], self.x[1] + 1):
            x, y = self.at(self.base_x ** e, 10.0 ** self.y[0])
            out += [line(x, TOP, x, y), text(x, y + 15, f"{self.base_x ** e:g}",
                                              "end" if e == self.x[1] and e > 3 else "middle", "faint")]
        for e in range(self.y[0], self.y[1] + 1):
            x, y = self.at(self.base_x ** self.x[0], 10.0 ** e)
            out += [line(x, y, WIDTH - RIGHT, y), text(x - 6, y + 4, f"{10.0 ** e:g}", "end", "faint")]
        out += [text((WIDTH + LEFT) / 2, HEIGHT - 6, x_words, "middle"),
                f'<text transform="translate(13,{HEIGHT / 2}) rotate(-90)" text-anchor="middle">'
                f"{html.escape(y_words)}</text>"]
        return out


def legend(names, y, left=LEFT):
    """The legend of NAMES, keyed by colour number."""
    out, x = [], left
    for i, name in names.items():
        if x + 7 * len(name) + 20 > WIDTH and x > left:
            x, y = left, y + 16
        out += [rect(x, y - 9, 12, 10, COLOURS[i % 8]), text(x + 16, y, name)]
        if is_hatched(name):
            out.append(rect(x, y - 9, 12, 10, "url(#hatch)"))
        x += 7 * len(name) + 34
    return out, y + 12


def is_hatched(phase):
    return "not hidden" in phase or phase == "waiting"


def polyline(points, colour, more=""):
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" {more}/>'


def scaling(curves, title=""):
    """CURVES: (name, [(ranks, median, low, high)]) in GFLOP/s; curves with the same start share an ideal line."""
    if not curves:
        return ""
    seen = set()
    xs = [p[0] for _, points in curves for p in points]
    ys = [v for _, points in curves for p in points for v in p[1:]]
    ys += [points[0][1] * points[-1][0] / points[0][0] for _, points in curves]
    plane = LogPlane(xs, ys, 2.0)
    out = plane.axes("ranks", "GFLOP/s")
    for i, (name, points) in enumerate(curves):
        colour = COLOURS[i % 8]
        first, last = points[0], points[-1]
        ideal = [plane.at(first[0], first[1]), plane.at(last[0], first[1] * last[0] / first[0])]
        band = [plane.at(r, low) for r, _, low, _ in points]
        band += [plane.at(r, high) for r, _, _, high in reversed(points)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in band)
        if tuple(ideal) not in seen:
            out.append(polyline(ideal, colour, 'stroke-dasharray="5 5" opacity="0.6"'))
        seen.add(tuple(ideal))
        out += [f'<polygon points="{path}" fill="{colour}" opacity="0.2"/>',
                polyline([plane.at(r, m) for r, m, *_ in points], colour)]
        for ranks, median, *_ in points:
            x, y = plane.at(ranks, median)
            out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}">'
                       f"<title>{html.escape(name)}: {ranks} ranks, {median:.4g} GFLOP/s</title></circle>")
    more, bottom = legend(dict(enumerate(name for name, _ in curves)), HEIGHT + 14)
    if title:
        out.append(text(LEFT + 8, TOP + 14, title))
    return svg(bottom, out + more, title or "speed over ranks")


def roofline(points, lines):
    """POINTS: (name, operations per byte, operations per second, kind); LINES: compute in operations per second,
    memory, network and files in bytes per second."""
    if not points or "compute" not in lines:
        return ""
    top = lines["compute"]
    slopes = [(k, lines[k]) for k in ("memory", "network", "files") if lines.get(k)]
    xs = [p[1] for p in points] + [top / s for _, s in slopes]
    ys = [p[2] for p in points] + [top]
    plane = LogPlane([min(xs) / 3, max(xs) * 3], [min(ys) / 3, max(ys) * 1.5])
    out = plane.axes("operations for each byte", "operations per second")
    right, left = 10.0 ** plane.x[1], 10.0 ** plane.x[0]
    names = ["compute"] + [k for k, _ in slopes]
    out.append(polyline([plane.at(left, top), plane.at(right, top)], COLOURS[0]))
    for i, (_, slope) in enumerate(slopes, 1):
        start = max(left, 10.0 ** plane.y[0] / slope)
        if start < top / slope:
            out.append(polyline([plane.at(start, start * slope), plane.at(top / slope, top)], COLOURS[i]))
    for name, x, y, kind in points:
        px, py = plane.at(x, y)
        fill = "var(--ink)" if kind == "memory" else "var(--paper)"
        out.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="4" fill="{fill}" stroke="var(--ink)">'
                   f"<title>{html.escape(name)}: {y:.3g} operations per second, {x:.3g} for each byte of "
                   f"{kind}</title></circle>")
    more, bottom = legend(dict(enumerate(f"{n} ceiling" for n in names)), HEIGHT + 14)
    return svg(bottom, out + more, "roofline")


def stacked(rows):
    """ROWS: (name, [(phase, seconds)]), every row with the same phases."""
    if not rows:
        return ""
    left, bar, names = 300, 20, [name for name, _ in rows[0][1]]
    longest = max(sum(s for _, s in parts) for _, parts in rows) or 1.0
    out = ['<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
           'patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="6" '
           'stroke="var(--paper)" stroke-width="2.5"/></pattern></defs>']
    for i, (name, parts) in enumerate(rows):
        x, y = float(left), 8 + i * (bar + 7)
        out.append(text(left - 8, y + 14, name, "end"))
        for j, (phase, seconds) in enumerate(parts):
            width = seconds / longest * (WIDTH - left - 70)
            if seconds <= 0:
                continue
            words = f"{name}: {phase} {seconds:.4g} s"
            out.append(rect(x, y, width, bar, COLOURS[j % 8], words))
            if is_hatched(phase):
                out.append(rect(x, y, width, bar, "url(#hatch)", words))
            x += width
        out.append(text(x + 5, y + 14, f"{sum(s for _, s in parts):.3g} s", "start", "faint"))
    more, bottom = legend({j: name for j, name in enumerate(names) if any(parts[j][1] > 0 for _, parts in rows)},
                          8 + len(rows) * (bar + 7) + 14, 10.0)
    return svg(bottom - 2, out + more, "phases")


MOST_STRIPS = 60  # per picture: no higher than a page


def strips_of(spans):
    """A strip for each rank and row; rows of a kind with many per rank share one."""
    rows = sorted({(e["pid"], ROWS.index(e["cat"]), e["tid"]) for e in spans})
    count = {}
    for pid, cat, _ in rows:
        count[pid, cat] = count.get((pid, cat), 0) + 1
    strips, place = [], {}
    for pid, cat, tid in rows:
        if count[pid, cat] <= 4 or (pid, cat) not in [s[:2] for s in strips]:
            strips.append((pid, cat))
        place[pid, tid] = len(strips) - 1
    return strips, place


def timeline(trace, most_ranks=16):
    """The spans of a trace, in pictures of a few ranks each, on the same time axis."""
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["pid"] < most_ranks]
    if not spans:
        return ""
    begin = min(e["ts"] for e in spans)
    end = max(e["ts"] + e["dur"] for e in spans)
    groups, used = [[]], 0
    for pid in sorted({e["pid"] for e in spans}):
        mine = [e for e in spans if e["pid"] == pid]
        height = len(strips_of(mine)[0])
        if groups[-1] and used + height > MOST_STRIPS:
            groups.append([])
            used = 0
        groups[-1] += mine
        used += height
    return "".join(timeline_of(group, begin, end) for group in groups)


def timeline_of(spans, begin, end):
    scale = (WIDTH - 130) / max(end - begin, 1e-9)
    strips, place = strips_of(spans)
    out = []
    for i, (pid, cat) in enumerate(strips):
        y = 6 + i * 14
        if i == 0 or strips[i - 1][0] != pid:
            out += [line(0, y - 2, WIDTH, y - 2), text(4, y + 10, f"rank {pid}")]
        out.append(text(118, y + 10, ROWS[cat], "end", "faint"))
    for e in spans:
        words = f"rank {e['pid']}: {e['name']}" + (
            f", panel {e['args']['panel']}" if "args" in e else "") + f", {e['dur'] / 1e3:.3f} ms"
        out.append(rect(124 + (e["ts"] - begin) * scale, 6 + place[e["pid"], e["tid"]] * 14,
                        e["dur"] * scale, 12, COLOURS[ROWS.index(e["cat"]) % 8], words,
                        'fill-opacity="0.85"'))
    bottom = 6 + len(strips) * 14
    for i in range(6):
        x = 124 + i * (WIDTH - 130) / 5
        out += [line(x, 4, x, bottom, "grid", 'stroke-opacity="0.6"'),
                text(x, bottom + 14, f"{(end - begin) * i / 5e3:.4g} ms",
                     "end" if i == 5 else "middle", "faint")]
    return svg(bottom + 20, out, "timeline")


def unit_of(values):
    """The unit that gives the largest of VALUES, in bytes per second, one to three digits."""
    top = max(values)
    return next(((s, n) for s, n in ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")) if top >= s), (1.0, "B/s"))


def heat_map(maps):
    """MAPS: (name, matrix of bytes per second by row and column; None: not measured), on one scale: the stronger
    the colour, the faster."""
    known = [v for _, matrix in maps for row in matrix for v in row if v is not None]
    if not known:
        return ""
    scale, unit = unit_of(known)
    count = max(len(matrix) for _, matrix in maps)
    cell = min(30.0, (WIDTH - 80.0) / count)
    across = max(1, int((WIDTH - 20) // (count * cell + 64)))
    size, out, bottom = count * cell, [], 0.0
    for number, (name, matrix) in enumerate(maps):
        left = 60 + number % across * (size + 64)
        top = 46 + number // across * (size + 74)
        bottom = max(bottom, top + size)
        out += [text(left - 40, top - 30, name), text(left - 40, top - 12, "from \\ to", "start", "faint")]
        step = max(1, math.ceil(16 / cell))  # labels only as many ranks as there is room for
        for i, row in enumerate(matrix):
            if i % step == 0:
                out += [text(left - 6, top + (i + 0.5) * cell + 4, i, "end", "faint"),
                        text(left + (i + 0.5) * cell, top - 12 + 8, i, "middle", "faint")]
            for j, value in enumerate(row):
                x, y = left + j * cell, top + i * cell
                if value is None:
                    out.append(rect(x, y, cell - 1, cell - 1, "none", f"{name}: {i} to {j} not measured",
                                    'stroke="var(--line)" stroke-width="0.5"'))
                    continue
                share = value / max(known)
                out.append(rect(x, y, cell - 1, cell - 1, "var(--c0)",
                                f"{name}: from rank {i} to rank {j} {value / scale:.3g} {unit}",
                                f'fill-opacity="{0.08 + 0.92 * share:.3f}"'))
                if cell >= 28:
                    kind = "over" if share > 0.55 else ""
                    out.append(text(x + cell / 2 - 0.5, y + cell / 2 + 4, f"{value / scale:.2g}" if value < 10 * scale else f"{value / scale:.0f}",
                                    "middle", kind))
    out += heat_scale(bottom + 24, max(known) / scale, unit)
    return svg(bottom + 50, out, "links between ranks")


def heat_scale(y, most, unit):
    parts = 10
    out = [rect(60 + i * 18, y, 17, 10, "var(--c0)", "", f'fill-opacity="{0.08 + 0.92 * (i + 1) / parts:.3f}"')
           for i in range(parts)]
    return out + [text(54, y + 9, "0", "end", "faint"),
                  text(66 + parts * 18, y + 9, f"{most:.3g} {unit}", "start", "faint")]
