"""bench: matrices in host memory that exceed the GPUs', with C tile by tile or as a whole; verifies the result in host
memory."""
from running import Failure, options, records_of, run, run_cases

TILES = [(1, "--size 1100 --memory device=70MiB"),
         (2, "--m 1300 --n 900 --k 300 --memory device=68MiB"),
         (3, "--m 1300 --n 1100 --k 500 --type c64 --memory device=68MiB --grid 3x1x1"),
         (4, "--m 1500 --n 1700 --k 700 --type bf16 --memory device=66MiB"),
         (2, "--m 1500 --n 900 --k 1700 --memory device=69MiB --grid 1x1x2"),
         (1, "--m 1501 --n 1703 --k 701 --type i8 --memory device=67MiB --no-overlap")]
# Peers pull pieces from the GPU to which a rank uploaded them.
LINKS = [(4, "--m 2300 --n 2100 --k 700 --memory device=74MiB --grid 2x2x1 --transport ipc"),
         (4, "--m 2300 --n 2100 --k 700 --memory device=74MiB --grid 2x2x1 --transport host --pretend-nodes 2"),
         (2, "--m 2300 --n 2100 --k 700 --type c64 --memory device=74MiB --grid 1x2x1 --transport ipc"),
         (3, "--m 2300 --n 2100 --k 701 --type i8 --memory device=72MiB --grid 3x1x1 --transport ipc --no-overlap"),
         (4, "--m 2500 --n 1900 --k 901 --memory device=74MiB --grid 1x2x2 --transport ipc")]
# The first panel is narrower than the others.
LED = [(2, "--m 300 --n 310 --k 1100 --from device --transport ipc --panel 64,128,256"),
       (4, "--m 300 --n 310 --k 1100 --from device --transport host --pretend-nodes 2 --panel 128,320"),
       (4, "--m 300 --n 310 --k 1500 --from device --grid 1x2x2 --transport ipc --panel 64,192"),
       (2, "--m 300 --n 310 --k 800 --from device --transport host --panel 64,256 --no-overlap"),
       (2, "--m 600 --n 310 --k 1100 --from host --transport ipc --panel 64,256"),
       (3, "--m 600 --n 310 --k 1100 --from host --grid 3x1x1 --type c128 --transport ipc --panel 64,192,256")]
LED_TILES = [(2, "--m 1300 --n 900 --k 700 --memory device=70MiB --panel 64,128"),
             (4, "--m 2300 --n 2100 --k 700 --memory device=74MiB --grid 2x2x1 --transport ipc --panel 64,128,192")]
# C is rounded from its sums on the device, also from those of layers.
ROUNDED = [(2, "--m 301 --n 404 --k 700 --type bf16 --type-c bf16 --from device --transport ipc --panel 256"),
           (4, "--m 301 --n 404 --k 700 --type f64 --type-c f32 --from device --transport ipc --grid 1x2x2"),
           (4, "--m 301 --n 404 --k 700 --type f16 --type-c f16 --transport host --grid 2x1x2"),
           (1, "--m 301 --n 404 --k 700 --type c128 --type-c c64 --from device")]
# Small integers, but so many that sums of the largest ones would overflow.
WHOLE = [(1, "--m 64 --n 64 --k 140000 --type i8 --from host"),
         (1, "--m 300 --n 200 --k 20000 --memory device=72MiB --panel 256"),
         (2, "--m 600 --n 400 --k 5000 --memory device=72MiB --transport host --grid 1x2x1"),
         (2, "--m 600 --n 400 --k 5000 --memory device=72MiB --transport ipc --grid 1x2x1")]


def words_of(words):
    return ["bench", "multiply", "--backend", "cuda", "--repetitions", "2", "-q", *words.split()]


def try_case(folder, damier, ranks, words, tiles):
    out = folder / "record.json"
    run(damier, ranks, *words_of(words), "--json", out)
    record = records_of(out)[-1]
    if (record["plan"]["tiles"] > 1) != tiles:
        raise Failure(f"tiles: {record['plan']}")
    if (record["plan"]["ramp"] != "") != ((ranks, words) in LED + LED_TILES):
        raise Failure(f"ramp: {record['plan']}")
    where = "device memory" if "--from device" in words else "memory" if "--type-c" in words else "C returns"
    if record["verification"]["residual"] > 1 or where not in record["bench"]["from"]:
        raise Failure(f"{record['verification']}, {record['bench']}")
    if "--transport" in words and f"--transport {record['transport']['name']} " not in words + " ":
        raise Failure(f"transport: {record['transport']}")


def fastest(folder, damier, ranks, words):
    """The plan multiplies by residues, and so does the device, although it was opened for native products.  On a slow machine
    finding exponents does not matter."""
    out = folder / "record.json"
    run(damier, ranks, *words_of(words + " --compute fastest --machine gflops=10"), "--json", out)
    record = records_of(out)[-1]
    if " work=f64:int8:16 " not in record["plan"]["recipe"] or record["verification"]["residual"] > 1:
        raise Failure(f"{record['plan']}, {record['verification']}")


def few_moduli(folder, damier, ranks, words):
    """The matrices suit the mode with the fewest products."""
    out = folder / "record.json"
    run(damier, ranks, *words_of(words + " --compute f64:int8:14"), "--json", out)
    record = records_of(out)[-1]
    if " work=f64:int8:14 " not in record["plan"]["recipe"] or record["verification"]["residual"] > 1:
        raise Failure(f"{record['plan']}, {record['verification']}")


def in_pieces(folder, damier, ranks, words, longest):
    """Panels are so short that the units' sums of them are right, unless fast ones are asked for."""
    out = folder / "record.json"
    run(damier, ranks, *words_of(words), "--json", out)
    record = records_of(out)[-1]
    how = record["problem"]["accumulate"]
    if (how == "f32") != (longest > 0) or (0 < longest < record["plan"]["panel"]) or record["verification"]["residual"] > 1:
        raise Failure(f"{how}, {record['plan']['panel']}, {record['verification']}")


def refused(_, damier, words):
    run(damier, 1, *words_of(words), expect=2)


def main():
    cases = [(try_case, *case, case in TILES + LINKS + LED_TILES)
             for case in TILES + LINKS + LED + LED_TILES + ROUNDED + WHOLE]
    cases += [(fastest, 1, "--size 600 --from device"), (fastest, 4, "--m 500 --n 700 --k 900 --from device"),
              (fastest, 2, "--size 400 --type c128 --from device")]
    cases += [(few_moduli, 1, "--size 300 --from device"), (few_moduli, 2, "--m 300 --n 200 --k 700 --type c128")]
    cases += [(in_pieces, ranks, f"--m 70 --n 90 --k 9000 --from {place} --type {type} {more}", longest)
              for ranks, place, type, more, longest in ((1, "device", "bf16", "--accumulate f32", 3072), (2, "host", "f16", "--accumulate f32", 1536),
                                                        (1, "host", "f16", "", 0), (3, "device", "bf16", "--accumulate fast", 0))]
    cases += [(refused, f"{words} {more}") for words, more in
              ((TILES[0][1], "--against-library"), (TILES[0][1], "--type f32 --type-c f16"),
               ("--size 300 --from host", "--type bf16 --type-c bf16"),
               ("--m 70 --n 90 --k 9000 --type f16", "--accumulate f32 --panel 4096"), ("--size 70", "--accumulate f32"))]
    run_cases(options().damier, cases)


main()
