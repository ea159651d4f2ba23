"""Tables of docs/ about whole commands, real jobs, packed chunks and kernels."""
import pathlib

from tables import Lines, Table, code_of, commit_of, estimate, grouped, median, origin, quotient, ratios, spread, table


# ---- whole commands: set user of scripts/bench/commands.py ----

def is_ours(way):
    return way.startswith(("damier", "mpirun"))


def is_idle(way):
    return way.startswith("hostname")


def machine_of(record):
    machine = record["machine"]
    cores = f"{machine['cores_allowed']} cores"
    if machine["cpu_limit"]:
        cores += f" of which {machine['cpu_limit']:g} may be used"
    gpus = [f"{len(machine['gpus'])} GPUs"] if machine["gpus"] else []
    return ", ".join([machine["device"], cores, *gpus, machine["launcher"] or "no launcher"])


def set_of(record):
    """Identifies sets, whose ways alternated."""
    return record["shape"], record["type"], record["date"]


def has_gpu_rows(records):
    """Whether a way of the set used a GPU: damier, which does if it is faster, or another program."""
    return any(r["way"] in ("cupy", "torch") or r.get("backend") == "cuda" for r in records)


def against_the_best(ways):
    ours = min(filter(is_ours, ways), key=lambda way: ways[way]["seconds"][0], default=None)
    other = min((way for way in ways if not is_ours(way) and not is_idle(way)), key=lambda way: ways[way]["seconds"][0], default=None)
    return f"{ours} / {other}: {estimate(ratios(ways[ours]['turns'], ways[other]['turns']), 2)}" if ours and other else ""


def row_of_set(records, names):
    """Seconds, and the ratio to NumPy's."""
    failed, ways, one = {r["way"] for r in records if "error" in r}, {r["way"]: r for r in records if "error" not in r}, records[0]

    def cell(name):
        if name not in ways:
            return "failed" if name in failed else ""
        ratio = f"; {median(ratios(ways[name]['turns'], ways['numpy']['turns'])):.2f}" if "numpy" in ways and not is_idle(name) else ""
        return spread(ways[name]["seconds"], 3) + ratio

    return (one["shape"], one["type"], one["file_system"], max(len(r["turns"]) for r in records), *map(cell, names), against_the_best(ways))


def whole_commands(records):
    """One table for each machine, or two: with products on its GPU, and on its CPU."""
    lines = []
    for sets in grouped(grouped(records, lambda r: (machine_of(r), set_of(r))).values(),
                        lambda mine: (machine_of(mine[0]), has_gpu_rows(mine))).values():
        mine = [record for group in sets for record in group]
        names = sorted(dict.fromkeys(r["way"] for r in mine), key=is_idle)  # the launcher alone at the end
        head = ("m × n × k", "type", "files", "runs", *(f"`{name}`, s" for name in names), "the best of damier / the best other")
        libraries = dict.fromkeys(r["library"] for r in mine if r["library"])
        about = "; ".join([machine_of(mine[0]), *libraries, *dict.fromkeys(map(code_of, mine))])
        commands = dict.fromkeys(r["command"] for r in mine)
        lines += [""] * bool(lines) + table(head, [row_of_set(group, names) for group in sets]) + [
            "", f"Measured on: {about}.", "", *("    " + line for command in commands for line in command.strip().splitlines())]
    return lines


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


# ---- kernels: damier bench kernels ----

RUNGS = pathlib.Path(__file__).resolve().parents[2] / "kernels/ladder"
BAR = 40  # characters of the longest bar
TYPES = ("f32", "f64", "tf32", "f16", "bf16", "i8")
GOALS = {"f32": 0.95, "f64": 0.95, "bf16": 1.00, "f16": 1.00}  # share of cuBLAS at 8192 and 16384
GOALS_ALONG_K = {"tf32": 0.93, "i8": 0.93}
GOALS_SMALL = {"f32": 0.95, "bf16": 0.95}  # at 512 and 1024


def gemms(records):
    return [r for r in records if r["kernel"]["op"] == "gemm" and r.get("timing", {}).get("pairs", 0) > 0]


def teraflops(record):
    return record["rates"]["flops"] / 1e12


def rate(record):
    return f"{teraflops(record):.{2 if teraflops(record) < 100 else 0}f}"


def fastest(records, key):
    """{key: the fastest record}"""
    return {k: max(mine, key=teraflops) for k, mine in grouped(records, key).items()}


def number_of_rung(name):
    """The number of a kernel's file, or nothing; tiled_32 is in the file of tiled."""
    files = sorted(RUNGS.glob(f"??_{name}.cu")) or sorted(RUNGS.glob(f"??_{name.rsplit('_', 1)[0]}.cu"))
    return files[0].name[:2] if files else "  "


def rungs(records):
    """A bar of TFLOP/s for each rung at N = 8192, by type, of one machine."""
    mine = [r for r in gemms(records) if r["problem"]["shape"] == "8192 x 8192 x 8192" and r["problem"]["pad"] == 0
            and not r["problem"]["accumulate"] and r["yardstick"]["name"] == "cublas" and r["kernel"]["name"] != "cublaslt"]
    lines = []
    for kind in ("f32", "f64", "f16", "bf16"):
        best = fastest([r for r in mine if r["kernel"]["type"] == kind], lambda r: r["kernel"]["name"])
        if not best:
            continue
        longest = max(map(teraflops, best.values()))
        lines += [f"{kind}, 8192 x 8192 x 8192, TFLOP/s on one {mine[0]['machine']['device']}:", "", "```"]
        for name in sorted(best, key=lambda n: (number_of_rung(n) == "  ", number_of_rung(n), n)):
            eighths = round(teraflops(best[name]) / longest * BAR * 8)
            bar = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip() or "▏"
            lines.append(f"{number_of_rung(name)} {name:22} {bar} {rate(best[name])}")
        lines += ["```", ""]
    return lines[:-1] + origin(mine)


def compiled(records):
    """What exact sizes gain: jit beside the same kernel from the build, both of one commit; of several, the last in the file."""
    mine = [r for r in gemms(records) if r["kernel"]["name"] in ("tiled_32", "jit")]
    pairs = {}
    for (kind, shape, _), both in grouped(mine, lambda r: (r["kernel"]["type"], r["problem"]["shape"], commit_of(r))).items():
        best = fastest(both, lambda r: r["kernel"]["name"])
        if len(best) == 2:
            pairs[kind, shape] = best["tiled_32"], best["jit"]
    rows = [(*case, rate(built), rate(jit), f"{teraflops(jit) / teraflops(built):.2f}") for case, (built, jit) in pairs.items()]
    used = [record for pair in pairs.values() for record in pair]
    return table(("type", "m × n × k", "`tiled_32`, TFLOP/s", "`jit`, TFLOP/s", "gain"), rows) + (origin(used) if used else [])


def goal_of(record):
    """The share of cuBLAS that our fastest kernel should reach in squares; None: no goal."""
    p, kind = record["problem"], record["kernel"]["type"]
    if p["accumulate"] or p["pad"] or not p["m"] == p["n"] == p["k"] in (512, 1024, 8192, 16384):
        return None
    return (GOALS_SMALL if p["m"] <= 1024 else GOALS if record["yardstick"]["name"] == "cublas" else GOALS_ALONG_K).get(kind)


def share(record):
    """Of the other's speed."""
    y = record["yardstick"]
    return spread([y[f"share_{which}"] for which in ("median", "ci95_low", "ci95_high")], 3)


def reached(record, goal):
    return "" if goal is None else f"{'met' if record['yardstick']['share_ci95_high'] >= goal else 'missed'} (≥ {goal:.2f})"


def case_of(r):
    """What the kernels of a row have in common, in the order of rows."""
    p, kind = r["problem"], r["kernel"]["type"]
    return (TYPES.index(kind) if kind in TYPES else len(TYPES), p["accumulate"], r["yardstick"]["name"], p["m"] * p["n"] * p["k"], p["shape"],
            p["pad"])


def shape_of_kernel(r):
    p = r["problem"]
    return p["shape"] + (f", rows + {p['pad']}" if p["pad"] else "") + (", C += A B" if p["accumulate"] else "")


def library_rate(r):
    rate_of_library = r["problem"]["flops"] / r["times"]["yardstick_median_s"] / 1e12
    return f"{rate_of_library:.1f}" + (" (B along k)" if r["yardstick"]["name"] != "cublas" else "")


def number(part, name, scale):
    return lambda r: "" if r[part][name] is None else f"{r[part][name] * scale:.0f}"


def of_fastest(columns):
    return {head: lambda g, text=text: text(max(g, key=teraflops)) for head, text in columns.items()}


KERNEL = {"kernel": lambda r: f"`{r['kernel']['name']}`"}
TYPE = {"type": lambda r: r["kernel"]["type"]}
BEST = Table("results/kernels.md", "best", "bench kernels", of_fastest(TYPE | {"m × n × k": shape_of_kernel} | KERNEL | {
    "TFLOP/s": rate, "cuBLAS": library_rate, "speed / cuBLAS'": share, "goal": lambda r: reached(r, goal_of(r)),
    "% of roof": number("roof", "share", 100), "MHz": number("sensors", "clock_hz", 1e-6), "W": number("sensors", "power_w", 1)}),
    by=(case_of,), order=lambda g: g.key, among=lambda records: [
        r for r in gemms(records) if not r["kernel"]["name"].startswith("cublas") and r["problem"]["m"] >= 512],
    footer=lambda records: origin(gemms(records)))
HELPERS = Table("results/kernels.md", "helpers", "bench kernels", KERNEL | TYPE | {
    "m × n": "{problem[m]} × {problem[n]}", "TB/s": lambda g: f"{g['rates']['bytes'] / 1e12:.2f}", "against": "{yardstick[name]}",
    "speed / its speed": share, "goal": lambda g: reached(g, 0.90)},
    among=lambda records: [r for r in records if r["kernel"]["op"] != "gemm"], footer=lambda _: [])

TABLES = [Lines("results/whole_commands.md", "user", "user", whole_commands), JOBS, CODECS, BEST, HELPERS,
          Lines("../kernels/README.md", "rungs", "ladder", rungs, repeats=True),
          Lines("../kernels/README.md", "jit", "ladder", compiled, repeats=True)]
