"""The benchmark of whole commands: its records, their table, and a wrong product."""
import statistics
import subprocess
import sys

from running import ROOT, environment, records_of, run_checks

ROWS = ["damier", "mpirun-2", "numpy", "hostname-2"]
WRONG = f"""#!/bin/sh
program=$(printf '%s' "$2" | sed 's/@/+/')
shift 2
exec {sys.executable} -c "$program" "$@"
"""


def script(name, *words, expect=0):
    done = subprocess.run([sys.executable, str(ROOT / "scripts" / name), *map(str, words)], env=environment(),
                          capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == expect, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def bench(damier, output, only, *words, python=sys.executable, expect=0):
    script("bench/commands.py", "user", *words, "ranks=2", "--damier", damier, "--runs", 2, "--ways", only, "--python", python,
           "--folder", output.parent, "--output", output, expect=expect)
    return records_of(output)


def check(records):
    assert [r["way"] for r in records] == ROWS, [r["way"] for r in records]
    for record in records:
        times, ranks = record["turns"], 2 if record["way"].endswith("-2") else 1
        assert "error" not in record and len(times) == 2 and min(times) > 0, record
        assert record["seconds"] == [statistics.median(times), min(times), max(times)], record
        assert record["ratio"][0] == statistics.median(a / b for a, b in zip(times, records[0]["turns"])), record
        assert (record["shape"], record["type"], record["ranks"]) == ("40 x 32 x 24", "f32", ranks), record
        assert record.get("backend") == ("cpu" if record["way"] in ("damier", "mpirun-2") else None), record


def check_commands(damier, folder):
    output, wrong = folder / "user.jsonl", folder / "wrong"
    check(bench(damier, output, "|".join(ROWS), "sizes=40x24x32", "types=f32"))
    wrong.write_text(WRONG)
    wrong.chmod(0o700)
    last = bench(damier, output, "numpy", "sizes=32", "types=f64", python=wrong, expect=1)[-1]
    assert last["error"] == "C is not NumPy's product" and "seconds" not in last, last
    head, _, row, failed = script("report/results.py", output).splitlines()[2:6]
    assert all(f"`{name}`, s" in head for name in ROWS), head
    assert row.startswith("| 40 x 32 x 24 | f32 |") and "; 1.00 |" in row, row
    assert "| failed |" in failed, failed
    assert {path.name for path in folder.iterdir()} == {"user.jsonl", "wrong"}, "files are left"


run_checks(check_commands)
