"""The jobs of jobs.py: how their files are made, what C has to be, and the program of each way, as its user would write it."""
import dataclasses

import h5py
import numpy as np

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


def write(folder, job, scale):
    """The files of JOB in FOLDER; ImportError or ValueError if a package for them is missing."""
    a, b = job.make(np.random.default_rng(1), scale)
    store = job.store() if callable(job.store) else job.store
    for name, matrix in (("A", a), ("B", b)):
        if matrix is None:
            continue
        with h5py.File(folder / f"{name}.h5", "w") as file:
            file.create_dataset("a", data=matrix, **(store if name == "A" else {}))
        if job.name == "npy":
            np.save(folder / f"{name}.npy", matrix)
    if job.name == "anndata":
        import anndata
        anndata.AnnData(a).write_h5ad(folder / "A.h5ad")
    if job.parts:
        (folder / "parts").mkdir()
        for i, rows in enumerate(np.array_split(a, job.parts)):
            with h5py.File(folder / "parts" / f"{i:04}.h5", "w") as file:
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
