#!/usr/bin/env python3
"""Whole commands, from their start to a file, in turns with programs that do the same: commands.py SET [NAME=VALUE ...]

    scripts/bench/commands.py user -o docs/results/user.jsonl              results.py makes tables of the records
    scripts/bench/commands.py jobs scale=0.25 only=gram,small --runs 1     a quick look

{sets}

Each run is a fresh process, from files to a file that did not exist, in the folder of the set's files, which are removed at the end. Ways
alternate, every other turn backwards; --ways takes those whose whole name an expression matches. A record of each case and way is
appended: seconds of the whole command and of processors, also relative to the first way. A way that fails is not run again (exit 1).
--python names the Pythons that have the other programs' packages, the first that has one is taken; this one has h5py and NumPy.
"""
import contextlib
import dataclasses
import inspect
import itertools
import json
import os
import pathlib
import re
import shlex
import shutil
import sys
import tempfile
import time

import h5py
import numpy as np

import jobs
import r_jobs
from measure import (MPIRUN, NUMPY_TYPES, Failed, answer, code_of, compare, cores, empty, gpu_names, made_by, mpirun, multiply, options_of, processor,
                     run, start, timed)

VERSIONS = """import importlib.metadata, json, sys
there = {found.metadata["Name"]: found.version for found in importlib.metadata.distributions()}
print(json.dumps({name: there[name] for name in sys.argv[1:] if name in there}))
"""


class Bench:
    """A set in its folder, which is the current one."""

    def __init__(self, options, kind):
        self.options, self.python, self.errors = options, options.python.split()[0], {}
        self.about = {"verb": kind.verb, **made_by(code_of("damier"), cores=cores())}
        if kind.packages:
            self.about |= json.loads(run([self.python, "-c", VERSIONS, *kind.packages]))

    def write(self, text, *words):
        """Files by a program of the other programs' Python."""
        run([self.python, "-c", text, *words])

    def generate(self, name, rows, cols, dtype="f64", *more):
        run(["damier", "generate", name, "--rows", rows, "--cols", cols, "--type", dtype, "-q", *more])

    def turn(self, way):
        """What it took: a command, the text of a Python program, or a function; with facts before it, perhaps."""
        facts, call = way if isinstance(way, tuple) else ({}, way)
        try:
            if callable(call):
                return facts | call()
            words = shlex.split(call) if call.startswith(("damier ", "plink2 ")) else [self.python, "-c", call]
            return facts | timed(lambda: run(words))[0]
        except (Failed, OSError, ValueError, KeyError) as failure:
            return facts | {"error": str(failure)}

    def compare(self, kind, facts, ways):
        inputs, failed = set(pathlib.Path().iterdir()), {}
        ways = {name: way for name, way in ways.items() if re.fullmatch(self.options.ways, name)}

        def once(name):
            empty(keep=inputs)
            found = failed.get(name) or self.turn(ways[name])
            if "error" in found:
                failed[name] = found
            return found

        if ways:
            self.errors |= compare(self.options.output, self.about, facts, ways, once, self.options.runs or kind.runs, kind.warm_up)
            empty(keep=inputs)


def verified(line, launcher=(), facts=lambda record: {}):
    """A way: a command of damier that makes C.h5, with its phases, and FACTS of its record."""
    def call():
        took, record = multiply([*launcher, *shlex.split(line), "-q"], "C.h5", "record.json")
        return took | facts(record)
    return call


# ---- sets: functions that yield facts and ways of a case when its files are there ----

LIBRARIES = {  # name: (its product, what must hold)
    "numpy": ('fa["a"][:] @ fb["a"][:]', "True"),
    "cupy": ('cupy.asnumpy(cupy.asarray(fa["a"][:]) @ cupy.asarray(fb["a"][:]))', "library.cuda.runtime.getDeviceCount() > 0"),
    "torch": ('(torch.from_numpy(fa["a"][:]).cuda() @ torch.from_numpy(fb["a"][:]).cuda()).cpu().numpy()', "library.cuda.is_available()"),
}
PROBE = """import {name} as library, h5py, platform
assert {holds}
blas = sorted({{line.split("/")[-1].strip() for line in open("/proc/self/maps") if "blas" in line.lower()}})
print(library.__name__, library.__version__ + ",", "h5py", h5py.__version__ + ", Python", platform.python_version(),
      *(["with", *blas] if blas else []))
"""


def launcher():
    return ((answer([MPIRUN, "--version"]) or "").splitlines() or [""])[0]


def machine():
    gpus = sorted((answer(["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]) or "").splitlines())
    limit = None  # of the control group
    with contextlib.suppress(OSError, ValueError):
        allowed, period = pathlib.Path("/sys/fs/cgroup/cpu.max").read_text(encoding="utf-8").split()
        limit = int(allowed) / int(period)
    return {"device": " and ".join([processor(), *sorted({gpu.split(",")[0] for gpu in gpus})]), "gpus": gpus, "cores": os.cpu_count(),
            "cores_allowed": cores(), "cpu_limit": limit, "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "system": " ".join(os.uname()[i] for i in (0, 2, 4)), "launcher": launcher()}


def user_ways(bench, check, ranks, cpu):
    """damier alone and by mpirun, with its default binding and without; other libraries; mpirun alone."""
    def way(words, count=1, library="", makes_c=True):
        ours, checked = "damier" in words, []
        command = [*words, *(["-o", "C.h5"] if ours else [])]

        def call():
            took, record = multiply(words, "C.h5", "record.json") if ours else timed(lambda: run(words))
            if makes_c and not checked:
                check()
            checked.append(True)
            return took | ({"backend": record["machine"]["backend"]} if ours else {})

        return {"command": shlex.join(command), "ranks": count, "library": library}, call

    ways = {}
    for suffix, backend in (("", []), ("-cpu", ["--backend", "cpu"]))[:1 + cpu]:
        words = ["damier", "multiply", "A.h5", "B.h5", *backend]
        ways["damier" + suffix] = way(words)
        for count in filter(mpirun, ranks):
            for kind, more in (("", []), ("-unbound", ["--bind-to", "none"]))[:1 + ("MPI" in launcher() or "RTE" in launcher())]:
                ways[f"mpirun{suffix}-{count}{kind}"] = way([*mpirun(count), *more, *words], count)
    for (name, (product, holds)), python in itertools.product(LIBRARIES.items(), bench.options.python.split()):
        if name not in ways and (library := answer([python, "-c", PROBE.format(name=name, holds=holds)])) is not None:
            ways[name] = way([python, "-c", jobs.h5py_program(product, f", {name}" * (name != "numpy"))], library=library)
    return ways | {f"hostname-{count}": way([*mpirun(count), "hostname"], count, makes_c=False)
                   for count in filter(mpirun, sorted({1, *ranks}))}


def expect(dtype):
    """A function that compares C with some rows of NumPy's product; rounding may take an element as far as it allows."""
    with h5py.File("A.h5") as fa, h5py.File("B.h5") as fb:
        rows = np.unique(np.random.default_rng(1).integers(0, len(fa["a"]), 8))
        a, b = (x.astype("f8") for x in (fa["a"][rows], fb["a"][:]))
        shape = len(fa["a"]), b.shape[1]
    expected, allowed = a @ b, len(b) * np.finfo(NUMPY_TYPES[dtype]).eps * (abs(a) @ abs(b))

    def check():
        with h5py.File("C.h5") as file:
            c = file["c"]
            if c.shape != shape or c.dtype != NUMPY_TYPES[dtype]:
                raise Failed(f"C is {c.shape} {c.dtype}")
            if not np.all(abs(c[rows] - expected) <= allowed):
                raise Failed("C is not NumPy's product")

    return check


def user(bench, sizes="256,512,4096,8192", types="f64,f32", ranks="", cpu=0):
    """C = A B as users type it, without what tests set; the first C of each way is compared with NumPy's. A size is N or MxKxN."""
    for name in [name for name in os.environ if re.match(r"\w*_NUM_THREADS$|(OMPI|PRTE)_MCA_(rmaps|hwloc|mpi_yield)", name)]:
        del os.environ[name]
    told = r"(OMP|OMPI|OPENBLAS|MKL|PRTE|CUDA|NCCL|HDF5|DAMIER)_"
    bench.about |= {"machine": machine(), "environment": {name: value for name, value in os.environ.items() if re.match(told, name)},
                    "file_system": answer(["stat", "-f", "-c", "%T", "."])}
    ranks = [int(count) for count in ranks.split(",")] if ranks else [2**i for i in range(cores().bit_length())]
    for size, dtype in itertools.product(sizes.split(","), types.split(",")):
        m, k, n = size.split("x") if "x" in size else [size] * 3
        bench.generate("A.h5", m, k, dtype, "--seed", 1, "--force")
        bench.generate("B.h5", k, n, dtype, "--seed", 2, "--force")
        yield {"shape": f"{m} x {n} x {k}", "type": dtype}, user_ways(bench, expect(dtype), ranks, cpu)


NODE = "f64:4096x4096x4096,f64:16384x16384x16384,f64:16384x65536x16384,f64:32768x32768x32768,bf16:16384x262144x16384"


def node(bench, products=NODE, gpus=2, mpi=1):
    """A node with several GPUs: one GPU, those that the plan chooses, all in one process, ranks of MPI; after a pause in which GPUs
    become idle, as one that was used within the last second starts 0.1 s sooner."""
    bench.about |= {"machine": {"device": next(iter(gpu_names()), None) or processor()}, "gpus": gpus}
    for dtype, shape in (product.split(":") for product in products.split(",")):
        m, k, n = shape.split("x")
        bench.generate("A.h5", m, k, dtype, "--seed", 1, "--force")
        bench.generate("B.h5", k, n, dtype, "--seed", 2, "--force")

        def way(*words, by=()):
            call = verified(shlex.join(["damier", "multiply", "A.h5", "B.h5", *map(str, words)]), by, lambda record: {
                "ranks": record["machine"]["ranks"], "forecast": record.get("forecast")})

            def rested():
                time.sleep(1.5)
                return call()
            return rested

        ways = {"--gpus 1": way("--gpus", 1), "default": way(), f"--gpus {gpus}": way("--gpus", gpus)}
        yield ({"product": f"{dtype}:{m}" + (f"x{k}" if k != m else "")},
               ways | ({f"mpirun -n {gpus}": way(by=["mpirun", "-n", str(gpus)])} if mpi else {}))


def checkpoint(bench, size=4096):
    """Two ranks with one thread: without checkpoints, with them, and with one each second."""
    for seed, name in enumerate("AB", 1):
        bench.generate(f"{name}.h5", size, size, "f64", "--seed", seed)
    yield {"size": size}, {way: verified(f"damier multiply A.h5 B.h5 --threads 1 {way}", mpirun(2), lambda record: {
        "command": record["command"], "machine": record["machine"]})
        for way in ("--no-checkpoint", "--checkpoint", "--checkpoint-interval 1s")}


def gram(bench, types="f64,f32", sizes="8192", ranks=1, backend="auto"):
    """damier gram of X, and the general product of X and a copy of it."""
    by = mpirun(ranks) if ranks > 1 else []
    bench.about |= {"backend": backend, "machine": bench.about["machine"] | {"ranks": ranks}}
    for dtype, size in itertools.product(types.split(","), sizes.split(",")):
        bench.generate("x.h5", size, size, dtype, "--kind", "normal", "--force")
        shutil.copy("x.h5", "y.h5")  # another dataset: multiply must not recognise the product
        yield {"of": "files", "type": dtype, "size": int(size)}, {
            "gram": verified(f"damier gram x.h5 --backend {backend}", by),
            "multiply": verified(f"damier multiply x.h5 y.h5 --op-a t --backend {backend}", by)}


def tall(bench, types="f64,f32", sizes="1000"):
    """damier gram of a file of 300 times as many rows as columns, and h5py with NumPy, which calls syrk."""
    bench.about["backend"] = "cpu"
    for dtype, size in itertools.product(types.split(","), map(int, sizes.split(","))):
        bench.generate("A.h5:/a", 300 * size, size, dtype, "--kind", "normal", "--force")
        yield {"of": "tall", "type": dtype, "size": size}, {
            "h5py": jobs.h5py_program('(lambda x: x.T @ x)(fa["a"][:])', b=False), "gram": verified("damier gram A.h5:/a --backend cpu")}


LAYOUTS = {"contiguous": {}, "deflate": {"chunks": True, "compression": 4, "shuffle": True}}


def parts_of(count, rows, more, cols, thin):
    """One file, its parts, a virtual dataset of the parts, and B."""
    rng, shape = np.random.default_rng(1), (count * rows, cols)
    virtual = h5py.VirtualLayout(shape, "f8")
    more = more | ({"chunks": (min(rows, 32), cols)} if more else {})
    with h5py.File("one.h5", "w") as whole:
        x = whole.create_dataset("x", shape, "f8", **more)
        for i in range(count):
            part = rng.integers(-999, 999, (rows, cols), np.int16) / 8
            with h5py.File(f"s{i:04}.h5", "w") as file:
                y = file.create_dataset("x", data=part, **more)
                if not more:
                    x[i * rows:(i + 1) * rows] = part
                for row in range(0, rows if more else 0, more.get("chunks", (1,))[0]):  # packed once
                    skipped, chunk = y.id.read_direct_chunk((row, 0))
                    x.id.write_direct_chunk((i * rows + row, 0), chunk, skipped)
            virtual[i * rows:(i + 1) * rows] = h5py.VirtualSource(f"s{i:04}.h5", "x", (rows, cols))
    with h5py.File("virtual.h5", "w", libver="v110") as file:
        file.create_virtual_dataset("x", virtual)
    with h5py.File("B.h5", "w") as file:
        file["b"] = rng.standard_normal((cols, thin))


def sources(bench, files="160 kB,512 kB"):
    """A matrix in 1000 files: in one file, as a virtual dataset, and as a stack of files, with `ulimit -n 256`."""
    bench.about |= {"h5py": h5py.__version__, "hdf5": h5py.version.hdf5_version}
    for size, layout in itertools.product(files.split(","), LAYOUTS):
        parts_of(1000, int(size.split()[0]) // 8, LAYOUTS[layout], 1000, 8)
        yield {"files": f"1000 x {size}", "layout": layout}, {
            way: verified(f"damier multiply {name}:/x B.h5", ["sh", "-c", 'ulimit -n 256; exec "$@"', "sh"])
            for way, name in (("one file", "one.h5"), ("virtual", "virtual.h5"), ("stack", "'s*.h5'"))}


CODEC_READ = """import glob, h5py, json, resource, time, numpy as np
def busy():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
b = h5py.File("B.h5")["b"][()]
before, began, names = busy(), time.perf_counter(), sorted(glob.glob("A*.h5"))
with h5py.File(names[0]) as file:
    rows, cols = file["a"].shape
whole = np.empty((rows * len(names), cols))
for i, name in enumerate(names):
    with h5py.File(name) as file:
        file["a"].read_direct(whole, dest_sel=np.s_[i * rows:(i + 1) * rows])
read = time.perf_counter() - began
c = whole @ b
print(json.dumps({"seconds": time.perf_counter() - began, "processor_s": busy() - before, "read_s": read}))
"""


def codec_stores(hdf5plugin):
    chunk, large = (256, 512), (1024, 7808)  # 1 MiB and 61 MiB
    packed = {"shuffle": True, "compression": 4}
    stores = {
        "contiguous": {},
        "zstd": {"chunks": chunk, **hdf5plugin.Zstd(clevel=3)},
        "shuffle, zstd": {"chunks": chunk, "shuffle": True, **hdf5plugin.Zstd(clevel=3)},
        "bitshuffle, lz4": {"chunks": chunk, **hdf5plugin.Bitshuffle(cname="lz4")},
        "bitshuffle, zstd": {"chunks": chunk, **hdf5plugin.Bitshuffle(cname="zstd")},
        "lz4": {"chunks": chunk, **hdf5plugin.LZ4()},
        "blosc: shuffle, zstd": {"chunks": chunk, **hdf5plugin.Blosc(cname="zstd", shuffle=1)},
        "shuffle, deflate": {"chunks": chunk, **packed},
        "shuffle, deflate, chunks of 61 MiB": {"chunks": large, **packed},
        "shuffle, lzf": {"chunks": chunk, "shuffle": True, "compression": "lzf"},
    }
    if hasattr(hdf5plugin, "Blosc2"):  # not in Debian 12's
        stores["blosc2: shuffle, zstd"] = {"chunks": chunk, **hdf5plugin.Blosc2(cname="zstd", filters=1)}
    return stores | {"contiguous, in 1000 files": {}}


def codecs(bench, size=500, only=""):
    """One matrix of SIZE MiB in each codec, times one column, by h5py with hdf5plugin in one thread and NumPy; the times are of opening,
    reading and the product, without the start of the processes."""
    import hdf5plugin  # pylint: disable=import-outside-toplevel
    cols, rng = 8192, np.random.default_rng(1)
    rows = max(1, size * 2**20 // (8 * cols) // 1000) * 1000  # divides into 1000 files
    a = np.round(rng.standard_normal((rows, cols)), 3)
    bench.about |= {"h5py": h5py.__version__, "hdf5plugin": hdf5plugin.version, "bytes": a.nbytes}
    with h5py.File("B.h5", "w") as file:
        file["b"] = rng.standard_normal((cols, 1))

    def by_damier():
        took, said = timed(lambda: run("damier multiply A*.h5:/a B.h5 -o C.h5 -q --no-verify --json -".split()))
        times = json.loads(said.splitlines()[0])["times"]
        read = times["open_s"] + times["read_s"]
        return took | {"seconds": read + times["multiply_s"], "read_s": read}

    ways = {"h5py": lambda: json.loads(run([sys.executable, "-c", CODEC_READ])), "damier": by_damier}
    for name, store in codec_stores(hdf5plugin).items():
        if name not in (only.split(";") if only else [name]):
            continue
        for old in pathlib.Path().glob("A*.h5"):
            old.unlink()
        for i, part in enumerate(np.array_split(a, 1000 if name.endswith("1000 files") else 1)):
            with h5py.File(f"A{i:03}.h5", "w") as file:
                file.create_dataset("a", data=part, **store)
        yield {"packed": name, "stored_bytes": sum(file.stat().st_size for file in pathlib.Path().glob("A*.h5"))}, ways


def lists(_, count=1000, size=200):
    """Many small products, A of each from a file of its own and one B: a command for each, and 'damier run' of the list."""
    for i in range(count + 1):
        run(["damier", "generate", f"A{i}.h5", "--size", size, "--seed", i, "-qq"])
    words = [["damier", "multiply", f"A{i}.h5", f"A{count}.h5", "-o", f"C/{i}.h5", "-qq"] for i in range(count)]
    pathlib.Path("jobs.txt").write_text("".join(" ".join(line[1:]) + "\n" for line in words), encoding="utf-8")

    def way(*commands):
        def call():
            os.mkdir("C")
            found, _ = timed(lambda: [run(line) for line in commands])
            left = count - sum(1 for _ in pathlib.Path("C").glob("*.h5"))
            return found | ({"error": f"{left} products are missing"} if left else {})
        return call

    one = ["damier", "run", "jobs.txt", "-qq"]
    yield ({"what": f"{count} products of {size} x {size}, f64"},
           {"commands": way(*words), "run": way(one), "run --at-once 1": way([*one, "--at-once", 1])})


ZARR_WRITE = """import sys, zarr, numpy as np
rows, kind, dtype = int(sys.argv[1]), sys.argv[2], sys.argv[3]
rng = np.random.default_rng(1)
a = np.round(rng.standard_normal((rows, 2000)), 2).astype(dtype)
zarr.create_array("A.zarr", data=a, chunks=(500, 500), shards=(5000, 2000) if kind == "shards" else None, overwrite=True)
np.save("B.npy", rng.standard_normal((2000, 64)).astype(dtype))
"""
ZARR = """import zarr, numpy as np
np.save("C.npy", zarr.open("A.zarr", mode="r")[...] @ np.load("B.npy"))
"""
ZARRS = 'import zarr, zarrs\nzarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})\n'


def zarr(bench, size=640):
    """An array of Zarr of SIZE MB as f8, times a thin matrix, by zarr-python with NumPy, and by the same with the codecs of zarrs."""
    rows = max(1, size * 10**6 // (8 * 2000) // 5000) * 5000
    for dtype, kind in itertools.product(("f8", "f4"), ("chunks", "shards")):
        bench.write(ZARR_WRITE, rows, kind, dtype)
        yield {"array": f"{rows} x 2000 {dtype}", "by": "2000 x 64", "stored": f"500 x 500, zstd, in {kind}",
               "stored_bytes": sum(path.stat().st_size for path in pathlib.Path().glob("A.zarr/**/*") if path.is_file())}, {
            "damier": "damier multiply A.zarr B.npy -o C.npy -q", "zarr": ZARR, "zarrs": ZARRS + ZARR}


GENOTYPES_WRITE = """import sys, numpy as np
samples, variants, missing = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
rng = np.random.default_rng(0)
with open("G.bed", "wb") as file:
    file.write(b"\\x6c\\x1b\\x01")
    for first in range(0, variants, 5000):
        count = min(5000, variants - first)
        p = rng.uniform(0.05, 0.95, (count, 1)).astype("f4")
        x = (rng.random((count, samples), "f4") < p).astype("u1") + (rng.random((count, samples), "f4") < p)
        codes = np.array([3, 2, 0], "u1")[x]
        codes[rng.random((count, samples), "f4") < missing] = 1
        codes = np.pad(codes, ((0, 0), (0, -samples % 4)))
        file.write((codes[:, 0::4] | codes[:, 1::4] << 2 | codes[:, 2::4] << 4 | codes[:, 3::4] << 6).tobytes())
open("G.bim", "w").write("".join(f"1 v{i} 0 {i + 1} A G\\n" for i in range(variants)))
open("G.fam", "w").write("".join(f"F{j} S{j} 0 0 1 -9\\n" for j in range(samples)))
"""
GENOTYPES = """import numpy as np
from bed_reader import open_bed
with open_bed("G.bed") as bed:
    samples, variants = bed.shape
    c, n = np.zeros((samples, samples)), np.zeros((samples, samples), "f4")
    for first in range(0, variants, 4000):
        x = bed.read(np.s_[:, first:first + 4000], dtype="f8", order="F")
        mean = np.nanmean(x, 0)
        x -= mean
        x /= np.sqrt(mean * (1 - mean / 2))
        known = ~np.isnan(x)
        x[~known] = 0
        c += x @ x.T
        known = known.astype("f4")
        n += known @ known.T
np.save("C.npy", c / n)
np.save("N.npy", n)
"""


def genotypes(bench, samples=2000, variants=500000, missing=0.02):
    """The relationship matrix of genotypes of PLINK 1, of which a part is MISSING, by plink2, and by bed-reader with NumPy. Where its
    OpenBLAS does not know the processor, plink2 needs OPENBLAS_CORETYPE."""
    facts = {"samples": samples, "variants": variants, "missing": missing}
    bench.write(GENOTYPES_WRITE, *facts.values())
    yield facts, {"damier": "damier gram G.bed --grm -o C.h5 -q",
                  "plink2": f"plink2 --bfile G --make-rel square bin --threads {cores()} --out C", "bed-reader": GENOTYPES}


READ = "import h5py, os, numpy as np\nwith h5py.File('X.h5') as file:\n    x = file['x'][:]\n"
COMPONENTS_WRITE = """import sys, h5py, numpy as np
rows, cols, dtype = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
rng = np.random.default_rng(1)
with h5py.File("X.h5", "w") as file:
    x = file.create_dataset("x", (rows, cols), dtype)
    for first in range(0, rows, 10000):
        size = min(10000, rows - first)
        x[first:first + size] = 2 + rng.standard_normal((size, cols), dtype="f4") * np.arange(1, cols + 1, dtype="f4")**-0.5
"""
SVD = READ + "s, v = np.linalg.svd(x - x.mean(0), full_matrices=False)[1:]\nnp.savez('P.npz', s=s[:{k}], v=v[:{k}])\n"
INCREMENTAL = """import h5py, numpy as np
from sklearn.decomposition import IncrementalPCA
x, found = h5py.File("X.h5")["x"], IncrementalPCA({k}, batch_size=5000)
for i in range(0, len(x), 5000):
    found.partial_fit(x[i:i + 5000])
np.savez("P.npz", c=found.components_, v=found.explained_variance_)
"""
DASK_SVD = """import h5py, dask.array as da, numpy as np
x = h5py.File("X.h5")["x"]
x = da.from_array(x, chunks=(20000, x.shape[1]))
u, s, v = da.linalg.svd_compressed(x - x.mean(0), {k}, n_power_iter=4, compute=False, seed=0)
s, v = da.compute(s, v)
np.savez("P.npz", s=s, v=v)
"""


def by_solver(words):
    return READ + f"""from sklearn.decomposition import PCA
found = PCA({{k}}, {words}, copy=False).fit(x)
np.savez("P.npz", c=found.components_, v=found.explained_variance_)
"""


def components(bench, rows=300000, small=0):
    """damier pca, and three ways of scikit-learn, and dask; if SMALL 20000 x 300 of f64, and NumPy's SVD."""
    rows, cols, rank, dtype = (20000, 300, 10, "f64") if small else (rows, 1000, 50, "f32")
    bench.write(COMPONENTS_WRITE, rows, cols, NUMPY_TYPES[dtype])
    others = {"numpy": SVD} if small else {
        "covariance_eigh": by_solver("svd_solver='covariance_eigh'"), "randomized": by_solver("svd_solver='randomized', random_state=0"),
        "incremental": INCREMENTAL, "dask": DASK_SVD}
    yield {"rows": rows, "columns": cols, "rank": rank, "type": dtype}, {
        "damier": f"damier pca X.h5 --rank {rank} -o P.h5 -q"} | {way: text.format(k=rank) for way, text in others.items()}


NORMAL_WRITE = """import sys, h5py, numpy as np
with h5py.File("X.h5", "w") as file:
    file["x"] = np.random.default_rng(1).standard_normal((int(sys.argv[1]), 128), dtype=sys.argv[2])
"""


def distances(bench, rows=20000):
    """The distances of all rows, by damier gram --metric euclidean and by scipy's cdist."""
    bench.write(NORMAL_WRITE, rows, "f8")
    yield {"rows": rows, "columns": 128, "type": "f64", "metric": "euclidean"}, {
        "damier": "damier gram X.h5 --of rows --metric euclidean -o D.h5 -q",
        "scipy": READ + "from scipy.spatial.distance import cdist\nwith h5py.File('D.h5', 'w') as file:\n    file['c'] = cdist(x, x)\n"}


UNIT = READ + "x /= np.linalg.norm(x, axis=1, keepdims=True)\n"
NEAR = "np.savez('near.npz', values=values, indices=indices)\n"
NEIGHBOURS = {
    "faiss": UNIT + """import faiss
index = faiss.IndexFlatIP(x.shape[1])
index.add(x)
values, indices = index.search(x, 10)
""" + NEAR,
    "scikit-learn": READ + """from sklearn.neighbors import NearestNeighbors
some = NearestNeighbors(n_neighbors=10, metric="cosine", algorithm="brute", n_jobs=-1).fit(x)
values, indices = some.kneighbors(x)
""" + NEAR,
    "sparse_dot_topn": UNIT + """import scipy.sparse, sparse_dot_topn
y = scipy.sparse.csr_matrix(x)
found = sparse_dot_topn.sp_matmul_topn(y, y.T.tocsr(), top_n=10, sort=True, n_threads=len(os.sched_getaffinity(0)))
scipy.sparse.save_npz("near.npz", found, compressed=False)
""",
    "numpy": UNIT + """values, indices = [], []
for first in range(0, len(x), 2000):
    c = x[first:first + 2000] @ x.T
    some = np.argpartition(-c, 10, axis=1)[:, :10]
    of_some = np.take_along_axis(c, some, 1)
    order = np.argsort(-of_some, axis=1)
    values.append(np.take_along_axis(of_some, order, 1))
    indices.append(np.take_along_axis(some, order, 1))
values, indices = np.concatenate(values), np.concatenate(indices)
""" + NEAR}


def neighbours(bench, rows=50000):
    """The nearest rows of each row by cosine, by damier gram --top, faiss's exact index, scikit-learn, sparse_dot_topn, blocks of NumPy."""
    bench.write(NORMAL_WRITE, rows, "f4")
    yield {"rows": rows, "columns": 128, "top": 10, "type": "f32", "metric": "cosine"}, {
        "damier": "damier gram X.h5 --of rows --metric cosine --top 10 -o near.h5 -q"} | NEIGHBOURS


@dataclasses.dataclass
class Set:
    cases: object
    runs: int = 10
    warm_up: int = 1
    packages: tuple = ()  # of the other programs' Python, whose versions are in the records
    verb: str = ""
    folder: str = "/dev/shm"

    def __post_init__(self):
        self.verb = self.verb or self.cases.__name__


SETS = {kind.cases.__name__: kind for kind in (
    Set(user), Set(node), Set(checkpoint, 11, 0), Set(gram, 5, verb="gram bench"), Set(tall, 5, verb="gram bench"), Set(sources, 3),
    Set(codecs, 5, 0, verb="codec"), Set(lists, 3, 0, verb="run", folder="/var/tmp"), Set(zarr, 10, 1, ("zarr", "zarrs", "numpy")),
    Set(genotypes, 5, 1, ("bed-reader", "numpy")),
    Set(components, 5, 1, ("scikit-learn", "dask", "numpy")), Set(distances, 5, 1, ("scipy", "numpy")),
    Set(neighbours, 10, 1, ("faiss-cpu", "numpy", "scikit-learn", "sparse-dot-topn")), Set(jobs.jobs, 5, 0, verb="job", folder=None),
    Set(r_jobs.r, 10))}


def described(kind):
    words = " ".join(f"{p.name}={p.default}" for p in inspect.signature(kind.cases).parameters.values() if p.default is not p.empty)
    return f"  {kind.cases.__name__:12}{' '.join(kind.cases.__doc__.split())} [{words}]"


def values_of(kind, words):
    """The arguments NAME=VALUE, of the types of their defaults."""
    defaults = {p.name: p.default for p in inspect.signature(kind.cases).parameters.values() if p.default is not p.empty}
    given = dict(word.split("=", 1) for word in words)
    if set(given) - set(defaults):
        raise Failed(f"{', '.join(set(given) - set(defaults))}: the set has {', '.join(defaults) or 'no options'}")
    return {name: type(defaults[name])(value) for name, value in given.items()}


def main():
    options = options_of(__doc__.format(sets="\n".join(map(described, SETS.values()))), None, ("set", {"choices": SETS}),
                         ("words", {"nargs": "*", "metavar": "NAME=VALUE"}), damier="build/release/damier", runs=0, ways=".*",
                         python=f"{sys.executable} /usr/bin/python3", folder={"help": "for the files"})
    kind, program = SETS[options.set], pathlib.Path(options.damier).resolve()
    if program.name != "damier" or not os.access(program, os.X_OK):
        raise Failed(f"{program} is no program damier")
    os.environ["PATH"] = f"{program.parent}:{os.environ['PATH']}"  # commands stand here as users type them
    options.output = pathlib.Path(options.output or f"{options.set}.jsonl").resolve()
    folder = options.folder or (kind.folder if kind.folder and os.access(kind.folder, os.W_OK) else None)
    with tempfile.TemporaryDirectory(dir=folder, prefix=f"damier-{options.set}-") as name:
        here = os.getcwd()
        os.chdir(name)
        bench = Bench(options, kind)
        for facts, ways in kind.cases(bench, **values_of(kind, options.words)):
            bench.compare(kind, facts, ways)
        os.chdir(here)
    sys.exit(bool(bench.errors))


if __name__ == "__main__":
    start(main)
