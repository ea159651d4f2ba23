"""Pictures of bars."""
import html

WIDTH, MARGIN, LETTER = 480, 14, 7.5  # narrow, so that letters are legible on a phone
BAR, GAP, TITLE = 16, 10, 36
COLOURS = ("#1f5fa8", "#c2571a")  # damier's, the others'
STYLE = ("text{font:13px system-ui,sans-serif;fill:#1a1a1a}.title{font-weight:600}.faint{fill:#5b6470}"
         ".grid{stroke:#d8d8d8}.mark{stroke:#1a1a1a;stroke-dasharray:4 3}")


def label_at(x, y, words, anchor="start", kind=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{html.escape(str(words))}</text>'


def bars(title, groups, mark=None):
    """An SVG on a light card, legible on pages of any colour: GROUPS of (label, bars), each bar (is ours, value, words). MARK
    draws a line at a value of their common scale; without it each group has its own. Long labels stand above their bars."""
    label_width = LETTER * max(len(label) for label, _ in groups)
    beside = label_width < WIDTH / 3
    left = MARGIN + label_width + 8 if beside else MARGIN
    room = WIDTH - left - MARGIN - 6 - LETTER * max(len(words) for _, mine in groups for *_, words in mine)
    longest = max(value for _, mine in groups for _, value, _ in mine)
    at_mark = mark / longest * room if mark is not None else 0
    out, y = [label_at(MARGIN, 24, title, kind="title")], TITLE
    for label, mine in groups:
        if beside:
            out.append(label_at(left - 8, y + BAR * len(mine) / 2 + 5, label, "end"))
        else:
            out.append(label_at(left, y + BAR - 2, label))
            y += BAR + 3
        most = longest if mark is not None else max(value for _, value, _ in mine)
        for is_damier, value, words in mine:
            length = max(value / most * room, 1)
            out.append(f'<rect x="{left:.1f}" y="{y}" width="{length:.1f}" height="{BAR - 2}" fill="{COLOURS[not is_damier]}"/>')
            out.append(label_at(left + max(length, at_mark) + 6, y + BAR - 4, words, kind="faint"))
            y += BAR
        if mark is not None:
            at = left + at_mark
            out.append(f'<line x1="{at:.1f}" y1="{y - BAR * len(mine) - 2:.1f}" x2="{at:.1f}" y2="{y:.1f}" class="mark" />')
        y += GAP
    height = y + 4
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
            f'aria-label="{html.escape(title)}"><style>{STYLE}</style>\n'
            f'<rect width="{WIDTH}" height="{height:.0f}" rx="8" fill="#fbfbfb" stroke="#d8d8d8"/>\n'
            + "".join(part + "\n" for part in out) + "</svg>\n")
