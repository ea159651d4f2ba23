"""Runs the commands of a page of docs/: its "sh" blocks in order, in one shell; the program must print the "text" block
after one, if any.

usage: pages.py PAGE.md      prints how many blocks ran, or the missing output
"""
import pathlib
import re
import subprocess
import sys

import readme


def fences(text):
    """Language and lines of each fenced block."""
    for language, body in re.findall(r"^```(\w*)[^\n]*\n(.*?)^```$", text, re.M | re.S):
        yield language, body.splitlines()


def sessions(text):
    """Each "sh" block, and its expected output, or None."""
    found = []
    for language, lines in fences(text):
        if language == "sh":
            found.append(["\n".join(lines), None])
        elif language == "text" and found and found[-1][1] is None:
            found[-1][1] = lines
    return found


def run(blocks):
    """The output of each block, from one shell that ends at the first failure."""
    mark = "--- end of a block ---"
    script = "\n".join(f"{command}\necho '{mark}'" for command, _ in blocks)
    done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    outputs = done.stdout.split(mark + "\n")
    if done.returncode or len(outputs) != len(blocks) + 1:
        sys.exit(f"block {len(outputs)} failed with {done.returncode}:\n{blocks[len(outputs) - 1][0]}\n"
                 f"{outputs[-1][-2000:]}")
    return outputs


def begins(line, shown):
    """As for README, but "…" at the end of a line matches its rest, and numbers may differ."""
    if shown.endswith("…"):
        return line.startswith(shown[:-1])
    line, shown = (re.sub(r"0x[0-9a-f]+|\d+", "0", str(readme.label(one))) for one in (line, shown))
    return line == shown


def missing(shown, printed):
    """The first line that is shown but not printed, in this order."""
    at = 0
    for line in (one for one in shown if one != "…"):
        at = next((i + 1 for i in range(at, len(printed)) if begins(printed[i], line)), None)
        if at is None:
            return line
    return None


def main():
    blocks = sessions(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    for (command, shown), output in zip(blocks, run(blocks)):
        line = missing(shown or [], output.splitlines())
        if line is not None:
            sys.exit(f"not printed: {line}\n{command}\n{output}")
    print(f"{len(blocks)} blocks, {sum(shown is not None for _, shown in blocks)} with output")


if __name__ == "__main__":
    main()
