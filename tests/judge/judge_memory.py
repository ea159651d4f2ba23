"""memory: matrices that exceed a rank's memory limit, so that C is computed in tiles and A and B are read repeatedly;
the memory of the processes is measured."""
import judging
from judging import Case
from running import EMULATED, Failure, expect, options, process_mib, records_of, run_cases

LIMIT, WIDE = 6, 44  # MiB per rank in addition to the process's own memory: little, and little for
                     # types that are widened in pieces


def quick():
    wide = [Case(2100, 1900, 120, ranks=r) for r in (1, 2, 4)]
    deep = [Case(210, 190, 12000, ranks=r) for r in (1, 3)]
    equations = [Case(900, 1100, 200, op_a=a, op_b=b, ranks=r, alpha=-1.25, beta=0.75, old="f64")
                 for a, b, r in (("t", "n", 1), ("n", "t", 2), ("t", "t", 4))]
    types = [Case(1000, 800, 150, dtype="c128", op_a="c", op_b="t", alpha=1j, beta=2, old="c128", ranks=2),
             Case(2500, 1900, 140, dtype="f32", ranks=3),
             Case(3000, 2500, 70, dtype="bf16", op_b="t", ranks=1),
             Case(3000, 2500, 70, dtype="i8", alpha=3, beta=-7, old="i32", ranks=1)]
    cuts = [Case(4000, 3500, 600, dtype="f32", ranks=2, flags="--reproducible"),
            Case(1100, 900, 700, ranks=4, flags="--grid 1x2x2 --panel 64"),
            Case(1500, 1900, 300, ranks=3, flags="--grid 3x1x1 --no-overlap"),
            Case(1100, 900, 300, ranks=2, layout="deflate"),
            Case(1600, 1400, 300, dtype="u8", type="f32", ranks=2, layout="lzf"),
            Case(1700, 1500, 300, ranks=3, layout="npy-fortran", op_b="t"),
            Case(1100, 900, 300, ranks=1, layout="big-endian")]
    return wide + deep + equations + types + cuts


def limit_of(case):
    wide = case.dtype in ("bf16", "i8") or "--reproducible" in case.flags
    return WIDE if wide else LIMIT


def try_case(folder, damier, case, seed):
    limit = limit_of(case) + process_mib(damier, case.ranks)
    case.flags += f" --memory host={limit}MiB --json {folder}/record.json"
    judging.try_case(folder, damier, case, seed)
    record = records_of(folder / "record.json")[-1]
    peak = record["memory"]["host_peak_bytes"]
    plan = record["plan"]
    if plan["tiles"] < 2 and "file" not in (plan["a_in"], plan["b_in"]):
        raise Failure(f"all in memory: {plan}")
    if peak > limit << 20 and not EMULATED:
        raise Failure(f"a rank took {peak / 2**20:.1f} of {limit} MiB")
    expect(record["verification"]["residual"] <= 1, "not verified")


run_cases(options().damier, [(try_case, case, seed) for seed, case in enumerate(quick())])
