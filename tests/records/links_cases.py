"""bench links: every pair of ranks is in its matrices, with consistent numbers."""
from running import records_of, run, run_checks


def bench(damier, folder, ranks, *words):
    path = folder / "links.jsonl"
    path.unlink(missing_ok=True)
    run(damier, ranks, "bench", "links", "-q", "--repetitions", 3, "--json", path, *words)
    return records_of(path)


def check_matrix(record, name, ranks, measured):
    """MEASURED(i, j): whether bytes go from i to j."""
    matrix = record["links"][name]
    assert len(matrix) == ranks and all(len(row) == ranks for row in matrix), name
    for i in range(ranks):
        for j in range(ranks):
            known = matrix[i][j] is not None
            assert known == (i != j and measured(i, j)), f"{name}: {i} to {j} is {matrix[i][j]}"
            assert not known or matrix[i][j] > 0, name
    return matrix


def check_record(record, ranks, measured, alone=True):
    shared = record["transport"]["name"] == "shared"
    ways = ["together"] + ["one_way", "both_ways"] * alone
    for way in ways:
        middle, least, most = (check_matrix(record, f"{way}{part}_Bps", ranks, measured)
                               for part in ("", "_least", "_most"))
        for rows in zip(middle, least, most):
            assert all(v is None or low <= v <= high for v, low, high in zip(*rows)), way
        values = sorted(v for row in middle for v in row if v is not None)
        assert record["rates"][f"{way}_least_Bps"] == values[0], way
        assert record["rates"][f"{way}_most_Bps"] == values[-1], way
    assert ("turn_s" in record["links"]) == (alone and not shared)
    if "turn_s" in record["links"]:
        turn = check_matrix(record, "turn_s", ranks, measured)
        assert all(turn[i][j] == turn[j][i] for i in range(ranks) for j in range(i))
    both = record["links"]["together_Bps"]
    assert all(both[i][j] == both[j][i] for i in range(ranks) for j in range(i)), "both ways at once"


def check_pairs(damier, folder):
    """Odd and even numbers of ranks, sizes without divisors, every transport of the machine."""
    for ranks in (2, 3, 5, 6):
        records = bench(damier, folder, ranks, "--bytes", "1,4099", "--backend", "cpu")
        found = {(r["transport"]["name"], r["bench"]["bytes"]) for r in records}
        assert found == {(t, b) for t in ("host", "shared") for b in (1, 4099)}, found
        for record in records:
            check_record(record, ranks, lambda i, j: True)


def check_nodes(damier, folder):
    """Between nodes messages work, but not shared memory."""
    records = bench(damier, folder, 4, "--bytes", "64:4096:x8", "--pretend-nodes", 2, "--backend", "cpu",
                    "--no-alone")
    assert [r["bench"]["bytes"] for r in records] == 2 * [64, 512, 4096]
    for record in records:
        inside = record["transport"]["name"] == "shared"
        check_record(record, 4, lambda i, j: not inside or i // 2 == j // 2, alone=False)


def check_one(damier, folder):
    records = bench(damier, folder, 2, "--bytes", "1000:3000:1000", "--transport", "host")
    assert [r["bench"]["bytes"] for r in records] == [1000, 2000, 3000]
    assert {r["transport"]["name"] for r in records} == {"host"}


def check_refusals(damier, _):
    for code, ranks, words in ((2, 1, []), (2, 2, ["--bytes", "0"]), (2, 2, ["--bytes", "1,"]),
                               (2, 2, ["--bytes", "4:2:1"]), (2, 2, ["--bytes", "4:8:x1"]),
                               (2, 2, ["--bytes", "4:8"]), (6, 2, ["--transport", "cuda-mpi"]),
                               (2, 2, ["--repetitions", "100000"])):
        run(damier, ranks, "bench", "links", *words, expect=code)


run_checks(check_pairs, check_nodes, check_one, check_refusals)
