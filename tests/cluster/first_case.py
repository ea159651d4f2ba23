"""A product as a job of Slurm on four nodes, by srun and by mpirun: begin here."""
from nodes import JOB, check, done, log_of, right, submit


def jobs():
    for launcher in ("srun", "mpirun"):
        job = submit("-N4", "--ntasks-per-node=1", JOB, "A.h5", "A.h5", f"{launcher}.h5", LAUNCHER=launcher)
        end = done(job, 150)
        check(end.get("ExitCode") == "0:0" and end.get("JobState") in ("COMPLETED", "COMPLETING"),
              f"a job by {launcher} on 4 nodes", (end, log_of(job)))
        check("ranks=4" in log_of(job) and right(f"{launcher}.h5"), "and its C is right", log_of(job))
        # Two GPUs per node and an unspecified number of tasks are equivalent.
        job = submit("-N2", JOB, "A.h5", "A.h5", "more.h5", "--force", LAUNCHER=launcher, RANKS_PER_NODE="2")
        end = done(job, 150)
        check(end.get("ExitCode") == "0:0" and "ranks=4" in log_of(job), "more ranks than Slurm has tasks",
              (end, log_of(job)))
