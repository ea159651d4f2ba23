"""Tables of docs/performance.md from `bench scale` and `bench links`."""
from tables import estimate, machine_ranks, origin, table

MEGA, GIGA = 2**20, 1e9
SERIES = {"strong": "the same product", "memory": "the same memory of each rank", "work": "the same work of each rank"}


def of_whole_job(record):
    """Some of its ranks multiplied; the command started them all."""
    return {**record, "machine": {**record["machine"], "ranks": record["scale"]["job_ranks"]}}


def device(record):
    return "GPUs" if record["machine"]["backend"] == "cuda" else "CPU"


def scaling(records):
    """What ranks give, beside the fewest of them."""
    rows = []
    for r in records:
        s = r["scale"]
        low, high = s["efficiency_ci95_low"], s["efficiency_ci95_high"]
        rows.append((SERIES[s["series"]], device(r), machine_ranks(r), r["problem"]["shape"], r["problem"]["work"],
                     r["plan"]["grid"], s["variant"], len(r["repetitions"]["multiply_s"]),
                     estimate(r["repetitions"]["multiply_s"], 4), f"{s['speedup']:.2f}",
                     f"{s['efficiency']:.3f} [{low:.3f}, {high:.3f}]"))
    head = ("series", "on", "ranks", "m × n × k", "type", "grid", "how", "runs", "time, s", "speed-up", "efficiency")
    return table(head, rows) + origin([of_whole_job(r) for r in records])


def size(count):
    return f"{count // MEGA} MiB" if count >= MEGA else f"{count // 1024} KiB" if count >= 1024 else f"{count} B"


def pairs(records):
    """Rates of all pairs of ranks, by transport and size."""
    rows = []
    for r in records:
        rates = [[r["rates"][f"{way}_{which}_Bps"] / GIGA for which in ("median", "least", "most")]
                 for way in ("one_way", "both_ways", "together")]
        rows.append((r["transport"]["name"], device(r), machine_ranks(r), size(r["bench"]["bytes"]),
                     r["bench"]["repetitions"], *(f"{m:.2f} [{a:.2f}, {b:.2f}]" for m, a, b in rates)))
    head = ("transport", "on", "ranks", "pieces", "runs", "one way, alone, GB/s", "both ways, GB/s",
            "both ways, all ranks in pairs, GB/s")
    return table(head, rows) + origin(records)
