"""writing: C is written by pwrite or through mapped pages; on a disk and in memory, in whole rows and
in parts of rows."""
import pathlib
import subprocess
import tempfile

import h5py

import judging
from judging import Case
from running import each, expect, finish, options, records_of, run, scratch

PLACES = (pathlib.Path(tempfile.gettempdir()), pathlib.Path("/dev/shm"))
SHAPES = [(1203, 1101, 24, 1, ""), (1203, 1024, 20, 2, "--grid 2x1x1"), (17, 150001, 10, 2, "--grid 1x2x1"),
          (900, 1003, 20, 3, "--grid 3x1x1")]
WAYS = (("pwrite", 2), ("mapped", 0), ("auto", 1), ("auto", 4))


def kind_of(folder):
    return subprocess.run(["stat", "-f", "-c", "%T", str(folder)], capture_output=True, text=True,
                          check=True).stdout.strip()


def expected(kind, way, writers):
    if way != "auto":
        return way
    return "mapped" if kind == "tmpfs" and writers >= 4 else "pwrite"


def try_case(folder, number, shape, way, threads):
    m, n, k, ranks, grid = shape
    case = Case(m, n, k, ranks=ranks,
                flags=f"{grid} --write-by {way} --io-threads {threads} --json {folder}/record.json")
    judging.try_case(folder, chosen.damier, case, number)
    found = records_of(folder / "record.json")[-1]["files"]["write_way"]
    wanted = expected(kind_of(folder), way, threads * ranks)
    expect(found == wanted, f"written by {found}, not by {wanted}")


def in_place(item):
    number, (place, *words) = item
    with scratch(place) as folder:
        try_case(folder, number, *words)


def generated(item):
    """generate in each way: the same elements."""
    number, place, way = item
    with scratch(place) as folder:
        for name, by in (("plain", "pwrite"), ("other", way)):
            run(chosen.damier, 1 + number % 3, "generate", folder / f"{name}.h5", "--rows", 1203, "--cols", 1101,
                "--io-threads", 2, "--write-by", by, "-q")
        with h5py.File(folder / "plain.h5") as plain, h5py.File(folder / "other.h5") as other:
            expect(plain["a"][()].tobytes() == other["a"][()].tobytes(), "generate has other elements")


chosen = options()
cases = [(place, shape, *way) for place in PLACES if place.is_dir() for shape in SHAPES for way in WAYS]
files = [(number, place, way) for number, place in enumerate(PLACES) if place.is_dir()
         for way in ("mapped", "auto")]
finish(each(in_place, enumerate(cases)) + each(generated, files), len(cases) + len(files))
