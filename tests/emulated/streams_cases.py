"""streams: shares of A and B on a device, in host memory besides it, or in files, read during products, and C written
strip by strip or tile by tile; compares every element with NumPy."""
import judging
from judging import Case
from running import Failure, options, records_of, run_cases

LIBRARY = 64  # MiB of device memory that plans reserve for libraries


def resident():
    """(case, places of A and B)"""
    ops = [Case(300, 211, 1500, op_a=a, op_b=b, ranks=r, flags="--panel 128", layout=layout)
           for a, b, r, layout in (("n", "n", 1, "contiguous"), ("t", "n", 2, "contiguous"),
                                   ("n", "t", 4, "deflate"), ("t", "t", 3, "chunked"),
                                   ("n", "n", 4, "big-endian"))]
    types = [Case(330, 210, 1300, dtype="c128", op_a="c", ranks=2, flags="--panel 192"),
             Case(257, 129, 5000, dtype="i8", op_b="t", alpha=2, beta=-1, old="i32", ranks=1, flags="--panel 512"),
             Case(201, 303, 2111, dtype="bf16", ranks=4, flags="--panel 320"),
             Case(900, 70, 1111, dtype="f32", beta=0.5, old="f32", ranks=2, flags="--panel 64 --no-overlap")]
    layers = [Case(350, 290, 2222, ranks=4, flags="--grid 1x2x2 --panel 128"),
              Case(350, 290, 2222, ranks=3, flags="--grid 1x1x3 --panel 64 --transport host"),
              Case(410, 390, 1777, ranks=4, flags="--grid 2x2x1 --panel 128 --no-checkpoint")]
    return [(case, "device") for case in ops + types + layers]


def beside():
    """Device memory only holds panels."""
    limit = f"--memory device={LIBRARY + 5}MiB"
    return [(Case(700, 600, 500, op_a=a, ranks=r, flags=limit), "host")
            for a, r in (("n", 1), ("t", 2), ("n", 4))]


def in_tiles():
    return [(Case(1100, 900, 300, op_b=b, ranks=r, layout=layout,
                  flags=f"--memory device={LIBRARY * 1024 + 6000 // r}KiB"), "tiles")
            for b, r, layout in (("n", 1, "contiguous"), ("t", 2, "deflate"), ("n", 4, "contiguous"))]


def in_tiles_by_links():
    """Pieces of panels go from host memory or files to the device, and from there to peers."""
    limit = lambda mib, *more: " ".join([f"--memory device={LIBRARY + mib}MiB", *more])
    return [(Case(2300, 2100, 700, ranks=4, dtype="f32", op_b="t", layout="chunked",
                  flags=limit(7, "--grid 2x2x1 --transport ipc")), "tiles"),
            (Case(2300, 2100, 333, ranks=4, op_a="t", dtype="f32", beta=1, old="f32",
                  flags=limit(5, "--grid 2x2x1 --transport host --pretend-nodes 2")), "tiles"),
            (Case(2500, 1900, 900, ranks=4, dtype="f32", flags=limit(8, "--grid 1x2x2 --transport ipc")), "tiles"),
            (Case(3000, 1900, 3000, ranks=2, dtype="f32",
                  flags=f"--memory host=72MiB,device={LIBRARY + 9}MiB --grid 1x2x1 --transport ipc"), "file")]


def in_strips():
    """Products that take longer than the files."""
    return [(Case(2100, 900, 260, ranks=1), "strips"),
            (Case(4100, 700, 260, ranks=2, alpha=1.5, flags="--grid 2x1x1"), "strips"),
            (Case(2100, 500, 200, ranks=1, dtype="c128", alpha=1j), "strips"),
            (Case(4100, 900, 260, ranks=2, flags="--grid 1x1x2 --panel 64"), "strips"),
            (Case(4100, 900, 260, ranks=2, flags="--grid 1x1x2 --panel 64 --transport host"), "strips")]


def look_at(record, where):
    plan = record["plan"]
    if where == "device" and (plan["a_in"], plan["b_in"], plan["tiles"]) != ("device", "device", 1):
        raise Failure(f"not on the device: {plan}")
    if where == "host" and "host" not in (plan["a_in"], plan["b_in"]):
        raise Failure(f"nothing beside the device: {plan}")
    if where == "file" and "file" not in (plan["a_in"], plan["b_in"]):
        raise Failure(f"nothing stays in its file: {plan}")
    if where in ("tiles", "file") and plan["tiles"] < 2:
        raise Failure(f"not in tiles: {plan}")
    chosen = "emulated" in record["machine"]["device"] # a real GPU is too fast for strips to pay off
    if where == "strips" and chosen and " end=" not in plan["recipe"]:
        raise Failure(f"not in strips: {plan}")
    if record["verification"]["residual"] > 1:
        raise Failure("not verified")


def try_case(folder, damier, case, where, seed):
    case.flags += f" --json {folder}/record.json"
    judging.try_case(folder, damier, case, seed)
    look_at(records_of(folder / "record.json")[-1], where)


def main():
    cases = resident() + beside() + in_tiles() + in_tiles_by_links() + in_strips()
    run_cases(options().damier, [(try_case, *case, seed) for seed, case in enumerate(cases)])


main()
