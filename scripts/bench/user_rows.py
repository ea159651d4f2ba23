"""What a user would run for one product, from A.h5 and B.h5 to C.h5: the rows of user_runs.py; and the computer that runs them."""
import contextlib
import dataclasses
import os
import pathlib
import re

from measure import MPIRUN, answer, cores, mpirun, processor

for name in list(os.environ):  # what tests and other benchmarks set, but users do not
    if re.match(r"\w*_NUM_THREADS$|(OMPI|PRTE)_MCA_(rmaps|hwloc|mpi_yield)", name):
        del os.environ[name]

# As short as users would write them.
SCRIPT = """import sys, h5py{module}
with h5py.File(sys.argv[1]) as a, h5py.File(sys.argv[2]) as b, h5py.File(sys.argv[3], "w") as c:
    c["c"] = {product}
"""
LIBRARIES = {  # name: (what the script imports besides h5py, its product, what must hold)
    "numpy": ("", 'a["a"][:] @ b["a"][:]', "True"),
    "cupy": (", cupy", 'cupy.asnumpy(cupy.asarray(a["a"][:]) @ cupy.asarray(b["a"][:]))', "library.cuda.runtime.getDeviceCount() > 0"),
    "torch": (", torch", '(torch.from_numpy(a["a"][:]).cuda() @ torch.from_numpy(b["a"][:]).cuda()).cpu().numpy()',
              "library.cuda.is_available()"),
}
PROBE = """import {name} as library, h5py, platform
assert {holds}
blas = sorted({{line.split("/")[-1].strip() for line in open("/proc/self/maps") if "blas" in line.lower()}})
print(library.__name__, library.__version__ + ",", "h5py", h5py.__version__ + ", Python", platform.python_version(),
      *(["with", *blas] if blas else []))
"""


@dataclasses.dataclass
class Row:
    name: str
    words: list
    ranks: int = 1
    library: str = ""  # its components
    ours: bool = False
    product: bool = True


def all_rows(options):
    """In the order in which they alternate; mpirun with the default binding, and without binding."""
    for suffix, backend in (("", []), ("-cpu", ["--backend", "cpu"]))[:2 if options.cpu else 1]:
        words = [options.damier, "multiply", "A.h5", "B.h5", *backend]
        yield Row("damier" + suffix, words, ours=True)
        for ranks in filter(mpirun, options.ranks):
            for kind, more in (("", []), ("-unbound", ["--bind-to", "none"]))[:1 + ("MPI" in launcher() or "RTE" in launcher())]:
                yield Row(f"mpirun{suffix}-{ranks}{kind}", [*mpirun(ranks), *more, *words], ranks, ours=True)
    for name, (module, product, holds) in LIBRARIES.items():  # of each library the first Python that has it
        for python in options.python:
            if (library := answer([python, "-c", PROBE.format(name=name, holds=holds)])) is not None:
                yield Row(name, [python, "-c", SCRIPT.format(module=module, product=product), "A.h5", "B.h5", "C.h5"], library=library)
                break
    for ranks in filter(mpirun, sorted({1, *options.ranks})):
        yield Row(f"hostname-{ranks}", [*mpirun(ranks), "hostname"], ranks, product=False)


# ---- the computer ----

def launcher():
    return ((answer([MPIRUN, "--version"]) or "").splitlines() or [""])[0]


def told_environment():
    """What matters for speed."""
    return {name: value for name, value in os.environ.items() if re.match(r"(OMP|OMPI|OPENBLAS|MKL|PRTE|CUDA|NCCL|HDF5|DAMIER)_", name)}


def cpu_limit():
    """Cores that the control group allows, None where it does not say."""
    with contextlib.suppress(OSError, ValueError):
        allowed, period = pathlib.Path("/sys/fs/cgroup/cpu.max").read_text(encoding="utf-8").split()
        return int(allowed) / int(period)
    return None


def machine():
    gpus = sorted((answer(["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]) or "").splitlines())
    return {"device": " and ".join([processor(), *sorted({gpu.split(",")[0] for gpu in gpus})]), "gpus": gpus, "cores": os.cpu_count(),
            "cores_allowed": cores(), "cpu_limit": cpu_limit(), "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "system": " ".join(os.uname()[i] for i in (0, 2, 4)), "launcher": launcher()}
