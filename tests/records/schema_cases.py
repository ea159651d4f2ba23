"""Every verb in every mode writes records that match docs/record.schema.json, as JSON and as CSV."""
import csv
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np

from running import ROOT, records_of, run, run_checks

try:
    import jsonschema
except ImportError:
    print("skipped: there is no jsonschema for Python")
    sys.exit(77)

CASES = """
generate A.h5 --rows 64 --cols 96
generate B.h5 --rows 96 --cols 48 --kind normal
multiply A.h5 B.h5 -o C.h5
multiply A.h5 B.h5 -o C.h5 --force --no-verify -v
4 multiply A.h5 B.h5 -o D.h5 --grid 1x1x2 --panel 64
4 multiply A.h5 B.h5 -o E.h5 --grid 2x2x1 --reproducible --no-overlap --type f32
multiply S.npy S.npy -o S.h5
gram A.h5 -o G.h5
cov A.h5 -o V.h5 --of rows
cor A.h5 -o R.h5 --missing pairwise
verify A.h5 B.h5 C.h5
verify A.h5 B.h5 C.h5 --full
info
info C.h5
plan A.h5 B.h5
plan --size 100000 --machine gpu=h200,gpus=4,nodes=64,links=device
bench multiply --size 64 --repetitions 2 --warmup 0
bench multiply --size 64 --repetitions 2 --against-library --threads 1
bench multiply --sizes 64;96,64,80 --time 0.2 --type c64
bench multiply --size 64 --repetitions 1 --type bf16 --no-verify
2 bench multiply --size 64 --repetitions 1
3 bench multiply --size 64 --repetitions 2 --grid 1x1x3
3 bench multiply --size 64 --repetitions 2 --transport host --grid 3x1x1
bench kernels --list
2 bench rates --threads 1 --files . -o rates.txt
2 multiply A.h5 B.h5 -o F.h5 --machine @rates.txt
3 bench links --bytes 8,64KiB --repetitions 2
2 bench scale --size 96 --repetitions 2 --warmup 0
3 bench scale --size 96 --type c64 --repetitions 2 --series memory --ranks 1,3 --no-verify
4 bench links --bytes 64KiB --repetitions 2 --pretend-nodes 2
"""


def check_json(validator, path, case):
    records = records_of(path)
    assert records, f"{case}: no record"
    for record in records:
        errors = [f"{'.'.join(map(str, e.path))}: {e.message}" for e in validator.iter_errors(record)]
        assert not errors, f"{case}:\n    " + "\n    ".join(errors)
        assert "NO_SUCH_SECRET" not in json.dumps(record), f"{case}: the whole environment is there"
        assert record["environment"]["OMP_NUM_THREADS"] == "1", case
    return records


def check_facts(records):
    """Compares with the system's information on the node and the file system."""
    asked = subprocess.run(["stat", "-f", "-c", "%T", "."], capture_output=True, text=True, check=True)
    other = {"ext2/ext3": "ext4", "UNKNOWN": ""}
    kind = asked.stdout.strip()
    for record in records:
        machine = record.get("machine", {})
        if record["verb"] not in ("plan", "bench kernels") and "cores" in machine:
            assert machine["cores"] == os.sysconf("SC_NPROCESSORS_ONLN")
            assert machine["memory_bytes"] <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
            assert machine["system"].split()[1] == os.uname().release
        for name, system in record.get("files", {}).items():
            if name.endswith("_system"):
                assert system == (other.get(kind, kind) or system), f"{name}: {system}, not {kind}"


def check_launch(records, case):
    """The launcher has a launcher's name, and started before the ranks."""
    for record in records:
        assert re.match("mpi(run|exec)|prterun|orterun|hydra", record["machine"]["launcher"]), case
        assert 0 < record["times"]["launch_s"] < 600, case


def flat(record, path=""):
    for key, value in record.items():
        where = f"{path}.{key}" if path else key
        if isinstance(value, dict):
            yield from flat(value, where)
        elif not isinstance(value, list) and not where.startswith("environment."):
            yield where, value


def check_csv(path, records, case):
    """The same numbers and strings as the JSON, without lists and the environment."""
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = list(csv.reader(file))
    assert len(rows) == len(records), f"{case}: {len(rows)} lines for {len(records)} records"
    for row, record in zip(rows, records):
        assert len(row) == len(header), f"{case}: {len(row)} values for {len(header)} names"
        found = dict(zip(header, row))
        assert set(found) == {name for name, _ in flat(record)}, case
        for name, value in flat(record):
            if isinstance(value, float):
                assert float(found[name]) == value, f"{case}: {name}"
            elif isinstance(value, str):
                assert found[name] == value, f"{case}: {name}"


def check_cases(damier, folder):
    schema = json.loads((ROOT / "docs" / "record.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    os.environ.update(OMP_NUM_THREADS="1", NO_SUCH_SECRET="NO_SUCH_SECRET", XDG_CACHE_HOME=str(folder))
    os.chdir(folder)
    np.save("S.npy", np.ones((300, 4, 4)))  # small entries
    for number, case in enumerate(CASES.strip().splitlines()):
        first, *rest = case.split()
        ranks, words = (int(first), rest) if first.isdigit() else (1, [first, *rest])
        json_file, csv_file = pathlib.Path(f"{number}.jsonl"), pathlib.Path(f"{number}.csv")
        run(damier, ranks, *words, "-q", "--json", json_file, "--csv", csv_file)
        records = check_json(validator, json_file, case)
        check_facts(records)
        if words[0] == "multiply" and ranks > 1:
            check_launch(records, case)
        check_csv(csv_file, records, case)
        print("passed ", case)
    mixed = dict(records[0], surprise=1)
    assert list(validator.iter_errors(mixed)), "the schema allows what it does not know"


run_checks(check_cases)
