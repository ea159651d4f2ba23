"""bench links: every transport and size has a record with consistent numbers."""
from running import records_of, run, run_checks


def bench(damier, folder, ranks, *words):
    path = folder / "links.jsonl"
    path.unlink(missing_ok=True)
    run(damier, ranks, "bench", "links", "-q", "--repetitions", 3, "--json", path, *words)
    return records_of(path)


def check_record(record, alone=True):
    """ALONE: rank 0 has a partner on this transport."""
    for way in ("together", "one_way", "both_ways"):
        least, middle, most = (record["rates"][f"{way}_{part}_Bps"] for part in ("least", "median", "most"))
        assert (middle is not None) == (alone or way == "together"), way
        assert middle is None or 0 < least <= middle <= most, (way, least, middle, most)


def check_pairs(damier, folder):
    """Odd and even numbers of ranks, sizes without divisors, every transport of the machine."""
    for ranks in (2, 3, 5, 6):
        records = bench(damier, folder, ranks, "--bytes", "1,4099", "--backend", "cpu")
        found = {(r["transport"]["name"], r["bench"]["bytes"]) for r in records}
        assert found == {(t, b) for t in ("host", "shared") for b in (1, 4099)}, found
        for record in records:
            check_record(record)


def check_nodes(damier, folder):
    """Between nodes messages work, but not shared memory."""
    records = bench(damier, folder, 4, "--bytes", "64:4096:x8", "--pretend-nodes", 2, "--backend", "cpu")
    assert [r["bench"]["bytes"] for r in records] == 2 * [64, 512, 4096]
    for record in records:
        check_record(record)


def check_one(damier, folder):
    records = bench(damier, folder, 2, "--bytes", "1000:3000:1000", "--transport", "host")
    assert [r["bench"]["bytes"] for r in records] == [1000, 2000, 3000]
    assert {r["transport"]["name"] for r in records} == {"host"}


def check_refusals(damier, _):
    for code, ranks, words in ((2, 1, []), (2, 2, ["--bytes", "0"]), (2, 2, ["--bytes", "1,"]),
                               (2, 2, ["--bytes", "4:2:1"]), (2, 2, ["--bytes", "4:8:x1"]),
                               (2, 2, ["--bytes", "4:8"]), (6, 2, ["--transport", "self"]),
                               (2, 2, ["--repetitions", "100000"])):
        run(damier, ranks, "bench", "links", *words, expect=code)


run_checks(check_pairs, check_nodes, check_one, check_refusals)
