"""The output of bench multiply --from file is consistent, and no files are left on the disk, also if it is asked to stop
or the disk fails."""
import math
import signal
import statistics
import subprocess
import time

from running import environment, process_mib, records_of, run, run_checks

CASES = ((1, "--size 200 --repetitions 3", {}),
         (2, "--m 300 --n 200 --k 500 --repetitions 2 --type f32", {"size": 4}),
         (2, "--size 200 --repetitions 2 --deflate 1 --shuffle --io-threads 2", {"packed": True}),
         (2, "--m 1500 --n 1400 --k 3000 --repetitions 2 --memory host={limit}MiB", {"again": True}),
         (2, "--m 150 --n 140 --k 16000 --repetitions 1 --compute f64:int8 --memory host={more}MiB", {"again": True}),
         (1, "--size 200 --repetitions 1 --compute f64:int8", {}),
         (2, "--size 300 --repetitions 2 --write-by mapped --io-threads 1", {"way": "mapped"}),
         (3, "--size 100 --repetitions 1 --no-verify --grid 1x1x3 --panel 64", {}))
ABOVE = 36  # MiB in addition to the process's own memory, which varies in steps of 16
MORE = 32  # for residues


def near(a, b):
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-12)


def check(record, size=8, packed=False, again=False, way=None):
    problem, times, rates, moved = (record[p] for p in ("problem", "times", "rates", "moved"))
    series, count = record["repetitions"], record["bench"]["repetitions"]
    assert way in (None, record["files"]["write_way"]), record["files"]
    alone = ("write",) if packed else ("read", "write")
    for name in ("file", "compute", *alone, "exposed_read", "exposed_write"):
        assert len(series[f"{name}_s"]) == count, name
        assert near(statistics.median(series[f"{name}_s"]), times[f"{name}_median_s"]), name
    m, n, k = (problem[x] for x in "mnk")
    inputs, c = (m * k + k * n) * size, m * n * size
    reading = times["read_median_s"] * moved["from_files_bytes"] / inputs if not packed else 0
    files = reading + times["write_median_s"]
    assert moved["to_files_bytes"] == c and moved["from_files_bytes"] >= inputs, moved
    assert near(moved["files_of_bound"] * moved["files_bound_bytes"], moved["from_files_bytes"] + c)
    assert moved["files_of_bound"] > 0.999, moved
    assert near(times["files_s"], files)
    assert rates["read_ceiling_Bps"] is None if packed else near(rates["read_ceiling_Bps"], inputs / times["read_median_s"])
    assert near(times["bound_s"], max(files, times["compute_median_s"])), times
    assert near(rates["of_bound"], times["bound_s"] / times["file_median_s"]), rates
    assert all(0 < t for name in ("file", "compute", *alone) for t in series[f"{name}_s"])
    assert ("deflate" in record["files"]["a"]) == packed, record["files"]
    assert (moved["from_files_bytes"] > inputs) == again, moved
    assert times["exposed_commit_median_s"] > 0, times


def check_cases(damier, folder):
    disk = folder / "disk"
    disk.mkdir()
    limit = ABOVE + process_mib(damier, 2)
    for number, (ranks, words, expected) in enumerate(CASES):
        report = folder / f"{number}.json"
        run(damier, ranks, "bench", "multiply", "--from", "file", *words.format(limit=limit, more=limit + MORE).split(), "--directory",
            disk, "-q", "--json", report)
        check(records_of(report)[0], **expected)
        assert not list(disk.iterdir()), f"{words}: left {list(disk.iterdir())}"


def check_stopped(damier, folder):
    """Stopped in the middle: 75, and nothing is left."""
    folder /= "disk"
    command = [damier, "bench", "multiply", "--from", "file", "--size", "700", "--repetitions", "90",
               "--directory", str(folder)]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while not list(folder.glob("damier-bench-*/C.h5*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGUSR1)
    err = process.communicate(timeout=300)[1]
    assert process.returncode == 75, f"exit {process.returncode}\n{err}"
    assert "same command resumes" not in err, err
    assert not list(folder.iterdir()), f"left {list(folder.iterdir())}"


run_checks(check_cases, check_stopped)
