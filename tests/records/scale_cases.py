"""bench scale: every series on every number of ranks, consistent numbers."""
import math

from running import records_of, run, run_checks

POWER = {"strong": 0.0, "memory": 1 / 2, "work": 1 / 3}


def bench(damier, folder, ranks, *words):
    path = folder / "scale.jsonl"
    path.unlink(missing_ok=True)
    run(damier, ranks, "bench", "scale", "-q", "--repetitions", 3, "--threads", 1, "--backend", "cpu",
        "--json", path, *words)
    return records_of(path)


def near(a, b):
    return abs(a - b) <= 1e-9 * abs(b)


def rate(record, part="median"):
    p = record["problem"]
    return 2 * p["m"] * p["n"] * p["k"] / record["times"][f"multiply_{part}_s"]


def check_point(record, base, sizes):
    """Checks the size of the problem, and ratios of times."""
    scale, ranks = record["scale"], record["machine"]["ranks"]
    more = ranks / base["machine"]["ranks"]
    wanted = [max(1, round(n * more ** POWER[scale["series"]])) for n in sizes]
    assert [record["problem"][x] for x in "mnk"] == wanted, (wanted, record["problem"])
    assert scale["base_ranks"] == base["machine"]["ranks"]
    assert near(scale["base_s"], base["times"]["multiply_median_s"])
    assert near(scale["speedup"], rate(record) / rate(base))
    assert near(scale["speedup_ci95_low"], rate(record, "ci95_high") / rate(base, "ci95_low"))
    assert near(scale["speedup_ci95_high"], rate(record, "ci95_low") / rate(base, "ci95_high"))
    assert near(scale["efficiency"], scale["speedup"] / more)
    assert scale["efficiency_ci95_low"] <= scale["efficiency"] <= scale["efficiency_ci95_high"]
    grid = [int(n) for n in record["plan"]["grid"].split("x")]
    assert grid[0] * grid[1] * grid[2] <= ranks
    assert record["verification"]["verdict"] == "PASS"


def check_series(damier, folder):
    records = bench(damier, folder, 5, "--m", 130, "--n", 97, "--k", 260)
    found = [(r["scale"]["series"], r["machine"]["ranks"]) for r in records]
    assert found == [(s, p) for s in POWER for p in (1, 2, 4, 5)], found
    for record in records:
        series = record["scale"]["series"]
        base = next(r for r in records if r["scale"]["series"] == series)
        check_point(record, base, (130, 97, 260))
        assert record["scale"]["job_ranks"] == 5


def check_counts(damier, folder):
    records = bench(damier, folder, 4, "--size", 128, "--ranks", "2,3", "--series", "work")
    assert [r["machine"]["ranks"] for r in records] == [2, 3]
    assert records[0]["scale"]["efficiency"] == 1.0
    check_point(records[1], records[0], (128, 128, 128))


def check_pretended_nodes(damier, folder):
    """Ranks use as few of the pretended nodes as possible. If messages are slow, the planner may use two of four
    ranks."""
    records = bench(damier, folder, 4, "--size", 768, "--series", "strong", "--pretend-nodes", 2)
    for record in records:
        ranks = record["machine"]["ranks"]
        assert record["machine"]["nodes"] == (2 if ranks == 4 else 1), record["machine"]
        assert record["machine"]["pretended_nodes"] == (ranks == 4)
        used = math.prod(int(n) for n in record["plan"]["grid"].split("x"))
        assert (record["moved"]["between_ranks_bytes"] > 0) == (used > 2), "shared slots end with a node"
    assert [r["machine"]["ranks"] for r in records] == [1, 2, 4]


def check_refusals(damier, _):
    for words in (["--ranks", "1,3"], ["--ranks", "2,1"], ["--ranks", "0"], ["--ranks", "1,"],
                  ["--series", "weak"], ["--grid", "1x2x1"],
                  ["--pretend-nodes", "3"],):
        run(damier, 2, "bench", "scale", "--size", 64, *words, expect=2)


run_checks(check_series, check_counts, check_pretended_nodes, check_refusals)
