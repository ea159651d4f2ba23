"""running: starts damier, some runs side by side, and reports what failed."""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

WORKERS = 4  # most of a run's time is the start of MPI


class Failure(Exception):
    pass


def mpi_environment():
    """How MPI is started in every test."""
    lines = (pathlib.Path(__file__).resolve().parent.parent / "lib" / "mpi.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def environment():
    return {k: v for k, v in os.environ.items() if not k.startswith("DAMIER_")} | mpi_environment()


def run(damier, ranks, *words, expect=0, timeout=120):
    """What the program prints; Failure where it does not exit with EXPECT."""
    command = [os.environ.get("MPIEXEC", "mpirun"), "-n", str(ranks)] if ranks > 1 else []
    command += [damier, *map(str, words)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True,
                          timeout=timeout, stdin=subprocess.DEVNULL)
    if done.returncode != expect:
        raise Failure(f"exit {done.returncode}, wanted {expect}: {' '.join(command)}\n"
                      f"{done.stderr[-900:]}")
    return done.stdout


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--damier", required=True)
    parser.add_argument("--long", action="store_true", help="more cases, at random")
    return parser.parse_args()


def in_folder(work, *arguments):
    """None, or why WORK(folder, *arguments) fails, in a scratch folder."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="damier-judge-"))
    try:
        return work(folder, *arguments)
    except (Failure, subprocess.TimeoutExpired, ValueError, OSError) as reason:
        return f"{arguments}\n    {reason}"
    finally:
        shutil.rmtree(folder)


def each(work, items):
    """WORK of every item, some side by side, results in order."""
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(work, items))


def finish(failures, count, note=""):
    for failure in filter(None, failures):
        print("FAIL", failure)
    failed = sum(1 for f in failures if f)
    print(f"{count} cases, {failed} failed{note}")
    sys.exit(1 if failed or not count else 0)
