"""The code blocks of README.md: commands that must run as shown, and sessions with output that must be true.

usage: readme.py README.md commands [--gpu]   the commands of "Using it", as a script; with --gpu also those for GPUs
       readme.py README.md sessions           compares the output of each "$ command" with the output shown
"""
import re
import subprocess
import sys


def blocks(lines):
    """The last line of text before each indented block, and its lines without the indent."""
    text, block = "", []
    for line in [*lines, ""]:
        if line.startswith("    "):
            block.append(line[4:])
        elif line.strip() or not lines:
            if block:
                yield text, block
            text, block = line, []
    if block:
        yield text, block


def section(text, title):
    return re.search(rf"^## {title}$(.*?)^## ", text, re.M | re.S)[1]


def print_commands(text, gpu):
    for before, block in blocks(section(text, "Using it").splitlines()):
        if not block[0].startswith("$") and (gpu or "GPU" not in before):
            print("\n".join(block))


def label(line):
    """The first words of a table's line, as numbers differ; for the last line the names."""
    if line.startswith("damier: "):
        return re.sub(r"=\S+", "=", line)
    return re.split(r"  +", line.rstrip())[:2 if line.startswith(" ") else 1]


def differs(shown, printed, exact):
    """A line that is shown but not printed, in this order; "…" matches any number of lines."""
    at = 0
    for line in shown:
        if line == "…":
            continue
        same = (lambda other, line=line: other.rstrip() == line) if exact else \
            (lambda other, line=line: label(other) == label(line))
        at = next((i + 1 for i in range(at, len(printed)) if same(printed[i])), None)
        if at is None:
            return line
    return None


def compare_sessions(text):
    for _, block in blocks(text.splitlines()):
        if not block[0].startswith("$ "):
            continue
        command = block[0][2:]
        printed = subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout.splitlines()
        line = differs(block[1:], printed, " plan " in command)  # the plan for a described machine is always the same
        print(command, "-- as shown" if line is None else f"-- not printed: {line}\n" + "\n".join(printed))


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    if sys.argv[2] == "commands":
        print_commands(text, "--gpu" in sys.argv)
    else:
        compare_sessions(text)


if __name__ == "__main__":
    main()
