#!/usr/bin/env python3
"""Tests on a cluster of four nodes on this computer: jobs, time limits, slow links, faults.

run_tests.py --damier PROGRAM.  Exit 77: this computer does not allow it, or NumPy and h5py are missing.
"""
import argparse
import json
import shutil
import signal
import subprocess
import sys
import threading
import time

from nodes import (CLUSTER, JOB, Ended, check, done, environment, failures, left_on, log_of, on,
                   processes, send, shared, show, start, submit, wait_for)

RATE = 200 # Mbit/s of every link
BENCH = ["damier", "bench", "multiply", "--size", "512", "--repetitions", "1000000", "--no-verify", "-q"]
SRUN = ["srun", "--mpi=pmix", "--kill-on-bad-exit=1", "--wait=5", "--ntasks-per-node=1"]


def right(name, of="A"):
    """NumPy's opinion."""
    import h5py
    import numpy
    try:
        a, c = h5py.File(shared / f"{of}.h5")["a"][:], h5py.File(shared / name)["c"][:]
    except OSError as problem:
        print(f"    {problem}")
        return False
    return bool(numpy.abs(c - a @ a).max() <= 1e-4 * numpy.abs(a @ a).max())


def jobs():
    for launcher in ("srun", "mpirun"):
        job = submit("-N4", "--ntasks-per-node=1", JOB, "A.h5", "A.h5", f"{launcher}.h5", LAUNCHER=launcher)
        end = done(job, 60)
        check(end.get("ExitCode") == "0:0" and end.get("JobState") in ("COMPLETED", "COMPLETING"),
              f"a job by {launcher} on 4 nodes", (end, log_of(job)))
        check("ranks=4" in log_of(job) and right(f"{launcher}.h5"), "and its C is right", log_of(job))


class TimeLimit(threading.Thread):
    """Slurm's own signal, some time after the start; runs beside the other tests."""

    def __init__(self):
        super().__init__()
        self.seen = set()
        scripts = shared / "scripts"
        shutil.copytree(JOB.rsplit("/", 1)[0], scripts)
        with open(scripts / "env.sh", "a") as env:
            env.write(f"\necho start >>{shared}/starts\n")
        self.job = submit("-N1", "--ntasks-per-node=1", "-w", "n4", "--time=1", "--signal=B:USR1@50",
                          JOB, "big.h5", "big.h5", "never.h5", "--panel", "64", SCRIPTS=str(scripts),
                          OPENBLAS_CORETYPE="Prescott")
        self.start()

    def run(self):
        while show(self.job).get("JobState") in ("PENDING", "RUNNING", "REQUEUED", "COMPLETING"):
            if (shared / "never.h5").exists():
                self.seen.add("never.h5")
            time.sleep(0.3)

    def judge(self):
        self.join(150)
        end, log = show(self.job), log_of(self.job)
        check(end.get("ExitCode") == "75:0" and end.get("Restarts") == "1",
              "a job whose time is over ends with 75, and was requeued once", (end, log))
        check((shared / "starts").read_text() == "start\n" * 2, "it started twice")
        check(log.count("stopped early: SIGUSR1 arrived") == 2 and "restart 1: starting over" in log,
              "it says why it stopped and that it starts over", log)
        check(not self.seen and not list(shared.glob("never.h5*")), "it left no output")


def wrong_launches():
    end = on("head", "srun", "-N4", "--ntasks-per-node=1", "--mpi=none", "damier", "generate", "W.h5",
             "--size", "10")
    check(end.code == 9 and end.text.count("damier: error") == 1 and "MPI sees only one" in end.text,
          "4 tasks that each believe to be alone: exit 9, one message", end)
    program = (shared / "bin" / "damier").read_bytes()
    old = subprocess.run([shared / "bin" / "damier", "--version"], capture_output=True, text=True).stdout
    old = old.split("damier ")[1].strip().encode()
    (shared / "other").write_bytes(program.replace(old, b"9" + old[1:]))
    (shared / "other").chmod(0o755)
    end = Ended(start(["run", "-H", "n1", "-n", "1", "--", "damier", "generate", "W.h5", "--size", "10", ":",
                       "-H", "n2", "-n", "1", str(shared / "other"), "generate", "W.h5", "--size", "10"]), 60)
    check(end.code == 9 and end.text.count("damier: error") == 1 and "rank 1 on n2 is damier 9" in end.text,
          "different versions on two nodes: exit 9, one message", end)
    on("n1", "cp", "A.h5", "/tmp/A.h5")
    end = Ended(start(["run", "--", "damier", "multiply", "/tmp/A.h5", "A.h5", "-o", "W.h5"]), 60)
    check(end.code == 3 and end.text.count("damier: error") == 1 and "file system that all nodes see" in
          end.text and not list(shared.glob("W.h5*")), "an input on one node only: exit 3, one message", end)


def received(node):
    """Bytes that came in over the node's only cable; /sys would tell of the computer's."""
    return int(on(node, "cat", "/proc/net/dev").text.split("eth0:")[1].split()[0])


def slow_links():
    """Two nodes with two ranks each: the plan keeps traffic inside nodes, and what crosses is slow."""
    machine, grid = "nodes=2 ranks=2 network=0.025 link=5", "2x2x1"
    plan = on("head", "damier", "plan", "A.h5", "A.h5", "--machine", machine, "--grid", grid, "--json", "plan",
              "-q")
    wanted = json.loads((shared / "plan").read_text()) if plan.code == 0 else {}
    before = [received(node) for node in ("n1", "n2")]
    end = Ended(start(["run", "-H", "n1:2,n2:2", "-n", "4", "--", "damier", "multiply", "A.h5", "A.h5", "-o",
                       "slow.h5", "--grid", grid, "--json", "slow"]), 60)
    between = sum(received(node) for node in ("n1", "n2")) - sum(before)
    record = json.loads((shared / "slow").read_text()) if end.code == 0 else {}
    check(end.code == 0 and right("slow.h5"), "four ranks on two nodes", end)
    foreseen, moved = wanted["plan"]["between_nodes_bytes"], record["moved"]["between_ranks_bytes"]
    check(0 < foreseen <= between <= 1.3 * foreseen + 2e6 and between < 0.8 * moved,
          f"{between} bytes crossed, foreseen were {foreseen:.0f} of {moved}")
    least = foreseen / 2 / (RATE * 1e6 / 8)
    check(record["times"]["multiply_s"] > 0.8 * least,
          f"multiplying took {record['times']['multiply_s']} s, the links alone {least:.2f} s")


def ranks_run(nodes):
    return wait_for(lambda: all(("damier" in [p[1] for p in processes(n)]) for n in nodes)) and \
        time.sleep(2) is None


def fault(what, command, strike, codes, seconds, said="", nodes=("n1", "n2", "n3")):
    """COMMAND is struck while it multiplies: ends with one of CODES in SECONDS, and leaves nothing."""
    job = start(command)
    if not ranks_run(nodes):
        check(False, f"{what}: ranks start", Ended(job, 1))
        return
    strike()
    end = Ended(job, seconds)
    check(end.code in codes and said in end.text, f"{what}: exit {end.code} in {end.seconds:.1f} s", end)
    left = left_on(("head", *nodes))
    check(not left, f"{what}: nothing is left", left)


def faults():
    mpirun = ["run", "-H", "n1,n2,n3", "-n", "3", "--"]
    srun = ["exec", "head", "--", *SRUN, "-w", "n1,n2,n3", "-N3"]
    for name, launch in (("mpirun", mpirun), ("srun", srun)):
        fault(f"{name}, a rank is killed", [*launch, *BENCH], lambda: send("n2", signal.SIGKILL, "damier"),
              (137,), 10)
    fault("mpirun, its daemon is killed", [*mpirun, *BENCH], lambda: send("n3", signal.SIGKILL, "orted"),
          (137, 205), 10)
    fault("mpirun, a rank is stopped", [*mpirun, *BENCH, "--hang-timeout", "20s"],
          lambda: send("n3", signal.SIGSTOP, "damier"), (8,), 30, "rank 2 on n3 is awaited")
    # Slurm misses the keeper of the step only by and by: the watchdog is first.
    fault("srun, its daemon is killed", [*srun, *BENCH, "--hang-timeout", "5s"],
          lambda: send("n3", signal.SIGKILL, "slurmstepd"), (8, 9, 137, 141, 143), 20)


def slurmd_killed():
    job = submit("-N2", "-w", "n1,n2", "--ntasks-per-node=1", JOB, "middle.h5", "middle.h5", "killed.h5",
                 "--panel", "64", LAUNCHER="srun", OPENBLAS_CORETYPE="Prescott")
    started = wait_for((shared / "killed.h5.part").exists)
    check(started and send("n2", signal.SIGKILL, "slurmd") == 1, "slurmd of a node is killed", log_of(job))
    end = done(job, 60)
    check(end.get("ExitCode") == "0:0" and right("killed.h5", "middle"), "and its job still ends right",
          (end, log_of(job)))


def link_down():
    """Nobody but the watchdog notices; srun's code is that of the ranks which it then kills."""
    job = start(["exec", "head", "--", *SRUN, "-w", "n1,n2,n3", "-N3", *BENCH, "--hang-timeout", "5s"])
    ranks_run(("n1", "n2", "n3"))
    on("n3", "ip", "link", "set", "eth0", "down")
    end = Ended(job, 15)
    check(end.code in (8, 137) and "rank 2 on n3 is awaited" in end.text and
          "task 0: Exited with exit code 8" in end.text, "a link is down: the rank behind it is named", end)
    on("n3", "ip", "link", "set", "eth0", "up")
    left = left_on(("head", "n1", "n2", "n3"), 20)
    check(not left, "a link is down: nothing is left once it is up again", left)


def planning():
    end = on("head", "damier", "plan", "--slurm", "A.h5", "A.h5", "--within", "10m")
    wanted = ["--partition=all", "--nodes=1", "--ntasks-per-node=1", "--cpus-per-task=2"]
    check(end.code == 0 and [line[8:] for line in end.text.splitlines()][1:5] == wanted,
          "the lines for this partition", end)
    for name, more, sizes in (("weak", ["--weak", "--together"], [512, 640]), ("strong", [], [512, 512])):
        end = on("head", JOB.replace("multiply.sbatch", "scaling.sh"), "--nodes", "1 2", "--size", "512",
                 "--repetitions", "1", *more, "-o", name, "--", "--ntasks-per-node=1")
        lines = (shared / name).read_text().splitlines() if end.code == 0 else []
        found = [(r["machine"]["ranks"], r["problem"]["m"]) for r in map(json.loads, lines)]
        check(found == list(zip((1, 2), sizes)), f"a series of {name} scaling", end)


def prepare(damier):
    (shared / "bin").mkdir()
    shutil.copy(damier, shared / "bin" / "damier")
    for name, size, kind in (("A", 1000, "f64"), ("middle", 2000, "c64"), ("big", 6000, "c64")):
        end = on("n1", "damier", "generate", f"{name}.h5:/a", "--size", str(size), "--type", kind, "-q")
        check(end.code == 0, f"matrix {name}", end)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--damier", required=True)
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
        limited = TimeLimit()
        for part in (jobs, wrong_launches, slow_links, planning, faults, limited.judge, link_down,
                     slurmd_killed):
            began = time.monotonic()
            part()
            print(f"    {getattr(part, '__qualname__', '')}: {time.monotonic() - began:.1f} s", flush=True)
    finally:
        if not options.keep:
            check(subprocess.run([CLUSTER, "down"]).returncode == 0 and not shared.exists(),
                  "all of the cluster is removed")
    print(f"{len(failures)} failed")
    sys.exit(1 if failures else 0)


main()
