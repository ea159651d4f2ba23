"""Helpers for the tables of the documentation: medians, intervals, Markdown."""
import json
import math
import pathlib


def checked(record):
    if not isinstance(record, dict) or "verb" not in record:
        raise ValueError("a line is not a record of damier")
    return {**record, "command": record.get("command", "")}


def read_records(path):
    try:
        lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
        return [checked(json.loads(line)) for line in lines if line.strip()]
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


def estimate(values, digits):
    low, high = interval(values)
    return f"{median(values):.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def milliseconds(seconds):
    return f"{1e3 * median(seconds):.2f}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return lines


def met(value, goal, is_met):
    return f"{'met' if is_met else 'missed'} ({value} {goal})"


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


def compute_of(record):
    return "tf32" if "tf32" in record["command"].split() else record["problem"]["work"]


def machine_ranks(record):
    return record.get("machine", {}).get("ranks", 1)


def command_of(record):
    """The command as typed, without the output of its record."""
    words, hidden = record["command"].split(), set()
    for place, word in enumerate(words):
        if word == "--json":
            hidden |= {place, place + 1}
    command = " ".join(w for place, w in enumerate(words) if place not in hidden and w != "-q")
    ranks = machine_ranks(record)
    return (f"mpirun -n {ranks} " if ranks > 1 else "") + command


def code_of(record):
    """Version and commit of damier, and the day."""
    version = (record.get("version") or (record.get("damier") or {}).get("version") or "").removeprefix("damier ")
    if record.get("git") and "git" not in version:
        version = f"{version} (git {record['git']})".lstrip()
    return f"damier {version}, {record['date'][:10]}"


def device_of(record):
    return record.get("machine", {}).get("device") or record.get("device", "")


def measured(records, how):
    """One line below a short table: the versions, days and machines of RECORDS, and what repeats them."""
    found = dict.fromkeys((device_of(r), code_of(r)) for r in records)
    lines = []
    for device in dict.fromkeys(device for device, _ in found):
        lines.append(f"{device}: " + "; ".join(code for of, code in found if of == device))
    return ["", "Measured on " + ". ".join(lines) + f". To repeat it: {how}."] if lines else []


def origin(records):
    """The origin of numbers: one line for each machine and day, and the commands."""
    machines, commands = [], []
    for record in records:
        machine = record.get("machine", {})
        parts = [machine.get("device"), machine.get("library"), code_of(record)]
        line = "Measured on: " + ", ".join(part for part in parts if part) + "."
        if line not in machines:
            machines.append(line)
        if command_of(record) not in commands:
            commands.append(command_of(record))
    return ["", *machines, "", *("    " + command for command in commands)]
