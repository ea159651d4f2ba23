"""chunks: C in chunks, deflated and shuffled, of every type, as read by h5py and as an input."""
import h5py
import numpy as np

import elements
from running import Failure, expect, options, records_of, run, run_cases

TYPES = ("f64", "f32", "f16", "bf16", "c64", "c128", "i8")
# words, and the expected chunks, compression, level and shuffle in h5py; C is 150 x 170
FORMS = (("--chunk 32x50", (32, 50), None, None, False),
         ("--chunk 150x1000 --deflate 9", (150, 170), "gzip", 9, False),
         ("--chunk 7x13 --shuffle --deflate 1", (7, 13), "gzip", 1, True),
         ("--shuffle", (150, 170), None, None, True),
         ("--deflate 4 --io-threads 0", (150, 170), "gzip", 4, False))


def check_form(path, form):
    with h5py.File(path) as file:
        c = file["c"]
        expect((c.chunks, c.compression, c.compression_opts, c.shuffle) == form[1:],
               f"{form[0]}: {c.chunks} {c.compression} {c.compression_opts} {c.shuffle}")
        expect(c.attrs["damier_state"] in ("complete", b"complete"), f"{c.attrs['damier_state']}")


def try_type(folder, damier, dtype, ranks):
    rng = np.random.default_rng(5)
    for name, shape in (("a", (150, 40)), ("b", (40, 170))):
        elements.write(folder / f"{name}.h5", elements.random(rng, shape, dtype, "integer"), dtype,
                       "deflate" if name == "a" else "chunked")
    words = ("multiply", folder / "a.h5", folder / "b.h5", "-q", "--force")
    words += ("--type-c", dtype) if dtype in ("f16", "bf16") else ()
    c_type = {"i8": "i32"}.get(dtype, dtype)
    run(damier, ranks, *words, "-o", folder / "plain.h5")
    plain = elements.read_raw(folder / "plain.h5", c_type)
    for form in FORMS:
        run(damier, ranks, *words, "-o", folder / "c.h5", *form[0].split())
        check_form(folder / "c.h5", form)
        got = elements.read_raw(folder / "c.h5", c_type)
        expect(got.dtype == plain.dtype and got.tobytes() == plain.tobytes(),
               f"{form[0]}: not the elements of the contiguous file")
        if left := sorted(p.name for p in folder.iterdir() if p.suffix in (".part", ".damier-new")):
            raise Failure(f"left over: {left}")
        run(damier, 1, "verify", folder / "a.h5", folder / "b.h5", folder / "c.h5", "-q")


def try_zstd(folder, damier, op_a, op_b):
    """C in zstd has the elements of the contiguous C when it is read again; its filter is that of the registry."""
    rng = np.random.default_rng(7)
    shapes = {"a": (90, 70) if op_a == "n" else (70, 90), "b": (70, 110) if op_b == "n" else (110, 70)}
    for name, shape in shapes.items():
        elements.write(folder / f"{name}.h5", elements.random(rng, shape, "f64", "integer"), "f64", "contiguous")
    elements.write(folder / "i.h5", np.eye(110), "f64", "contiguous")
    words = ("multiply", folder / "a.h5", folder / "b.h5", "-q", "--op-a", op_a, "--op-b", op_b)
    run(damier, 1, *words, "-o", folder / "plain.h5")
    for more in (["--zstd", 3], ["--zstd", 19, "--shuffle", "--chunk", "13x50"]):
        run(damier, 2, *words, "-o", folder / "c.h5", "--force", *more)
        with h5py.File(folder / "c.h5") as file:
            made = file["c"].id.get_create_plist()
            filters = [made.get_filter(i)[0] for i in range(made.get_nfilters())]
            expect(filters == [2] * ("--shuffle" in more) + [32015], f"filters {filters}")
        expect("zstd" in run(damier, 1, "info", folder / "c.h5"), "info does not name zstd")
        run(damier, 1, "verify", folder / "a.h5", folder / "b.h5", folder / "c.h5", "-q")
        run(damier, 1, "multiply", folder / "c.h5:/c", folder / "i.h5", "-o", folder / "d.h5", "-q", "--force")
        with h5py.File(folder / "d.h5") as one, h5py.File(folder / "plain.h5") as other:
            expect(np.array_equal(one["c"][()], other["c"][()]), f"wrong elements with {more}")
    run(damier, 1, *words, "-o", folder / "e.h5", "--zstd", 3, "--deflate", 3, expect=2)
    run(damier, 1, *words, "-o", folder / "e.h5", "--zstd", 23, expect=2)
    expect(not (folder / "e.h5").exists(), "a refused output exists")


def try_generate(folder, damier, dtype, ranks):
    shape = ("--rows", 90, "--cols", 70, "--type", dtype, "-q")
    run(damier, ranks, "generate", folder / "plain.h5", *shape)
    run(damier, ranks, "generate", folder / "packed.h5", *shape, "--chunk", "16x16", "--deflate", 2)
    with h5py.File(folder / "plain.h5") as one, h5py.File(folder / "packed.h5") as other:
        expect(one["a"][()].tobytes() == other["a"][()].tobytes() and other["a"].chunks == (16, 16),
               "generated elements differ")


def try_once(folder, damier, op_a, op_b):
    """On one rank every chunk is unpacked once, however panels divide chunks."""
    rng = np.random.default_rng(6)
    for name, shape, op in (("a", (150, 300), op_a), ("b", (300, 170), op_b)):
        shape = shape if op == "n" else shape[::-1]
        elements.write(folder / f"{name}.h5", elements.random(rng, shape, "f64", "integer"), "f64", "deflate")
    run(damier, 1, "multiply", folder / "a.h5", folder / "b.h5", "-o", folder / "c.h5", "-q", "--panel", 64,
        "--op-a", op_a, "--op-b", op_b, "--json", folder / "r.json")
    files = records_of(folder / "r.json")[0]["files"]
    expect(files["chunks_unpacked"] == files["chunks"] and files["chunks"] >= 50,
           f"{files['chunks_unpacked']} unpacked of {files['chunks']}")


def main():
    work = [(try_type, dtype, 1 + i % 3) for i, dtype in enumerate(TYPES)]
    work += [(try_generate, dtype, 2 - i % 2) for i, dtype in enumerate(elements.FACTORS)]
    work += [(try_once, op_a, op_b) for op_a in "nt" for op_b in "nt"]
    chosen = options()
    if "zstd" in run(chosen.damier, 1, "--version"):
        work += [(try_zstd, op_a, op_b) for op_a in "nt" for op_b in "nt"]
    run_cases(chosen.damier, work)


main()
