"""Tables and pictures of whole commands, real jobs and files: scripts/bench/commands.py."""
import math

from bars import bars
from tables import (Table, at_most, beside, brief, code_of, estimate, grouped, machine_ranks, measured, median, origin, quotient, ratios, repeated,
                    spread, square)

# ---- whole commands: set user of scripts/bench/commands.py ----

def is_ours(way):
    return way.startswith(("damier", "mpirun"))


def is_idle(way):
    return way.startswith("hostname")


def machine_of(record):
    machine = record["machine"]
    limit = f" of which {machine['cpu_limit']:g} may be used" if machine["cpu_limit"] else ""
    return ", ".join([machine["device"], f"{machine['cores_allowed']} cores{limit}", machine["launcher"] or "no launcher"])


def fastest(g, wanted):
    """The record of the fastest way of those WANTED; None if there is none."""
    return min((r for r in g if wanted(r["way"]) and "error" not in r), key=lambda r: r["seconds"][0], default=None)


def against_the_best(g):
    ours, other = fastest(g, is_ours), fastest(g, lambda way: not is_ours(way) and not is_idle(way))
    return f"{ours['way']} / {other['way']}: {estimate(ratios(ours['turns'], other['turns']), 2)}" if ours and other else ""


def beside_numpy(name):
    """A column: seconds, and the ratio to NumPy's."""
    def cell(g):
        mine, numpy = g.way(name), g.way("numpy")
        if not mine:
            return "failed" if name in {r["way"] for r in g} else ""
        ratio = f"; {median(ratios(mine['turns'], numpy['turns'])):.2f}" if numpy and not is_idle(name) else ""
        return spread(mine["seconds"], 3) + ratio
    return cell


def columns_of_commands(records):
    names = sorted(dict.fromkeys(r["way"] for r in records), key=is_idle)  # the launcher alone at the end
    return {"m × n × k": "{shape}", "type": "{type}", "files": "{file_system}", "runs": lambda g: max(len(r["turns"]) for r in g),
            **{f"`{name}`, s": beside_numpy(name) for name in names}, "the best of damier / the best other": against_the_best}


def about_commands(records):
    libraries = dict.fromkeys(r["library"] for r in records if r["library"])
    about = "; ".join([machine_of(records[0]), *libraries, *dict.fromkeys(map(code_of, records))])
    commands = dict.fromkeys(r["command"] for r in records)
    return ["", f"Measured on: {about}.", "", *("    " + line for command in commands for line in command.strip().splitlines())]


COMMANDS = Table("results/whole_commands.md", "user", "user", columns_of_commands, each=machine_of, footer=about_commands,
                 by=(lambda r: r["shape"], lambda r: r["type"], lambda r: r["date"]))


def by_mpirun(g):
    launched = fastest(g, lambda way: way.startswith("mpirun"))
    return brief(launched["seconds"][0]) if launched else ""


def size_of(g):
    return math.prod(map(int, g["shape"].split(" x ")))


# The newest of each machine, product and type.
USER = Table("performance.md", "summary user", "user", {
    "machine": "{machine[cores]} cores", "m = n = k": lambda g: square(g["shape"]), "type": "{type}", "`damier`": "{damier.brief}",
    "fastest by `mpirun`": by_mpirun, "NumPy": "{numpy.brief}",
    "speed, relative to the fastest other": lambda g: f"{g.time('numpy') / g.time('damier'):.1f}\u00a0×"},
    by=(lambda r: r["machine"]["cores"], lambda r: r["shape"], lambda r: r["type"]), order=lambda g: (g.key[0], g["type"] != "f64", size_of(g)),
    keep=lambda g: g.way("damier") and g.way("numpy"), repeats=True,
    footer=lambda records: measured([r for r in records if is_ours(r["way"])], "`scripts/bench/commands.py user`"))


# ---- real jobs and packed chunks: sets of scripts/bench/commands.py ----

SHARED = "Other programs used the same processors: only the times of processors compare "


def is_shared(records):
    """Other programs used the processors meanwhile; ways with threads of their own leave a load of one and a half per core."""
    return median([r["load"][0] for r in records]) > 1.5 * records[0]["machine"]["cores"]


def name_of_job(g):
    """In the first of its rows."""
    return f"**{g['job']}**: {g['what']}" if g.key == next(key for key in g.others if key[0] == g["job"]) else ""


def about_jobs(records):
    first, runs = records[0], max(len(r["turns"]) for r in records)
    about = [f"Medians of at most {runs} runs" if runs > 1 else "One run of each", f"NumPy {first['numpy']}", f"h5py {first['h5py']}"]
    about += [f"{name} {number}" for name, number in {r["way"]: r["package"] for r in records if r.get("package")}.items()]
    scales = {r["scale"]: r["job"] for r in records}
    if set(scales) != {1}:
        about.append(f"dimensions times {min(scales)}" + (f", but for {scales[1]}" if 1 in scales else ""))
    return ((["", SHARED + "the ways."] if is_shared(records) else []) + ["", ", ".join(about) + "."]
            + origin([{**r, "scale": {}} for r in records]))


JOBS = Table("results/jobs.md", "jobs", "job", {
    "job": name_of_job, "by": "{way}", "time, s": "{seconds[0]:.2f}", "of processors, s": "{processor_s[0]:.2f}",
    "peak, MiB": lambda g: int(g["peak_bytes"][2]) >> 20, "lines": "{lines}", "result": "{verdict}"},
    by=(lambda r: r["job"], lambda r: r["way"]), footer=about_jobs)


def speed(by):
    return lambda g: f"{g['bytes'] / g.time(by) / 1e9:.2f}"


def busy(by):
    return lambda g: f"{g.time(by, what='processor_s') / g['bytes'] * 1e9:.2f}"


def reading(g):
    """h5py's time for reading alone relative to damier's, which multiplies contiguous files without reading them before."""
    taken = [g.way(name).get("read_s") for name in ("h5py", "damier")]
    return f"{taken[0][0] / taken[1][0]:.2f}" if all(taken) and "contiguous" not in g["packed"] else ""


CODECS = Table("results/files.md", "codecs", "codec", {
    "stored": "{packed}", "bytes / of the matrix": lambda g: f"{g['stored_bytes'] / g['bytes']:.2f}", "h5py, GB/s": speed("h5py"),
    "damier, GB/s": speed("damier"), "ratio": quotient("h5py", of="damier"),
    "ratio of reading alone": reading, "h5py, s of processors per GB": busy("h5py"), "damier": busy("damier")},
    by=(lambda r: r["packed"],), each=lambda r: (r["machine"]["device"], r["machine"]["cores"]), footer=lambda records: (
        ["", SHARED + "the two."] if is_shared(records) else []) + [
        "", f"{records[0]['machine']['cores']} processors; h5py {records[0]['h5py']} with hdf5plugin {records[0]['hdf5plugin']} reads with one"
        f"{'' if any('read_s' in r for r in records) else ' and does not multiply'}; medians, GB of the unpacked matrix.",
        *origin(records[:1])])


TALL = Table("results/symmetric.md", "summary many rows of files", "gram of files", {
    "X": lambda g: f"{300 * g['size']} × {g['size']}", "type": "{type}",
    "`damier gram`": "{gram.s:.3g}\u00a0s", "h5py with NumPy": "{h5py.s:.3g}\u00a0s", "ratio": "{gram.ratios}",
    "of processors' time": "{gram.processor_ratios}", "load": "{gram.load[0]:.1f}"}, by=(lambda r: r["type"], lambda r: r["size"]), footer=repeated)


# ---- several GPUs of a node ----

def size_of_node(g):
    m, _, k = g["product"].split(":")[1].partition("x")
    return f"{m} × {k} × {m}" if k else f"{m}³"


# Seconds of one GPU and of `mpirun -n 2` with version 0.2.0 (ca94eee1) on two H100, against which the goals of several GPUs were set.
BEFORE = {"f64:16384": (0.935, 1.602), "f64:16384x65536": (1.311, 1.981), "f64:32768": (2.464, 3.227)}


def before(ranks):
    return lambda g: brief(BEFORE[g["product"]][ranks - 1]) if g["product"] in BEFORE else ""


NODE = Table("performance.md", "summary node", "node", {
    "m × k × n": size_of_node, "type": lambda g: g["product"].split(":")[0], "`--gpus 1`": "{--gpus 1.brief}",
    "no option (GPUs chosen)": "{default.brief} ({default.ranks})", "`--gpus 2`, ratio": beside("--gpus 2", "--gpus 1"),
    "`mpirun -n 2`, ratio": beside("mpirun -n 2", "--gpus 1"),
    "one GPU, 0.2.0": before(1), "`mpirun -n 2`, 0.2.0": before(2)},
    by=(lambda r: r["product"],), footer=repeated)


INTERVALS = {"--checkpoint-interval 1s": "1 s", "--checkpoint": "60 s, the default"}
CHECKPOINT = Table("results/reliability.md", "checkpoint", "checkpoint", {
    "m × n × k": "{size} x {size} x {size}", "ranks": machine_ranks, "interval": lambda g: INTERVALS[g["way"]],
    "pairs": lambda g: len(g["turns"]), "time, s": lambda g: spread(g["seconds"], 2),
    "without, s": lambda g: spread(g.others[("--no-checkpoint",)]["seconds"], 2), "time / without": lambda g: spread(g["ratio"], 3),
    "goal": lambda g: at_most(g["ratio"][:1], 1.02)},
    by=(lambda r: r["way"],), keep=lambda g: g["way"] in INTERVALS, order=lambda g: "interval" in g["way"])
SOURCES = Table("results/files.md", "sources", "sources", {
    "files": "{files}", "stored": "{layout}", "as": "{way}", "of processors, s": "{processor_s[0]:.2f}",
    "relative to one file": "{processor_ratio[0]:.2f}", "time relative to one file": "{ratio[0]:.2f}"})

GENOTYPES = Table("howto/genotypes.md", "genotypes", "genotypes", {
    "samples": "{samples}", "variants": "{variants}", "missing": "{missing}", "by": "{way}", "of processors, s": "{processor_s[0]:.2f}",
    "relative to damier": lambda g: spread(g["processor_ratio"], 2)})

INSIDE = Table("hdf5.md", "inside", "inside", {
    "A": "{a}", "B": "{by}", "stored as": "{way}", "of processors, s": "{processor_s[0]:.2f}",
    "relative to plain": lambda g: spread(g["processor_ratio"], 2), "time relative to plain": lambda g: spread(g["ratio"], 2)})


TABLES = [COMMANDS, USER, NODE, JOBS, CODECS, TALL, CHECKPOINT, SOURCES, GENOTYPES, INSIDE]


# ---- pictures ----

def pair(records, what, *ours):
    """(what, seconds of damier's way, the first of OURS that is there, of the fastest other way, its name) of records of one case."""
    times = {r["way"]: r["seconds"][0] for r in records}
    mine = next(times[way] for way in ours if way in times)
    name = min((way for way in times if not is_ours(way) and not is_idle(way) and way not in ours), key=times.get)
    return what, mine, times[name], {"numpy": "NumPy"}.get(name, name)


def user_picture(records):
    """Squares in f64, the smallest and the largest; one that needs more memory than there is; the largest NumPy arrays on one GPU."""
    user = grouped([r for r in records if r["kind"] == "user" and r["type"] == "f64" and len(set(r["shape"].split(" x "))) == 1], size_of)
    few = [r for r in records if r["kind"] == "job" and r["job"] == "memory" and r["verdict"] == "right"]
    arrays = [r for r in records if r["kind"] == "arrays" and r["type"] == "f64"]
    size, large = max(r["size"] for r in arrays), user[max(user)]
    pairs = [*(pair(mine, f"{mine[0]['shape'].split()[0]} × {mine[0]['shape'].split()[0]} on {mine[0]['machine']['cores']} cores", "damier")
               for mine in (user[min(user)], large)),
             pair(few, f"6000 × 6000 on {few[0]['machine']['cores']} cores, larger than memory", "damier"),
             pair([r for r in arrays if r["size"] == size and r["way"] != "several GPUs"], f"{size} × {size}, NumPy arrays, on one GPU", "one GPU")]
    return bars("Time of a whole product (shorter is better)",
                [(f"{what}: {other / ours:.1f} times as fast",
                  [(True, ours, f"{brief(ours)} damier"), (False, other, f"{brief(other)} {name}")])
                 for what, ours, other, name in pairs])


def jobs_picture(records):
    """The time of the fastest other way that is right, in times of damier; below 1 damier loses."""
    mine = [r for r in records if r["kind"] == "job"]
    what, kind = ("processor_s", "processor time") if is_shared(mine) else ("seconds", "time")
    groups = []
    for job, runs in grouped(mine, lambda r: r["job"]).items():
        times = {r["way"]: r[what][0] for r in runs if r["verdict"] == "right"}
        ours = times.pop("damier", None)
        if ours and times:
            best = min(times, key=times.get)
            groups.append((job, [(True, times[best] / ours, f"{times[best] / ours:.1f} × {best}")]))
    return bars(f"fastest alternative's {kind} ÷ damier's (1 = equal)", groups, mark=1.0)


PICTURES = {"user": user_picture, "jobs": jobs_picture}
