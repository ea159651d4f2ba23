"""Jobs that succeed, or are stopped by time limits; plans and scaling series."""
import json
import re
import shutil
import threading
import time

from nodes import (JOB, RATE, ROOT, Ended, check, done, log_of, on, right, shared, show, start, submit, wait_for)


def starts():
    """Without the settings of launch.sh some ranks fail in MPI_Init of Open MPI 4 (docs/cluster.md)."""
    (shared / "often.sh").write_text(
        f"#!/bin/bash\nsource {JOB.rsplit('/', 1)[0]}/launch.sh\nLAUNCHER=srun choose_launcher 4\n"
        'for i in {1..16}; do "${launch[@]}" damier generate often.h5:/a --size 8 --force -q || exit; done\n')
    job = submit("-N4", "--ntasks-per-node=1", "--output=damier-%j.log", "often.sh", SLURM_PMIX_FENCE="")
    end = done(job, 240)
    check(end.get("ExitCode") == "0:0" and log_of(job).count("ranks=4") == 16, "sixteen starts by srun",
          (end, log_of(job)))


class TimeLimit(threading.Thread):
    """Slurm's own signal, some time after the start; runs alongside the other tests."""

    def __init__(self):
        super().__init__()
        self.seen = set()
        scripts = shared / "scripts"
        shutil.copytree(JOB.rsplit("/", 1)[0], scripts)
        with open(scripts / "env.sh", "a") as env:
            env.write(f"\necho start >>{shared}/starts\n")
        self.job = submit("-N1", "--ntasks-per-node=1", "-w", "n4", "--time=1", "--signal=B:USR1@50",
                          JOB, "big.h5", "big.h5", "never.h5", "--panel", "64", "--no-checkpoint", SCRIPTS=str(scripts),
                          OPENBLAS_CORETYPE="Prescott")
        self.start()

    def run(self):
        while show(self.job).get("JobState") in ("PENDING", "RUNNING", "REQUEUED", "COMPLETING"):
            if (shared / "never.h5").exists():
                self.seen.add("never.h5")
            time.sleep(0.3)

    def judge(self):
        self.join(240)
        end, log = show(self.job), log_of(self.job)
        check(end.get("ExitCode") == "75:0" and end.get("Restarts") == "1",
              "a job whose time is over ends with 75, and was requeued once", (end, log))
        check((shared / "starts").read_text() == "start\n" * 2, "it started twice")
        check(log.count("stopped early: SIGUSR1 arrived") == 2 and "== restart 1\n" in log,
              "it says why it stopped, and that it was started again", log)
        check(not self.seen and not list(shared.glob("never.h5*")), "it left no output")


def received(node):
    """Bytes received over the node's only cable; /sys would show the computer's."""
    return int(on(node, "cat", "/proc/net/dev").text.split("eth0:")[1].split()[0])


def slow_links():
    """Two nodes with two ranks each: transfers that the plan keeps inside nodes do not use the network, and the others are
    slow."""
    machine, grid = "nodes=2 ranks=2 network=0.025 link=5", "2x2x1"
    plan = on("head", "damier", "plan", "A.h5", "A.h5", "--machine", machine, "--grid", grid, "--json", "plan",
              "-q")
    wanted = json.loads((shared / "plan").read_text()) if plan.code == 0 else {}
    layout = ["run", "-H", "n1:2,n2:2", "-n", "4", "--", "damier"]

    def crossing(*command):
        """The outcome of the run, and the bytes that the nodes received from each other."""
        before = sum(received(node) for node in ("n1", "n2"))
        return Ended(start([*layout, *command]), 150), sum(received(node) for node in ("n1", "n2")) - before

    _, to_start = crossing("bench", "multiply", "--size", "64", "--repetitions", "1", "-q")
    end, between = crossing("multiply", "A.h5", "A.h5", "-o", "slow.h5", "--grid", grid, "--json", "slow")
    between -= to_start
    record = json.loads((shared / "slow").read_text()) if end.code == 0 else {}
    check(end.code == 0 and right("slow.h5"), "four ranks on two nodes", end)
    foreseen, moved = wanted["plan"]["between_nodes_bytes"], record["moved"]["between_ranks_bytes"]
    check(0 < 0.9 * foreseen <= between <= 1.3 * foreseen + 2e6 and moved == foreseen,
          f"{between} bytes crossed, foreseen were {foreseen:.0f} of {moved}")
    link = RATE * 1e6 / 8
    least, most = foreseen / 2 / link, 1.2 * link
    check(record["times"]["multiply_s"] > 0.8 * least,
          f"multiplying took {record['times']['multiply_s']} s, the links alone {least:.2f} s")
    rate = record["transport"]["proved_rate_between_nodes"]
    check(0 < rate < most, f"the report tells of {rate:.3g} bytes/s for a link of {link:.3g}")


def planning():
    end = on("head", "damier", "plan", "--slurm", "A.h5", "A.h5", "--within", "10m")
    wanted = ["--partition=all", "--nodes=1", "--ntasks-per-node=1", "--cpus-per-task=2"]
    check(end.code == 0 and [line[8:] for line in end.text.splitlines()][1:5] == wanted,
          "the lines for this partition", end)
    job = submit("-N2", "--ntasks-per-node=1", JOB.replace("multiply", "scale"), "--series", "strong,work",
                 "--size", "512", "--repetitions", "1", "--json", "scaling.jsonl")
    end = done(job, 150)
    lines = (shared / "scaling.jsonl").read_text().splitlines() if end.get("ExitCode") == "0:0" else []
    found = [(r["machine"]["ranks"], r["problem"]["m"]) for r in map(json.loads, lines)]
    check(found == [(1, 512), (2, 512), (1, 512), (2, 645)], "strong and weak scaling", (end, log_of(job)))


def array_of(page, tasks, **more):
    """Runs the job script of a how-to page as an array of TASKS, small enough for these nodes; the output of each task."""
    script = re.search(r"^```bash\n(.*?)^```$", (ROOT / "docs/howto" / page).read_text(), re.M | re.S)[1]
    (shared / "array.sh").write_text(script)
    job = submit(f"--array={tasks}", "--cpus-per-task=1", "--mem=400M", "--output=array-%A_%a.log", "array.sh", **more)
    wait_for(lambda: not on("head", "squeue", "--noheader", "-j", job).text.strip(), 150)
    ends = re.findall(r"ExitCode=(\S+)", on("head", "scontrol", "show", "job", job).text)
    logs = {path.name.split("_")[1][:-4]: path.read_text() for path in shared.glob(f"array-{job}_*.log")}
    check(len(ends) == len(logs) and set(ends) == {"0:0"}, f"all {len(ends)} tasks of the array of {page}", (ends, logs))
    return logs


def arrays():
    """The arrays of the pages: a part of a list for each task, also numbered from 1, and a product for each task."""
    for name in ("in", "out"):
        (shared / name).mkdir()
    names = [f"in/A_{i:03}.h5" for i in range(5)] + ["B.h5"]
    for seed, name in enumerate(names):
        end = on("n1", "damier", "generate", f"{name}:/a", "--size", "200", "--seed", str(seed), "-q")
        check(end.code == 0, name, end)
    (shared / "jobs.txt").write_text("".join(f"multiply {name} B.h5 -o L{i}.h5\n" for i, name in enumerate(names[:5])))
    for tasks in ("0-2", "1-3"):
        logs = array_of("job_lists.md", tasks)
        ran = sorted(int(count) for log in logs.values() for count in re.findall(r"run jobs=(\d+) done=\1", log))
        check(ran == [1, 2, 2] and all(right(f"L{i}.h5", name[:-3], "B") for i, name in enumerate(names[:5])),
              f"tasks {tasks} share five products", logs)
        for i in range(5):
            (shared / f"L{i}.h5").unlink()
    array_of("job_arrays.md", "0-4%2")
    records = [json.loads((shared / f"out/record_{i:03}.json").read_text()) for i in range(5)]
    check(all(right(f"out/C_{i:03}.h5", names[i][:-3], "B") for i in range(5)) and len(records) == 5,
          "a product and a record of each task")
