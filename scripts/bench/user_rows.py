"""What a user would run for one product, from files to a file: the rows of user_runs.py."""
import dataclasses
import shutil
import subprocess

# As short as users would write them; A, B and C are the operands.
OPEN = """import sys, h5py{module}
with h5py.File(sys.argv[1]) as a, h5py.File(sys.argv[2]) as b, h5py.File(sys.argv[3], "w") as c:
    c["c"] = """
NUMPY = OPEN.format(module="") + 'a["a"][:] @ b["a"][:]\n'
CUPY = OPEN.format(module=", cupy") + 'cupy.asnumpy(cupy.asarray(a["a"][:]) @ cupy.asarray(b["a"][:]))\n'
TORCH = OPEN.format(module=", torch") + (
    '(torch.from_numpy(a["a"][:]).cuda() @ torch.from_numpy(b["a"][:]).cuda()).cpu().numpy()\n')

# Each prints its versions, and exits with 0 if its row can be run.
PROBES = {
    "numpy": "import numpy as library, h5py",
    "cupy": "import cupy as library, h5py\nassert library.cuda.runtime.getDeviceCount() > 0",
    "torch": "import torch as library, h5py\nassert library.cuda.is_available()",
}
TOLD = """
import platform
blas = sorted({line.split("/")[-1].strip() for line in open("/proc/self/maps") if "blas" in line.lower()})
print(library.__name__, library.__version__ + ",", "h5py", h5py.__version__ + ", Python", platform.python_version(),
      *(["with", *blas] if blas else []))
"""
SCRIPTS = {"numpy": NUMPY, "cupy": CUPY, "torch": TORCH}


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


def answer(words, environment):
    """What a command prints, None where it fails."""
    try:
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120, check=True,
                              stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


class Launcher:
    """mpirun, with as few words as it takes here."""

    def __init__(self, program, environment):
        self.program = program if shutil.which(program) else None
        self.environment = environment
        self.version = ((answer([program, "--version"], environment) or "").splitlines() or [""])[0]
        self.is_open_mpi = "Open MPI" in self.version or "OpenRTE" in self.version
        self.enough = {}

    def words(self, ranks):
        """None where it does not start so many; Open MPI wants to be told where it counts fewer cores."""
        if ranks not in self.enough:
            tries = [[], ["--oversubscribe"]] if self.is_open_mpi else [[]]
            commands = [[self.program, "-n", str(ranks), *more] for more in tries]
            self.enough[ranks] = next(
                (c for c in commands if answer([*c, "true"], self.environment) is not None), None)
        return self.enough[ranks]

    def rows(self, ranks, name, words, **more):
        """With the default binding, and without binding."""
        start = self.words(ranks)
        if not start:
            return
        yield Row(f"{name}-{ranks}", [*start, *words], ranks, **more)
        if self.is_open_mpi:
            yield Row(f"{name}-{ranks}-unbound", [*start, "--bind-to", "none", *words], ranks, **more)


def python_rows(pythons, environment):
    """Of each library the first Python that has it."""
    for name, probe in PROBES.items():
        for python in pythons:
            told = answer([python, "-c", probe + TOLD], environment)
            if told is not None:
                yield Row(name, [python, "-c", SCRIPTS[name], "{a}", "{b}", "{c}"], library=told)
                break


def damier_words(damier, backend):
    chosen = ["--backend", backend] if backend else []
    return [damier, "multiply", "{a}", "{b}", "-o", "{c}", *chosen, "--json", "{json}"]


def all_rows(options, launcher, environment):
    """In the order in which they alternate."""
    for suffix, backend in (("", None), ("-cpu", "cpu"))[:2 if options.cpu else 1]:
        words = damier_words(options.damier, backend)
        yield Row("damier" + suffix, words, own_record=True)
        for ranks in options.ranks if launcher.program else []:
            yield from launcher.rows(ranks, f"mpirun{suffix}", words, own_record=True)
    yield from python_rows(options.python, environment)
    for ranks in sorted({1, *options.ranks}) if launcher.program else []:
        if launcher.words(ranks):
            yield Row(f"hostname-{ranks}", [*launcher.words(ranks), "hostname"], ranks, product=False)
