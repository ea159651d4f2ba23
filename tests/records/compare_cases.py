"""compare.py finds an injected slow-down of 5 % and accepts noise."""
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


run_checks(check_slow_down, check_noise, check_others)
