#!/usr/bin/env python3
"""Tests on a cluster of four nodes on this computer: jobs, time limits, slow links, faults.

run_tests.py --damier PROGRAM.  Exit 77: this computer does not allow it, or NumPy and h5py are missing.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import time

import fault_cases
import first_case
import job_cases
from nodes import CLUSTER, RATE, check, environment, failures, on, shared


def prepare(damier):
    (shared / "bin").mkdir()
    shutil.copy(damier, shared / "bin" / "damier")
    shutil.copy(pathlib.Path(damier).with_name("damier-bench"), shared / "bin")
    for name, size, kind in (("A", 1000, "f64"), ("middle", 2000, "c64"), ("big", 6000, "c64")):
        end = on("n1", "damier", "generate", f"{name}.h5:/a", "--size", str(size), "--type", kind, "-q")
        check(end.code == 0, f"matrix {name}", end)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--damier", required=True)
    parser.add_argument("--only", help="this part alone, such as slow_links")
    parser.add_argument("--keep", action="store_true", help="leave the cluster up")
    options = parser.parse_args()
    try:
        import h5py, numpy # noqa
    except ImportError:
        print("skipped: this Python has no NumPy and h5py")
        sys.exit(77)
    up = [CLUSTER, "up", "--nodes", "4", "--rate", f"{RATE}mbit", "--slurm"]
    code = subprocess.run(up, env=environment()).returncode
    if code:
        sys.exit(code)
    try:
        check(subprocess.run(up, capture_output=True).returncode == 1, "a second cluster is refused")
        prepare(options.damier)
        limited = job_cases.TimeLimit()
        for part in (first_case.jobs, job_cases.starts, fault_cases.wrong_launches, job_cases.slow_links, job_cases.planning,
                     job_cases.arrays, fault_cases.faults, limited.judge, fault_cases.link_down, fault_cases.slurmd_killed):
            if options.only and part.__name__ != options.only:
                continue
            began = time.monotonic()
            part()
            print(f"    {part.__qualname__}: {time.monotonic() - began:.1f} s", flush=True)
    finally:
        if not options.keep:
            check(subprocess.run([CLUSTER, "down"]).returncode == 0 and not shared.exists(),
                  "all of the cluster is removed")
    print(f"{len(failures)} failed")
    sys.exit(1 if failures else 0)


main()
