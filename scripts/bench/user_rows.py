"""What a user would run for one product, from files to a file: the rows of user_runs.py; and the computer that runs them."""
import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess

for name in list(os.environ):  # what tests and other benchmarks set, but users do not
    if re.match(r"\w*_NUM_THREADS$|(OMPI|PRTE)_MCA_(rmaps|hwloc|mpi_yield)", name):
        del os.environ[name]

# As short as users would write them; A, B and C are the operands.
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
    words: list  # {a}, {b}, {c} and {json} stand for files
    ranks: int = 1
    library: str = ""  # its components
    own_record: bool = False
    product: bool = True

    def command(self, files):
        return [word.format(**files) if word in ("{a}", "{b}", "{c}", "{json}") else word for word in self.words]


def answer(words):
    """What a command prints, None where it fails."""
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=120, check=True,
                              stdin=subprocess.DEVNULL).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


class Launcher:
    """mpirun, with as few words as it takes here."""

    def __init__(self, program):
        self.program = program if shutil.which(program) else None
        self.version = ((answer([program, "--version"]) or "").splitlines() or [""])[0]
        self.is_open_mpi = "Open MPI" in self.version or "OpenRTE" in self.version
        self.enough = {}

    def words(self, ranks):
        """None where it does not start so many; Open MPI wants to be told where it counts fewer cores."""
        if ranks not in self.enough:
            commands = [[self.program, "-n", str(ranks), *more] for more in ([], ["--oversubscribe"])[:1 + self.is_open_mpi]]
            self.enough[ranks] = next((c for c in commands if answer([*c, "true"]) is not None), None) if self.program else None
        return self.enough[ranks]


def all_rows(options, launcher):
    """In the order in which they alternate; mpirun with the default binding, and without binding."""
    for suffix, backend in (("", []), ("-cpu", ["--backend", "cpu"]))[:2 if options.cpu else 1]:
        words = [options.damier, "multiply", "{a}", "{b}", "-o", "{c}", *backend, "--json", "{json}"]
        yield Row("damier" + suffix, words, own_record=True)
        for ranks in filter(launcher.words, options.ranks):
            for kind, more in (("", []), ("-unbound", ["--bind-to", "none"]))[:1 + launcher.is_open_mpi]:
                yield Row(f"mpirun{suffix}-{ranks}{kind}", [*launcher.words(ranks), *more, *words], ranks, own_record=True)
    for name, (module, product, holds) in LIBRARIES.items():  # of each library the first Python that has it
        told = ((answer([python, "-c", PROBE.format(name=name, holds=holds)]), python) for python in options.python)
        library, python = next(((said, python) for said, python in told if said is not None), (None, None))
        if python:
            yield Row(name, [python, "-c", SCRIPT.format(module=module, product=product), "{a}", "{b}", "{c}"], library=library)
    for ranks in filter(launcher.words, sorted({1, *options.ranks})):
        yield Row(f"hostname-{ranks}", [*launcher.words(ranks), "hostname"], ranks, product=False)


# ---- the computer ----

def told_environment():
    """What matters for speed."""
    return {name: value for name, value in os.environ.items() if re.match(r"(OMP|OMPI|OPENBLAS|MKL|PRTE|CUDA|NCCL|HDF5|DAMIER)_", name)}


def first_line(path, start=""):
    with contextlib.suppress(OSError):
        for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
            if line.startswith(start):
                return line[len(start):].strip(" \t:")
    return ""


def cpu_limit():
    """Cores that the control groups allow, None where they do not say."""
    group = pathlib.Path("/sys/fs/cgroup" + (first_line("/proc/self/cgroup", "0::") or "/"))
    limits = [first_line(folder / "cpu.max").split() for folder in (group, *group.parents)]
    return min((int(words[0]) / int(words[1]) for words in limits if len(words) == 2 and words[0] != "max"), default=None)


def machine(launcher):
    gpus = answer(["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"])
    names = sorted((gpus or "").splitlines())
    parts = [first_line("/proc/cpuinfo", "model name"), *sorted({name.split(",")[0] for name in names})]
    return {"device": " and ".join(filter(None, parts)), "gpus": names, "cores": os.cpu_count(),
            "cores_allowed": len(os.sched_getaffinity(0)), "cpu_limit": cpu_limit(),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "system": " ".join(os.uname()[i] for i in (0, 2, 4)), "launcher": launcher.version}


def file_system(folder):
    return answer(["stat", "-f", "-c", "%T", folder]) or ""
