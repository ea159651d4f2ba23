"""Real jobs by damier and by what people use today, each result checked: time, processor time, peak memory, right or wrong, lines of code.
SCALE: factor of all dimensions; jobs with little memory have no other and are left out unless named."""
# Each way is a complete program of its user, run in a fresh process from files to a file; the start of Python, Octave or R counts. Lines are
# those of the program without blank ones. The result is compared by a random vector x: C x with A (B x). Ways whose package or program is
# missing are left out. With `limit` the process may have that much data (RLIMIT_DATA), as a container or a batch job would allow it.
import dataclasses
import functools
import json
import os
import pathlib
import signal
import sys

import h5py
import numpy as np

from measure import answer, empty, run

RUNS, WARM_UP, VERB, FOLDER = 5, 0, "job", None
LAUNCHER = pathlib.Path(__file__).resolve().parents[1] / "launch.py"
# The packages that ways need besides NumPy and h5py, of Python and of R.
PACKAGES = {"Dask": "dask", "PyTables": "tables", "torch": "torch", "xarray": "h5netcdf, xarray", "pandas": "pandas", "anndata": "anndata"}
R_PACKAGES = ("rhdf5", "HDF5Array")


def h5py_program(product, more="", b=True):
    """Four lines of Python."""
    second = ', h5py.File("B.h5") as fb' if b else ""
    return f"""
import h5py{more}
with h5py.File("A.h5") as fa{second}, h5py.File("C.h5", "w") as fc:
    fc["c"] = {product}
"""


def dask(product="(a @ b)", chunks: object = 1000, b=True):
    second, line = (', h5py.File("B.h5") as fb', f'    b = da.from_array(fb["a"], chunks={chunks})\n') if b else ("", "")
    return f"""
import dask.array as da, h5py
with h5py.File("A.h5") as fa{second}:
    a = da.from_array(fa["a"], chunks={chunks})
{line}    {product}.to_hdf5("C.h5", "/c")
"""


def octave(product, names="ab"):
    """Octave and R see the transpose of what HDF5 has: C' = B' A'."""
    loads = " ".join(f'{name} = load("{name.upper()}.h5").a;' for name in names)
    return f"""
{loads}
c = {product};
save("-hdf5", "C.h5", "c")
"""


NUMPY = h5py_program('fa["a"][:] @ fb["a"][:]')
DAMIER = "damier multiply A.h5 B.h5 -o C.h5 -q"
TORCH = h5py_program('torch.from_numpy(fa["a"][:]) @ torch.from_numpy(fb["a"][:])', ", torch")
OCTAVE = octave("b * a")
TABLES = """
import tables
with tables.open_file("A.h5") as fa, tables.open_file("B.h5") as fb, tables.open_file("C.h5", "w") as fc:
    fc.create_array("/", "c", fa.root.a[:] @ fb.root.a[:])
"""
RHDF5 = """
library(rhdf5)
h5createFile("C.h5")
h5write(h5read("B.h5", "a") %*% h5read("A.h5", "a"), "C.h5", "c")
"""
HDF5_ARRAY = """
library(HDF5Array)
c <- HDF5Array("B.h5", "a") %*% HDF5Array("A.h5", "a")
writeHDF5Array(c, "C.h5", "c")
"""
BLOCKS = """
import h5py
with h5py.File("A.h5") as fa, h5py.File("B.h5") as fb, h5py.File("C.h5", "w") as fc:
    a, b, step = fa["a"], fb["a"], 500
    c = fc.create_dataset("c", (a.shape[0], b.shape[1]))
    for i in range(0, a.shape[0], step):
        for j in range(0, b.shape[1], step):
            c[i:i + step, j:j + step] = a[i:i + step] @ b[:, j:j + step]
"""
FILES = """
import glob, h5py, numpy as np
a = np.concatenate([h5py.File(name)["a"][:] for name in sorted(glob.glob("parts/*.h5"))])
with h5py.File("B.h5") as fb, h5py.File("C.h5", "w") as fc:
    fc["c"] = a @ fb["a"][:]
"""
XARRAY_SLICE = """
import xarray
a = xarray.open_dataset("A.h5", engine="h5netcdf", phony_dims="sort").a.rename(phony_dim_0="i", phony_dim_1="k")
b = xarray.open_dataset("B.h5", engine="h5netcdf", phony_dims="sort").a.rename(phony_dim_0="k", phony_dim_1="j")
xarray.dot(a[:, :TENTH], b[:TENTH]).to_dataset(name="c").to_netcdf("C.h5", engine="h5netcdf")
"""
ANNDATA = """
import anndata, h5py
with h5py.File("B.h5") as fb, h5py.File("C.h5", "w") as fc:
    fc["c"] = anndata.read_h5ad("A.h5ad").X @ fb["a"][:]
"""


@dataclasses.dataclass
class Job:
    name: str
    what: str
    make: object  # (random, scale): A and B, or A and None
    ways: dict
    store: object = dataclasses.field(default_factory=dict)  # how h5py stores A, or a function that returns it
    apply: object = None  # (files, x): C x by definition; None: A (B x)
    limit: int = 0  # MiB of data; such jobs have one size, as programs themselves need memory
    parts: int = 0  # files parts/*.h5 with some rows of A each
    kill_after: float = 0  # s: the first attempt is killed, and the same program runs again


def matrices(*shapes, dtype="f8", count=(), missing=0.0):
    """Makes A, and B or none, of random numbers."""
    def one(random, shape):
        x = random.integers(-3, 4, shape) if dtype == "i1" else random.standard_normal(shape)
        x = x + 1j * random.standard_normal(shape) if dtype == "c16" else x.astype(dtype)
        if missing:
            x[random.random(shape) < missing] = np.nan
        return x

    def make(random, scale):
        made = [one(random, (*count, *(max(8, int(size * scale)) for size in shape))) for shape in shapes]
        return made if len(made) == 2 else (made[0], None)

    return make


def factors(m, k, n, **more):
    return matrices((m, k), (k, n), **more)


def zstd():
    import hdf5plugin  # registers the filter, for NumPy's way too
    return {"chunks": (256, 256), **hdf5plugin.Zstd()}


def write(job, scale):
    """The files of JOB; ImportError or ValueError if a package for them is missing."""
    a, b = job.make(np.random.default_rng(1), scale)
    store = job.store() if callable(job.store) else job.store
    for name, matrix in (("A", a), ("B", b)):
        if matrix is not None:
            with h5py.File(f"{name}.h5", "w") as file:
                file.create_dataset("a", data=matrix, **(store if name == "A" else {}))
    if job.name == "npy":
        np.save("A.npy", a)
        np.save("B.npy", b)
    if job.name == "anndata":
        import anndata  # pylint: disable=import-outside-toplevel
        anndata.AnnData(a).write_h5ad("A.h5ad")
    if job.parts:
        os.mkdir("parts")
        for i, rows in enumerate(np.array_split(a, job.parts)):
            with h5py.File(f"parts/{i:04}.h5", "w") as file:
                file["a"] = rows


def ways(numpy, damier, **others):
    return {"NumPy + h5py": numpy, "damier": damier, **others}


# ---- C x by definition ----

def by_transpose(files, x):
    a = files["A"].astype("f8")
    return a.T @ (a @ x)


def times_own_transpose(files, x):
    a = files["A"].astype("f8")
    return a @ (a.T @ x)


def swapped(files, x):
    return files["B"] @ (files["A"] @ x)


def covariance(files, x):
    a = files["A"] - files["A"].mean(axis=0)
    return a.T @ (a @ x) / (len(a) - 1)


def pairwise_correlation(files, x):
    """Each pair of columns by the rows in which both are."""
    there = (~np.isnan(files["A"])).astype("f8")
    a = np.nan_to_num(files["A"])
    both, sums, squares = there.T @ there, a.T @ there, (a * a).T @ there
    variances = squares - sums * sums / both
    return (a.T @ a - sums * sums.T / both) / np.sqrt(variances * variances.T) @ x


def tenth(files, x):
    k = len(files["B"]) // 10
    return files["A"][:, :k] @ (files["B"][:k] @ x)


JOBS = [
    Job("product", "A B, all in memory", factors(3000, 3000, 3000),
        ways(NUMPY, DAMIER, Dask=dask(), PyTables=TABLES, torch=TORCH, Octave=OCTAVE, rhdf5=RHDF5)),
    Job("small", "A B of 200 x 200: the start alone", factors(200, 200, 200),
        ways(NUMPY, DAMIER, Dask=dask(), PyTables=TABLES, torch=TORCH, Octave=OCTAVE, rhdf5=RHDF5, HDF5Array=HDF5_ARRAY)),
    Job("single", "A B in single precision", factors(3000, 3000, 3000, dtype="f4"), ways(NUMPY, DAMIER, Dask=dask(), torch=TORCH)),
    Job("complex", "A B of complex numbers", factors(1500, 1500, 1500, dtype="c16"), ways(NUMPY, DAMIER, Dask=dask())),
    Job("memory", "A, B and C take more than a process may have", factors(6000, 6000, 6000),
        ways(NUMPY, "damier multiply A.h5 B.h5 -o C.h5 --memory host=350MiB -q", Dask=dask(), **{"NumPy in blocks": BLOCKS}),
        limit=700),
    Job("gram", "A^T A of a tall A of bytes", matrices((200000, 500), dtype="i1"),
        ways(h5py_program('(a := fa["a"][:].astype("f4")).T @ a', b=False), "damier gram A.h5 -o C.h5 -q",
             Dask=dask('(a.astype("f4").T @ a.astype("f4"))', (20000, -1), b=False)), apply=by_transpose),
    Job("covariance", "covariances of the columns of a tall A", matrices((300000, 200)),
        ways(h5py_program('np.cov(fa["a"][:], rowvar=False)', ", numpy as np", b=False), "damier cov A.h5 -o C.h5 -q",
             Dask=dask("da.cov(a, rowvar=False)", (20000, -1), b=False), Octave=octave("cov(a')", "a")), apply=covariance),
    Job("missing", "correlations of columns with missing values", matrices((100000, 100), missing=0.01),
        {"pandas": h5py_program('pandas.DataFrame(fa["a"][:]).corr()', ", pandas", b=False),
         "damier": "damier cor A.h5 --missing pairwise -o C.h5 -q"}, apply=pairwise_correlation),
    Job("outer", "A A^T", matrices((4000, 500)), ways(
        h5py_program('(a := fa["a"][:]) @ a.T', b=False), "damier gram A.h5 --of rows -o C.h5 -q"), apply=times_own_transpose),
    Job("slice", "a tenth of the columns of A, times B", factors(2000, 10000, 1000),
        ways(h5py_program('fa["a"][:, :TENTH] @ fb["a"][:TENTH]'),
             "damier multiply A.h5:/a[:,:TENTH] B.h5:/a[:TENTH,:] -o C.h5 -q", xarray=XARRAY_SLICE), apply=tenth),
    Job("files", "1000 files with rows of A, times B", factors(100000, 100, 100),
        ways(FILES, "damier multiply parts/*.h5:/a B.h5 -o C.h5 -q"), parts=1000),
    Job("batch", "24 products of 3-D datasets", factors(700, 700, 700, count=(24,)),
        ways(NUMPY, DAMIER, Dask=dask(chunks=(1, -1, -1)), torch=TORCH)),
    Job("tall", "tall A times a small B", factors(300000, 100, 50),
        ways(NUMPY, DAMIER, Dask=dask(chunks=20000), PyTables=TABLES, torch=TORCH)),
    Job("gzip", "A compressed by gzip in chunks", factors(3000, 3000, 2000),
        ways(NUMPY, DAMIER, Dask=dask(), PyTables=TABLES, Octave=OCTAVE, rhdf5=RHDF5),
        store={"chunks": (256, 256), "compression": "gzip", "compression_opts": 1}),
    Job("lzf", "A compressed by LZF with shuffle", factors(3000, 3000, 2000), ways(NUMPY, DAMIER, Dask=dask()),
        store={"chunks": (256, 256), "compression": "lzf", "shuffle": True}),
    Job("zstd", "A compressed by zstd in chunks", factors(3000, 3000, 2000),
        ways(h5py_program('fa["a"][:] @ fb["a"][:]', ", hdf5plugin"), DAMIER), store=zstd),
    Job("packed", "C stored in compressed chunks", factors(2000, 2000, 2000), ways(
        NUMPY.replace('fc["c"] = fa["a"][:] @ fb["a"][:]',
                      'fc.create_dataset("c", data=fa["a"][:] @ fb["a"][:], chunks=(200, 200), compression=4)'),
        DAMIER + " --chunk 200x200 --deflate 4")),
    Job("npy", "A.npy B.npy to C.npy", factors(3000, 3000, 2000), ways(
        'import numpy as np\nnp.save("C.npy", np.load("A.npy") @ np.load("B.npy"))', "damier multiply A.npy B.npy -o C.npy -q")),
    Job("matlab", "A B of MATLAB's files, whose datasets are transposed", factors(3000, 2000, 3000), ways(
        h5py_program('(fa["a"][:].T @ fb["a"][:].T).T'), "damier multiply B.h5 A.h5 -o C.h5 -q",
        Octave=octave("a * b")), apply=swapped),
    Job("anndata", "X of an anndata file, times B", factors(20000, 2000, 50, dtype="f4"),
        {"anndata": ANNDATA, "damier": "damier multiply A.h5ad:/X B.h5 -o C.h5 -q"}),
    Job("update", "C = 2 A B + D, D being a dataset of A's file",
        factors(2500, 2500, 2500), ways(h5py_program('2 * (fa["a"][:] @ fb["a"][:]) + fa["a"][:]'),
                                       "damier multiply A.h5 B.h5 --alpha 2 --beta 1 --c A.h5 -o C.h5 -q"),
        apply=lambda f, x: 2 * (f["A"] @ (f["B"] @ x)) + f["A"] @ x),
    Job("killed", "killed once, then run again until done", factors(4000, 4000, 4000),
        ways(NUMPY, DAMIER + " --checkpoint-interval 0", Dask=dask()), kill_after=1.5),
]


# ---- runs ----

def result_of():
    if os.path.exists("C.npy"):
        return np.load("C.npy")
    if os.path.exists("C.h5"):
        with h5py.File("C.h5") as file:
            c = file["c"]
            return (c["value"] if isinstance(c, h5py.Group) else c)[:]  # Octave stores a group
    return None


def judge(c, apply=None):
    """C by a random vector; APPLY is C x by definition, if it is not A (B x)."""
    files = {}
    for path in pathlib.Path().glob("[AB].h5"):
        with h5py.File(path) as file:
            files[path.stem] = file["a"][:]
    x = np.random.default_rng(7).standard_normal((c.shape[-1], 1))
    exact = apply(files, x) if apply else files["A"] @ (files["B"] @ x)
    bound = 1e-3 if c.dtype == np.float32 else 1e-9
    return "right" if np.abs(c @ x - exact).max() <= bound * np.abs(exact).max() else "wrong"


def why_not(code):
    said = pathlib.Path("said").read_text(errors="replace", encoding="utf-8")
    if "MemoryError" in said or "unable to allocate" in said.lower():
        return "no memory"
    return "killed" if code in (-signal.SIGKILL, -signal.SIGSEGV, -signal.SIGABRT) else "failed"


def attempt(job, words, program):
    """What one run took, and whether its result is right."""
    seconds, busy, peak, code = 0.0, 0.0, 0, None
    for kill_after in [job.kill_after, 0] if job.kill_after else [0]:
        if code != 0:
            more, more_busy, peak, code = json.loads(run([sys.executable, "-S", LAUNCHER, json.dumps([job.limit, kill_after, *words])]))
            seconds, busy = seconds + more, busy + more_busy
            if kill_after and code != 0 and words[0] != "damier":
                pathlib.Path("C.h5").unlink(missing_ok=True)
    c = result_of() if code == 0 else None
    return {"seconds": seconds, "processor_s": busy, "peak_bytes": float(peak), "verdict": why_not(code) if c is None else judge(c, job.apply),
            "exit": code, "lines": sum(bool(line.strip()) for line in program.splitlines())}


@functools.cache
def start_of(way, pythons):
    """How programs of WAY are started, and the version of its package; None if it is not installed."""
    if way == "damier":
        return (), None
    if way in PACKAGES:
        probe = f"import h5py, {PACKAGES[way]} as p; print(p.__version__)"
        starts = {(python, "-c"): probe for python in pythons}
    elif way in R_PACKAGES:
        starts = {("Rscript", "-e"): f"suppressMessages(library({way})); cat(as.character(packageVersion('{way}')))"}
    elif way == "Octave":
        starts = {("octave-cli", "-qf", "--eval"): "disp(version)"}
    else:
        return (sys.executable, "-c"), None
    found = ((words, answer([*words, probe])) for words, probe in starts.items())
    return next(((words, version) for words, version in found if version), None)


def ways_of(job, pythons):
    """A way that failed does not run again."""
    def way(name, program, start, package):
        words, failed = [*start, program] if start else program.split(), []

        def call():
            found = failed[0] if failed else attempt(job, words, program)
            if found["verdict"] != "right":
                failed.append(found)
            return found | ({} if name == "damier" else {"package": package})

        return call

    with h5py.File("A.h5") as file:
        tenth = str(file["a"].shape[1] // 10)
    starts = {name: start_of(name, pythons) for name in job.ways}
    return {name: way(name, program.replace("TENTH", tenth), *starts[name]) for name, program in job.ways.items() if starts[name]}


def cases(bench, only="", scale=1.0):
    bench.about |= {"machine": bench.about["machine"] | {"cores": os.cpu_count()}, "numpy": np.__version__, "h5py": h5py.__version__}
    names = only.split(",") if only else [job.name for job in JOBS if not job.limit or scale == 1]
    for job in (job for job in JOBS if job.name in names):
        empty()
        try:
            write(job, 1.0 if job.limit else scale)
        except (ImportError, ValueError) as reason:
            print(f"{job.name:12}left out: {reason}", file=sys.stderr)
            continue
        yield {"job": job.name, "what": job.what, "scale": 1.0 if job.limit else scale}, ways_of(job, tuple(bench.options.python.split()))
