"""C = A B as users type it, without what tests set; the first C of each way is compared with NumPy's. A size is N or MxKxN."""
import contextlib
import itertools
import os
import pathlib
import re
import shlex

from measure import MPIRUN, Failed, answer, cores, mpirun, multiply, processor, run, timed
from sets.jobs import NUMPY, judge, result_of

LIBRARY = """import numpy, h5py, platform
blas = sorted({line.split("/")[-1].strip() for line in open("/proc/self/maps") if "blas" in line.lower()})
print(f"numpy {numpy.__version__}, h5py {h5py.__version__}, Python {platform.python_version()} with", *blas)
"""
SET_BY_TESTS = r"\w*_NUM_THREADS$|(OMPI|PRTE)_MCA_(rmaps|hwloc|mpi_yield)"
TOLD = r"(OMP|OMPI|OPENBLAS|MKL|PRTE|CUDA|NCCL|HDF5|DAMIER)_"


def machine():
    limit = None  # of the control group
    with contextlib.suppress(OSError, ValueError):
        allowed, period = pathlib.Path("/sys/fs/cgroup/cpu.max").read_text(encoding="utf-8").split()
        limit = int(allowed) / int(period)
    return {"device": processor(), "cores": os.cpu_count(), "cores_allowed": cores(), "cpu_limit": limit,
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), "system": " ".join(os.uname()[i] for i in (0, 2, 4)),
            "launcher": ((answer([MPIRUN, "--version"]) or "").splitlines() or [""])[0]}


def way(words, count=1, library="", makes_c=True):
    ours, checked = "damier" in words, []

    def call():
        took, record = multiply(words, "C.h5", "record.json") if ours else timed(lambda: run(words))
        if makes_c and not checked and judge(result_of()) != "right":
            raise Failed("C is not NumPy's product")
        checked.append(True)
        return took | ({"backend": record["machine"]["backend"]} if ours else {})

    return {"command": shlex.join(words + ["-o", "C.h5"] * ours), "ranks": count, "library": library}, call


def cases(bench, sizes="256,512,4096,8192", types="f64,f32", ranks=""):
    for name in [name for name in os.environ if re.match(SET_BY_TESTS, name)]:
        del os.environ[name]
    bench.about |= {"machine": machine(), "environment": {name: value for name, value in os.environ.items() if re.match(TOLD, name)},
                    "file_system": answer(["stat", "-f", "-c", "%T", "."])}
    counts = [int(count) for count in ranks.split(",")] if ranks else [2**i for i in range(cores().bit_length())]
    damier, launched = ["damier", "multiply", "A.h5", "B.h5"], {count: mpirun(count) for count in sorted(counts) if mpirun(count)}
    for size, dtype in itertools.product(sizes.split(","), types.split(",")):
        m, k, n = size.split("x") if "x" in size else [size] * 3
        bench.generate("A.h5", m, k, dtype, "--seed", 1, "--force")
        bench.generate("B.h5", k, n, dtype, "--seed", 2, "--force")
        yield {"shape": f"{m} x {n} x {k}", "type": dtype}, {
            "damier": way(damier), **{f"mpirun-{count}": way([*by, *damier], count) for count, by in launched.items()},
            "numpy": way([bench.python, "-c", NUMPY], library=answer([bench.python, "-c", LIBRARY])),
            **{f"hostname-{count}": way([*by, "hostname"], count, makes_c=False) for count, by in launched.items()}}
