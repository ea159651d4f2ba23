"""What tables of the documentation are made of: records, medians, intervals, Markdown, and a table as a description."""
import dataclasses
import json
import math
import pathlib


def checked(record):
    if not isinstance(record, dict) or "verb" not in record:
        raise ValueError("a line is not a record of damier")
    return {**record, "command": record.get("command", "")}


def read_records(path):
    """Of FILE.jsonl, a record in each line, or of FILE.json, one record or a list."""
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
        if text.startswith("["):
            return [checked(record) for record in json.loads(text)]
        return [checked(json.loads(line)) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def median(values):
    values = sorted(values)
    return 0.5 * (values[(len(values) - 1) // 2] + values[len(values) // 2])


def interval(values):
    """95 % confidence interval of the median; the extremes if there are few values."""
    values, below, rank = sorted(values), 0.0, 0
    while rank < len(values):
        below += math.comb(len(values), rank) / 2.0 ** len(values)
        if below > 0.025:
            break
        rank += 1
    rank = max(rank, 1)
    return values[rank - 1], values[-rank]


def spread(values, digits):
    """A median and its interval."""
    return "{:.{d}f} [{:.{d}f}, {:.{d}f}]".format(*values, d=digits)


def estimate(values, digits):
    """The median and its interval; nothing if there are no values."""
    return spread([median(values), *interval(values)], digits) if values else ""


def table(head, rows):
    """Markdown, without columns that are empty in all rows."""
    rows = [[str(cell) for cell in row] for row in rows]
    used = [i for i in range(len(head)) if not rows or any(row[i] for row in rows)]
    lines = ["| " + " | ".join(row[i] for i in used) + " |" for row in (head, *rows)]
    return [lines[0], "|" + "---|" * len(used), *lines[1:]]


def met(value, goal, is_met):
    return f"{'met' if is_met else 'missed'} ({value} {goal})"


def at_most(values, goal):
    return met("≤", goal, median(values) <= goal) if values else ""


def at_least(values, goal):
    return met("≥", goal, median(values) >= goal) if values else ""


def grouped(records, key):
    """Groups records with the same key; groups in order of appearance."""
    groups = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


def ratios(above, below):
    return [a / b for a, b in zip(above, below)]


def shape_of(record):
    return record["problem"]["shape"]


def products_of(record):
    """Compute mode, such as "f64" or "f64:int8:15"."""
    recipe = (record.get("plan") or {}).get("recipe", "")
    return next((word[5:] for word in recipe.split() if word.startswith("work=")), "")


def compute_of(record):
    work = record["problem"]["work"]
    if ":" in products_of(record):
        return f"{work} by {products_of(record)}"
    return "tf32" if "tf32" in record["command"].split() else work


def machine_ranks(record):
    return record.get("machine", {}).get("ranks", 1)


def gpus_of(record):
    """One process may use several."""
    return record["machine"].get("gpus", machine_ranks(record))


def command_of(record):
    """The command as typed, without the output of its record."""
    words, hidden = record["command"].split(), set()
    for place, word in enumerate(words):
        if word == "--json":
            hidden |= {place, place + 1}
    command = " ".join(w for place, w in enumerate(words) if place not in hidden and w != "-q")
    ranks = record.get("scale", {}).get("job_ranks", machine_ranks(record))  # in bench scale only some multiply
    return (f"mpirun -n {ranks} " if ranks > 1 else "") + command


def commit_of(record):
    return (record.get("git") or "").removesuffix("-dirty")


def version_of(record):
    """Of damier: 0.3.0; some records also have the commit in it."""
    return record.get("version") or (record.get("damier") or {}).get("version") or ""


def code_of(record):
    """Version and commit of damier, and the day."""
    version = version_of(record).removeprefix("damier ")
    if record.get("git") and "git" not in version:
        version = f"{version} (git {record['git']})".lstrip()
    return f"damier {version}, {record['date'][:10]}"


def device_of(record):
    return record.get("machine", {}).get("device") or record.get("device", "")


def measured(records, how):
    """One line below a short table: the versions, days and machines of RECORDS, and what repeats them."""
    codes = grouped(records, device_of)
    lines = [f"{device}: " + "; ".join(dict.fromkeys(map(code_of, mine))) for device, mine in codes.items()]
    return ["", "Measured on " + ". ".join(lines) + f". To repeat it: {how}."] if lines else []


def origin(records):
    """The origin of numbers: one line for each machine and day, and the commands."""
    def line(record):
        parts = [record.get("machine", {}).get("device"), record.get("machine", {}).get("library"), code_of(record)]
        return "Measured on: " + ", ".join(part for part in parts if part) + "."
    return ["", *dict.fromkeys(map(line, records)), "", *("    " + command for command in dict.fromkeys(map(command_of, records)))]


def repeated(records):
    return measured(records, ", ".join(dict.fromkeys(f"`{r['command']}`" for r in records if r["command"])))


def square(shape):
    """8192³ for squares, else the shape."""
    sizes = shape.replace(" x ", " × ").split(" × ")
    return f"{sizes[0]}³" if len(set(sizes)) == 1 else " × ".join(sizes)


def brief(value):
    """Seconds."""
    return f"{value:.2f}\u00a0s" if value >= 0.1 else f"{value * 1e3:.0f}\u00a0ms"


class Way:
    """The record of a way, for formats: {torch.ms:.2f}; of a way that is not there all is empty."""
    UNITS = {"s": lambda r: r["seconds"][0], "ms": lambda r: 1e3 * r["seconds"][0], "brief": lambda r: brief(r["seconds"][0]),
             "ratios": lambda r: spread(r["ratio"], 2), "processor_ratios": lambda r: spread(r["processor_ratio"], 2)}

    def __init__(self, record):
        self.record = record

    def __getattr__(self, name):
        if self.record is None:
            return self
        return self.UNITS[name](self.record) if name in self.UNITS else self.record[name]

    def __format__(self, form):
        return ""


class Group(list):
    """The records of a row, what they have in common, and the groups of the other rows; as a dict, its first record, then its ways."""

    def __init__(self, key, records, others):
        super().__init__(records)
        self.key, self.others = key, others

    def __getitem__(self, key):
        first = super().__getitem__(0 if isinstance(key, str) else key)
        return first if not isinstance(key, str) else first[key] if key in first else Way(self.way(key))

    def get(self, key, default=None):
        return self[0].get(key, default)

    def way(self, name):
        """The newest record of a way that alternated with others; None if there is none."""
        return max((r for r in self if r["way"] == name and "error" not in r), key=lambda r: r["date"], default=None)

    def time(self, *names, what="seconds"):
        """The median of the first of NAMES that was measured; None if none was."""
        return next((record[what][0] for record in map(self.way, names) if record), None)


def quotient(*names, of, what="seconds"):
    """A column: the time of the first of NAMES that was measured, relative to that of OF."""
    of = of if isinstance(of, tuple) else (of,)
    return lambda g: f"{g.time(*names, what=what) / g.time(*of, what=what):.2f}"


def beside(name, of):
    """A column: the time of a way, and its ratio to that of another one."""
    return lambda g: f"{g[name].brief}, {g.time(name) / g.time(of):.2f}" if g.way(name) else ""


@dataclasses.dataclass
class Table:
    """A table of a page: columns {head: function of a Group, or format of its first record}, and what the records of a row have in
    common. What follows a "#" in a head only tells it from another one."""
    page: str
    name: str
    kinds: str  # of its records, with commas; see results.py
    columns: object  # a dict, or a function of the records that returns it
    by: tuple = ()  # functions of a record; (): each record is a row
    footer: object = origin
    order: object = None  # key of sorting rows
    among: object = None  # of all records those of the table
    keep: object = None  # whether a group is a row
    repeats: bool = False  # a table of the same records on another page has more
    each: object = None  # function of a record: a table for each value

    def make(self, records):
        some = grouped(records, self.each).values() if self.each else [records]
        return [line for mine in some for line in ["", *self.make_one(mine)]][1:]

    def make_one(self, records):
        groups = {}
        for key, mine in grouped(self.among(records) if self.among else records, (lambda r: tuple(f(r) for f in self.by)) if self.by else id).items():
            groups[key] = Group(key, mine, groups)
        rows = [g for g in groups.values() if not self.keep or self.keep(g)]
        rows = sorted(rows, key=self.order) if self.order else rows
        columns = self.columns(records) if callable(self.columns) else self.columns
        heads = [head.split("#")[0] for head in columns]
        cells = [[text.format_map(g) if isinstance(text, str) else text(g) for text in columns.values()] for g in rows]
        return table(heads, cells) + self.footer(records)


@dataclasses.dataclass
class Lines:
    """What of a page no Table describes: a function of records that returns lines."""
    page: str
    name: str
    kinds: str
    make: object
    repeats: bool = False
