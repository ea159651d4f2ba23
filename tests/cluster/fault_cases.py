"""Wrong launches, and ranks, daemons and links that fail during a multiplication."""
import signal
import subprocess

from nodes import (JOB, Ended, check, done, left_on, log_of, on, right, send, shared, start, submit, text_of,
                   wait_for)

BENCH = ["damier", "bench", "multiply", "--size", "512", "--repetitions", "1000000", "--no-verify"]
SRUN = ["srun", "--mpi=pmix", "--kill-on-bad-exit=1", "--wait=60", "--ntasks-per-node=1"]


def wrong_launches():
    end = on("head", "srun", "-N4", "--ntasks-per-node=1", "--mpi=none", "damier", "generate", "W.h5",
             "--size", "10")
    check(end.code == 9 and end.text.count("damier: error") == 1 and "MPI sees only one" in end.text,
          "4 tasks that each believe to be alone: exit 9, one message", end)
    program = (shared / "bin" / "damier").read_bytes()
    old = subprocess.run([shared / "bin" / "damier", "--version"], capture_output=True, text=True).stdout
    old = old.splitlines()[0].split("damier ")[1].encode()
    (shared / "other").write_bytes(program.replace(old, b"9" + old[1:]))
    (shared / "other").chmod(0o755)
    end = Ended(start(["run", "-H", "n1", "-n", "1", "--", "damier", "generate", "W.h5", "--size", "10", ":",
                       "-H", "n2", "-n", "1", str(shared / "other"), "generate", "W.h5", "--size", "10"]), 60)
    check(end.code == 9 and end.text.count("damier: error") == 1 and "rank 1 on n2 is damier 9" in end.text,
          "different versions on two nodes: exit 9, one message", end)
    on("n1", "cp", "A.h5", "/tmp/A.h5")
    end = Ended(start(["run", "--", "damier", "multiply", "/tmp/A.h5", "A.h5", "-o", "W.h5"]), 60)
    check(end.code == 3 and end.text.count("damier: error") == 1 and "file system that all nodes share" in
          end.text and not list(shared.glob("W.h5*")), "an input on one node only: exit 3, one message", end)


def multiplies(job):
    """Whether JOB's progress shows that all its ranks have met."""
    return "damier: multiplying" in text_of(job)


def fault(what, command, strike, codes, seconds, said="", nodes=("n1", "n2", "n3")):
    """Strikes COMMAND while it multiplies: it ends with one of CODES in SECONDS, and leaves nothing behind."""
    job = start(command)
    if not wait_for(lambda: multiplies(job), 90):
        check(False, f"{what}: it multiplies", Ended(job, 1))
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
        fault(f"{name}, a rank is killed", [*launch, *BENCH], lambda: send("n2", signal.SIGKILL, "damier-bench"),
              (137,), 30)
    fault("mpirun, its daemon is killed", [*mpirun, *BENCH], lambda: send("n3", signal.SIGKILL, "orted"),
          (137, 205), 30)
    fault("mpirun, a rank is stopped", [*mpirun, *BENCH, "--hang-timeout", "20s"],
          lambda: send("n3", signal.SIGSTOP, "damier-bench"), (8,), 60, "rank 2 on n3 does not respond")
    # Slurm is slow to notice that a step's daemon is gone, and the rank's output goes through it: the rank informs
    # the others, long before the watchdog, which would wait for ten minutes. The first rank that ends makes srun kill
    # the step; srun then returns 137 unless another rank has ended by then.
    for rank, node in ((2, "n3"), (0, "n1")):
        fault(f"srun, its daemon for rank {rank} is killed", [*srun, *BENCH],
              lambda: send(node, signal.SIGKILL, "slurmstepd"), (9, 137), 60,
              f"damier: error: the launcher of rank {rank} on {node}, slurmstepd, is gone")


def link_down():
    """Every rank ends with 8, and so do srun and the job. mpirun itself does not end: it waits for its daemon behind the
    link until the kernel gives up sending, unless keepalive detects the failure first."""
    keepalive = {f"OMPI_MCA_oob_tcp_keepalive_{name}": value
                 for name, value in (("time", "3"), ("intvl", "2"), ("probes", "2"))}
    job = submit("-N2", "-w", "n2,n3", "--ntasks-per-node=1", JOB, "big.h5", "big.h5", "down.h5", "--grid", "2x1x1",
                 "--panel", "64", "--hang-timeout", "10s", LAUNCHER="srun", OPENBLAS_CORETYPE="Prescott")
    direct = start(["exec", "head", "--", *SRUN, "--wait=20", "-w", "n1,n3", "-N2", *BENCH, "--hang-timeout", "5s"])
    mpirun = start(["run", "-H", "n1,n2,n3", "-n", "3", "--", *BENCH, "--hang-timeout", "20s"], **keepalive)
    up = wait_for(lambda: multiplies(direct) and multiplies(mpirun) and "damier: multiplying" in log_of(job), 90)
    check(up, "three jobs run over the link", (text_of(direct), text_of(mpirun), log_of(job)))
    on("n3", "ip", "link", "set", "eth0", "down")
    # srun may wait --wait=20 (the job: 60) longer for processes behind the link.
    ends = [Ended(direct, 60), Ended(mpirun, 15)]
    check(ends[0].code == 8 and "rank 1 on n3 does not respond" in ends[0].text and
          "task 0: Exited with exit code 8" in ends[0].text, "a link is down: srun ends with 8", ends[0])
    check(ends[1].code == 205 and "n3" in ends[1].text, "and mpirun, with keepalive, with 205", ends[1])
    end = done(job, 200)
    check(end.get("ExitCode") == "8:0" and "rank 1 on n3 does not respond" in log_of(job), "and the job with 8",
          (end, log_of(job)))
    on("n3", "ip", "link", "set", "eth0", "up")
    left = left_on(("head", "n1", "n2", "n3"), 120)
    check(not left, "nothing is left once it is up again", left)
    check(not (shared / "down.h5").exists(), "and no file looks complete")


def slurmd_killed():
    job = submit("-N2", "-w", "n1,n2", "--ntasks-per-node=1", JOB, "middle.h5", "middle.h5", "killed.h5",
                 "--panel", "64", LAUNCHER="srun", OPENBLAS_CORETYPE="Prescott")
    started = wait_for((shared / "killed.h5.part").exists)
    check(started and send("n2", signal.SIGKILL, "slurmd") == 1, "slurmd of a node is killed", log_of(job))
    end = done(job, 150)
    check(end.get("ExitCode") == "0:0" and right("killed.h5", "middle"), "and its job still ends right",
          (end, log_of(job)))
