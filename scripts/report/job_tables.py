"""The table and the picture of docs/results/jobs.md: real jobs by damier and by others (scripts/bench/jobs.py)."""
from summary_pictures import bars
from tables import grouped, median, origin, table

OURS = "damier"


def is_shared(records):
    """Other programs used the processors meanwhile; ways with threads of their own leave a load of one and a half per core."""
    return median([r["load"] for r in records]) > 1.5 * records[0]["machine"]["cores"]


def verdict_of(runs):
    """The worst of all runs."""
    wrong = [r["verdict"] for r in runs if r["verdict"] != "right"]
    return wrong[0] if wrong else "right"


def rows_of(records):
    named = set()
    for (job, way), runs in grouped(records, lambda r: (r["job"], r["way"])).items():
        yield ("" if job in named else f"**{job}**: {runs[0]['what']}", way, f"{median([r['seconds'] for r in runs]):.2f}",
               f"{median([r['processor_s'] for r in runs]):.2f}", max(r["peak_bytes"] for r in runs) >> 20, runs[0]["lines"],
               verdict_of(runs))
        named.add(job)


def jobs_table(records):
    head = ("job", "by", "time, s", "of processors, s", "peak, MiB", "lines", "result")
    shared = ["", "Other programs used the same processors: only the times of processors compare the ways."]
    first, runs = records[0], 1 + max(r["run"] for r in records)
    about = [f"Medians of at most {runs} runs" if runs > 1 else "One run of each", f"NumPy {first['numpy']}", f"h5py {first['h5py']}"]
    packages = {r["way"]: r["package"] for r in records if "package" in r}
    about += [f"{name} {number}" for name, number in packages.items()]
    scales = {r["scale"]: r["job"] for r in records}
    if set(scales) != {1}:
        about.append(f"dimensions times {min(scales)}" + (f", but for {scales[1]}" if 1 in scales else ""))
    measured = [{**r, "command": "scripts/bench/jobs.py"} for r in records]
    return (table(head, rows_of(records)) + (shared if is_shared(records) else []) + ["", ", ".join(about) + "."] +
            origin(measured))


def jobs_picture(records):
    """The time of the fastest other way that is right, in times of damier; below 1 damier loses."""
    what = "processor_s" if is_shared(records) else "seconds"
    groups = []
    for job, mine in grouped(records, lambda r: r["job"]).items():
        times = {way: median([r[what] for r in runs]) for way, runs in grouped(mine, lambda r: r["way"]).items()
                 if verdict_of(runs) == "right"}
        others = {way: t for way, t in times.items() if way != OURS}
        if OURS in times and others:
            best = min(others, key=others.get)
            groups.append((job, [(OURS, others[best] / times[OURS], f"{others[best] / times[OURS]:.1f} × {best}")]))
    kind = "processor time" if what == "processor_s" else "time"
    return bars(f"The best other's {kind} / damier's (1 = equal)", groups, (OURS,), mark=1.0)
