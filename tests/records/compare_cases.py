"""compare.py finds an injected slow-down of 5 % and accepts noise, for products and links."""
import json
import random
import subprocess
import sys

from running import ROOT, run_checks

SCRIPT = ROOT / "scripts" / "report" / "compare.py"
NOISE = 0.01  # of a run's time, as on a quiet machine


def record(size, seconds):
    return {"schema": "damier/1", "verb": "bench multiply",
            "problem": {"shape": f"{size} x {size} x {size}", "types": "f64"},
            "machine": {"ranks": 4, "threads": 1, "backend": "cpu", "device": "Some CPU"},
            "transport": {"name": "host"}, "repetitions": {"multiply_s": seconds}}


def times(dice, mean, count):
    """Times of synchronised runs are skewed: now and then a run takes much longer."""
    return [mean * (1 + abs(dice.gauss(0, NOISE)) + (0.2 if dice.random() < 0.03 else 0))
            for _ in range(count)]


def compare(folder, old, new, *flags):
    for name, records in (("old", old), ("new", new)):
        text = "".join(json.dumps(r) + "\n" for r in records)
        (folder / f"{name}.jsonl").write_text(text)
    return subprocess.run([sys.executable, SCRIPT, *flags, folder / "old.jsonl",
                           folder / "new.jsonl"], capture_output=True, text=True, check=False)


def suite(dice, slow=None, count=16):
    return [record(n, times(dice, n * 1e-3 * (slow or {}).get(n, 1.0), count))
            for n in (256, 512, 1024, 2048)]


def check_slow_down(_, folder):
    found = 0
    for seed in range(40):
        dice = random.Random(seed)
        done = compare(folder, suite(dice), suite(dice, {1024: 1.05}))
        rows = [line for line in done.stdout.splitlines() if "| slower |" in line]
        found += done.returncode == 1 and len(rows) == 1 and "1024" in rows[0]
    assert found >= 39, f"a slow-down of 5 % was found in {found} of 40"


def check_noise(_, folder):
    wrong = sum(compare(folder, suite(random.Random(seed)), suite(random.Random(seed + 1000))).returncode
                for seed in range(60))
    assert wrong == 0, f"noise was taken for a slow-down in {wrong} of 60"


def check_others(_, folder):
    dice = random.Random(3)
    faster = compare(folder, suite(dice), suite(dice, {512: 0.9}))
    assert faster.returncode == 0 and "| faster |" in faster.stdout, faster
    assert compare(folder, suite(dice), suite(dice, count=3)).returncode == 2
    assert compare(folder, suite(dice), [record(77, [1.0] * 9)]).returncode == 2
    assert compare(folder, suite(dice), suite(dice, {1024: 1.05}), "--least", "8").returncode == 0
    (folder / "old.jsonl").write_text("no JSON\n")
    broken = subprocess.run([sys.executable, SCRIPT, folder / "old.jsonl", folder / "new.jsonl"],
                            capture_output=True, text=True, check=False)
    assert broken.returncode == 2 and "Traceback" not in broken.stderr, broken


def matrix(values, part, of=float):
    return [[None if v is None else of(part(v)) for v in row] for row in values]


def links(dice, slow, ranks=4, count=5, size=1 << 20):
    """SLOW(i, j): the factor by which a piece from i to j takes longer."""
    def exchanges(i, j):
        return None if i == j else sorted(times(dice, size / 5e9 * slow(i, j), count))
    one_way = [[exchanges(i, j) for j in range(ranks)] for i in range(ranks)]
    turn = [[exchanges(min(i, j), max(i, j)) for j in range(ranks)] for i in range(ranks)]
    for i in range(ranks):
        for j in range(i):
            turn[i][j] = turn[j][i]
    rate = lambda seconds: size / seconds  # pylint: disable=unnecessary-lambda-assignment
    middle = lambda v: v[len(v) // 2]  # pylint: disable=unnecessary-lambda-assignment
    return {"schema": "damier/1", "verb": "bench links", "machine": {"ranks": ranks, "backend": "cpu"},
            "transport": {"name": "host"}, "bench": {"bytes": size, "repetitions": count},
            "links": {"one_way_Bps": matrix(one_way, middle, rate), "one_way_least_Bps": matrix(one_way, max, rate),
                      "one_way_most_Bps": matrix(one_way, min, rate), "turn_s": matrix(turn, middle),
                      "turn_least_s": matrix(turn, min), "turn_most_s": matrix(turn, max)}}


def compare_links(folder, slow, count=5, ranks=4, tries=20):
    """The verdicts, with noise on both sides, for several random draws."""
    for seed in range(tries):
        dice = random.Random(seed)
        yield compare(folder, [links(dice, lambda i, j: 1.0, ranks, count)], [links(dice, slow, ranks, count)])


def check_links(_, folder):
    for done in compare_links(folder, lambda i, j: 1.1, ranks=6):
        assert done.returncode == 1 and done.stdout.count("| slower (") == 2, done
    for done in compare_links(folder, lambda i, j: 1.5 if 3 in (i, j) else 1.0):  # one adapter
        assert done.returncode == 1 and "one_way" in done.stdout and "pairs, most" in done.stdout, done
    found = 0
    for done in compare_links(folder, lambda i, j: 1.5 if (i, j) == (2, 0) else 1.0, count=12):
        found += done.returncode == 1 and "slower (1 of 12 pairs, most 2 to 0" in done.stdout
    assert found >= 18, f"one slow link of 12 was found in {found} of 20"
    for done in compare_links(folder, lambda i, j: 0.5):
        assert done.returncode == 0 and done.stdout.count("| faster (") == 2, done
    wrong = sum(done.returncode for done in compare_links(folder, lambda i, j: 1.0, count=12, tries=60))
    assert wrong == 0, f"noise was taken for a slow-down in {wrong} of 60"
    for done in compare_links(folder, lambda i, j: 2.0, ranks=2, count=2, tries=1):
        assert done.returncode == 2 and "too few repetitions" in done.stdout, done
    real = ROOT / "docs" / "results" / "links.jsonl"
    same = subprocess.run([sys.executable, SCRIPT, real, real], capture_output=True, text=True, check=False)
    assert same.returncode == 0 and "| same |" in same.stdout and "slower" not in same.stdout, same


run_checks(check_slow_down, check_noise, check_others, check_links)
