"""Tables of docs/ with a layout of their own: whole commands, real jobs, packed chunks, kernels."""
import pathlib

from tables import Lines, code_of, estimate, grouped, median, medians, origin, ratios, table


# ---- whole commands: scripts/bench/user_runs.py ----

def is_ours(row):
    return row.startswith(("damier", "mpirun"))


def is_idle(row):
    return row.startswith("hostname")


def machine_of(record):
    machine = record["machine"]
    cores = f"{machine['cores_allowed']} cores"
    if machine["cpu_limit"]:
        cores += f" of which {machine['cpu_limit']:g} may be used"
    gpus = [f"{len(machine['gpus'])} GPUs"] if machine["gpus"] else []
    return ", ".join([machine["device"], cores, *gpus, machine["launcher"] or "no launcher"])


def set_of(record):
    """Identifies sets; the rows of a set alternated."""
    return record["problem"]["shape"], record["problem"]["work"], record["date"]


def has_gpu_rows(records):
    """Whether a row of the set used a GPU: damier, which does if it is faster, or another program."""
    return any(r["row"] in ("cupy", "torch") or r["damier"] and r["damier"]["machine"]["backend"] == "cuda" for r in records)


def against_the_best(times):
    ours = min(filter(is_ours, times), key=lambda row: median(times[row]), default=None)
    other = min((row for row in times if not is_ours(row) and not is_idle(row)), key=lambda row: median(times[row]), default=None)
    return f"{ours} / {other}: {estimate(ratios(times[ours], times[other]), 2)}" if ours and other else ""


def row_of_set(records, names):
    """Seconds, and the ratio to NumPy's."""
    times = {r["row"]: r["repetitions"]["command_s"] for r in records if r["repetitions"]["command_s"]}
    failed, one, reference = {r["row"] for r in records if r["error"]}, records[0], times.get("numpy")

    def cell(name):
        if name in failed or name not in times:
            return "failed" if name in failed else ""
        ratio = f"; {median(ratios(times[name], reference)):.2f}" if reference and not is_idle(name) else ""
        return estimate(times[name], 3) + ratio

    return (one["problem"]["shape"], one["problem"]["work"], one["file_system"], max(map(len, times.values()), default=0), *map(cell, names),
            against_the_best({name: of for name, of in times.items() if name not in failed}))


def whole_commands(records):
    """One table for each machine, or two: with products on its GPU, and on its CPU."""
    lines = []
    for sets in grouped(grouped(records, lambda r: (machine_of(r), set_of(r))).values(),
                        lambda mine: (machine_of(mine[0]), has_gpu_rows(mine))).values():
        mine = [record for group in sets for record in group]
        names = sorted(dict.fromkeys(r["row"] for r in mine), key=is_idle)  # the launcher alone at the end
        head = ("m × n × k", "type", "files", "runs", *(f"`{name}`, s" for name in names), "the best of damier / the best other")
        libraries = dict.fromkeys(r["machine"]["library"] for r in mine if r["machine"]["library"])
        about = "; ".join([machine_of(mine[0]), *libraries, *dict.fromkeys(map(code_of, mine))])
        commands = dict.fromkeys(r["command"] for r in mine)
        lines += [""] * bool(lines) + table(head, [row_of_set(group, names) for group in sets]) + [
            "", f"Measured on: {about}.", "", *("    " + line for command in commands for line in command.rstrip().splitlines())]
    return lines


# ---- real jobs and packed chunks: scripts/bench/jobs.py, codecs.py ----

SHARED = "Other programs used the same processors: only the times of processors compare "


def is_shared(records):
    """Other programs used the processors meanwhile; ways with threads of their own leave a load of one and a half per core."""
    return median([r["load"] for r in records]) > 1.5 * records[0]["machine"]["cores"]


def verdict_of(runs):
    """The worst of all runs."""
    return next((r["verdict"] for r in runs if r["verdict"] != "right"), "right")


def rows_of_jobs(records):
    named = set()
    for (job, way), runs in grouped(records, lambda r: (r["job"], r["way"])).items():
        yield ("" if job in named else f"**{job}**: {runs[0]['what']}", way, f"{median([r['seconds'] for r in runs]):.2f}",
               f"{median([r['processor_s'] for r in runs]):.2f}", max(r["peak_bytes"] for r in runs) >> 20, runs[0]["lines"],
               verdict_of(runs))
        named.add(job)


def jobs(records):
    first, runs = records[0], max(map(len, grouped(records, lambda r: (r["job"], r["way"])).values()))
    about = [f"Medians of at most {runs} runs" if runs > 1 else "One run of each", f"NumPy {first['numpy']}", f"h5py {first['h5py']}"]
    about += [f"{name} {number}" for name, number in {r["way"]: r["package"] for r in records if "package" in r}.items()]
    scales = {r["scale"]: r["job"] for r in records}
    if set(scales) != {1}:
        about.append(f"dimensions times {min(scales)}" + (f", but for {scales[1]}" if 1 in scales else ""))
    return (table(("job", "by", "time, s", "of processors, s", "peak, MiB", "lines", "result"), rows_of_jobs(records))
            + (["", SHARED + "the ways."] if is_shared(records) else []) + ["", ", ".join(about) + "."]
            + origin([{**r, "command": "scripts/bench/jobs.py", "scale": {}} for r in records]))


def rows_of_codecs(records):
    for way, runs in grouped(records, lambda r: r["way"]).items():
        size = runs[0]["bytes"]
        took, busy = (medians(runs, lambda r: r["by"], lambda r, what=what: r[what]) for what in ("seconds", "processor_s"))
        yield (way, f"{runs[0]['stored_bytes'] / size:.2f}", *(f"{size / took[by] / 1e9:.2f}" for by in ("h5py", "damier")),
               f"{took['h5py'] / took['damier']:.2f}", *(f"{busy[by] / size * 1e9:.2f}" for by in ("h5py", "damier")))


def codecs(records):
    """One for each machine."""
    lines = []
    head = ("stored", "bytes / of the matrix", "h5py, GB/s", "damier, GB/s", "ratio", "h5py, s of processors per GB", "damier")
    for (_, cores), mine in grouped(records, lambda r: (r["machine"]["device"], r["machine"]["cores"])).items():
        first = mine[0]
        lines += table(head, rows_of_codecs(mine)) + (["", SHARED + "the two."] if is_shared(mine) else []) + [
            "", f"{cores} processors; h5py {first['h5py']} with hdf5plugin {first['hdf5plugin']} reads with one; "
            "medians, GB of the unpacked matrix.",
            *origin([{**first, "command": "scripts/bench/codecs.py"}]), ""]
    return lines[:-1]


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
    for kind in ("f32", "f64", "bf16"):
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


def goal_of(record):
    """The share of cuBLAS that our fastest kernel should reach in squares; None: no goal."""
    p, kind = record["problem"], record["kernel"]["type"]
    if p["accumulate"] or p["pad"] or not p["m"] == p["n"] == p["k"] in (512, 1024, 8192, 16384):
        return None
    return (GOALS_SMALL if p["m"] <= 1024 else GOALS if record["yardstick"]["name"] == "cublas" else GOALS_ALONG_K).get(kind)


def share(record, goal):
    """Of the other's speed, and whether the goal was reached."""
    y = record["yardstick"]
    reached = "" if goal is None else f"{'met' if y['share_ci95_high'] >= goal else 'missed'} (≥ {goal:.2f})"
    return f"{y['share_median']:.3f} [{y['share_ci95_low']:.3f}, {y['share_ci95_high']:.3f}]", reached


def best_kernels(records):
    """Our fastest kernel for each type and size."""
    def key(r):
        p, kind = r["problem"], r["kernel"]["type"]
        return (TYPES.index(kind) if kind in TYPES else len(TYPES), p["accumulate"], r["yardstick"]["name"],
                p["m"] * p["n"] * p["k"], p["shape"], p["pad"])

    def number(value, scale):
        return "" if value is None else f"{value * scale:.0f}"

    rows = []
    for _, r in sorted(fastest([r for r in gemms(records) if not r["kernel"]["name"].startswith("cublas")
                                and r["problem"]["m"] >= 512], key).items()):
        p, s, along_k = r["problem"], r["sensors"], r["yardstick"]["name"] != "cublas"
        shape = p["shape"] + (f", rows + {p['pad']}" if p["pad"] else "") + (", C += A B" if p["accumulate"] else "")
        rows.append((r["kernel"]["type"], shape, f"`{r['kernel']['name']}`", rate(r),
                     f"{p['flops'] / r['times']['yardstick_median_s'] / 1e12:.1f}" + (" (B along k)" if along_k else ""),
                     *share(r, goal_of(r)),
                     number(r["roof"]["share"], 100), number(s["clock_hz"], 1e-6), number(s["power_w"], 1)))
    head = ("type", "m × n × k", "kernel", "TFLOP/s", "cuBLAS", "speed / cuBLAS'", "goal", "% of roof", "MHz", "W")
    return table(head, rows) + origin(gemms(records)) if rows else []


def helpers(records):
    rows = [(f"`{r['kernel']['name']}`", r["kernel"]["type"], f"{r['problem']['m']} × {r['problem']['n']}",
             f"{r['rates']['bytes'] / 1e12:.2f}", r["yardstick"]["name"], *share(r, 0.90)) for r in records if r["kernel"]["op"] != "gemm"]
    return table(("kernel", "type", "m × n", "TB/s", "against", "speed / its speed", "goal"), rows) if rows else []


TABLES = [Lines("results/whole_commands.md", "user", "user", whole_commands), Lines("results/jobs.md", "jobs", "job", jobs),
          Lines("hdf5.md", "codecs", "codec", codecs), Lines("results/kernels.md", "best", "bench kernels", best_kernels),
          Lines("results/kernels.md", "helpers", "bench kernels", helpers),
          Lines("../kernels/README.md", "rungs", "ladder", rungs, repeats=True)]
