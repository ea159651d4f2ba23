"""Work grows as the matrices do: bytes read, panels and memory of s, 2 s and 4 s rows, as records and traces count them."""
import collections
import json

import h5py
import numpy as np
from running import expect, process_mib, records_of, run, run_checks

ROWS, COLS, MIB = 400_000, 4, 1 << 20
SAMPLE = 256 * COLS * 4  # of the second matrix, for the weights of the verification


def matrices(path, rows):
    """Two matrices of ROWS rows."""
    with h5py.File(path, "w") as file:
        for seed, name in enumerate("xy"):
            file[name] = np.random.default_rng(seed).standard_normal((rows, COLS)).astype("f4")
    return path


def counts_of(damier, folder, rows, verb, names, *flags):
    """What a command on matrices of ROWS rows counts."""
    path, record, trace = matrices(folder / "x.h5", rows), folder / "record.json", folder / "trace.json"
    run(damier, 1, verb, *[f"{path}:/{name}" for name in names], "-o", folder / "c.h5", "--force", "-q", *flags,
        "--json", record, "--trace", trace)
    one = records_of(record)[-1]
    steps = collections.Counter(event["name"] for event in json.loads(trace.read_text())["traceEvents"])
    expect(one["verification"]["verdict"] == "PASS", "not verified")
    return {"read": one["moved"]["from_files_bytes"], "panels": steps["gemm"], "loads": steps["load A"] + steps["load B"]}


def products(damier, folder):
    """Of few columns: panels have about a MiB of A and B, and all counts are proportional to the rows."""
    for verb, names, flags in (("gram", "x", ()), ("cov", "x", ()), ("multiply", "xy", ("--op-a", "t"))):
        sizes = [ROWS * 2 ** i for i in range(4)]
        found = [counts_of(damier, folder, rows, verb, names, *flags) for rows in sizes]
        for rows, one in zip(sizes, found):
            data = len(names) * rows * COLS * 4
            expect(data <= one["read"] <= data + SAMPLE, f"{verb}: {one['read']} bytes read of {data}")
            expect(one["panels"] <= 2 + 2 * data // MIB, f"{verb}: {one['panels']} panels of {data} bytes")
            expect(one["loads"] == len(names) * one["panels"], f"{verb}: {one['loads']} loads, {one['panels']} panels")
        for small, large in zip(found, found[1:]):
            expect(large["panels"] <= 2 * small["panels"] + 1, f"{verb}: panels {small['panels']}, {large['panels']}")


def memory(damier, folder):
    """Products and verifications of few columns need no more memory for more rows."""
    x = f"{matrices(folder / 'x.h5', 8 * ROWS)}:/x"
    limit = process_mib(damier) + 64
    run(damier, 1, "gram", x, "-o", folder / "c.h5", "--memory", f"host={limit}MiB", "--force", "-q", "--json",
        folder / "record.json")
    record = records_of(folder / "record.json")[-1]
    expect(record["memory"]["host_peak_bytes"] <= limit * MIB, f"peak {record['memory']['host_peak_bytes']}")
    for k in (10 ** 9, 10 ** 11):
        run(damier, 1, "plan", "--m", 4, "--n", 4, "--k", k, "--type", "f32", "--memory", "host=1GiB", "-q")


run_checks(products, memory)
