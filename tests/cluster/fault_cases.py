"""Wrong launches, and ranks, daemons and links that fail while a job multiplies."""
import signal
import subprocess
import time

from nodes import (JOB, Ended, check, done, left_on, log_of, on, processes, right, send, shared, start, submit,
                   wait_for)

BENCH = ["damier", "bench", "multiply", "--size", "512", "--repetitions", "1000000", "--no-verify", "-q"]
SRUN = ["srun", "--mpi=pmix", "--kill-on-bad-exit=1", "--wait=5", "--ntasks-per-node=1"]


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


def slurmd_killed():
    job = submit("-N2", "-w", "n1,n2", "--ntasks-per-node=1", JOB, "middle.h5", "middle.h5", "killed.h5",
                 "--panel", "64", LAUNCHER="srun", OPENBLAS_CORETYPE="Prescott")
    started = wait_for((shared / "killed.h5.part").exists)
    check(started and send("n2", signal.SIGKILL, "slurmd") == 1, "slurmd of a node is killed", log_of(job))
    end = done(job, 60)
    check(end.get("ExitCode") == "0:0" and right("killed.h5", "middle"), "and its job still ends right",
          (end, log_of(job)))
