"""Helpers for the tests of the cluster: nodes, jobs, and checks for leftovers."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CLUSTER = str(HERE / "cluster")
JOB = str(ROOT / "slurm" / "multiply.sbatch")
shared = pathlib.Path(subprocess.run([CLUSTER, "shared"], capture_output=True, text=True).stdout.strip())
RATE = 200 # Mbit/s of every link
failures = []


def environment():
    env = {k: v for k, v in os.environ.items() if not re.match("DAMIER_|SLURM|OMPI_|PMIX", k)}
    env.update(PATH=f"{shared}/bin:" + env["PATH"], OPENBLAS_NUM_THREADS="1", BIND="none",
               HDF5_USE_FILE_LOCKING="FALSE", LC_ALL="C", SLURM_PMIX_FENCE="ring")
    # An OpenBLAS older than the CPU uses slow kernels, and damier warns of it.
    if "avx2" in pathlib.Path("/proc/cpuinfo").read_text():
        env["OPENBLAS_CORETYPE"] = "Haswell"
    return env


def start(arguments, **more):
    """Starts cluster ARGUMENTS in the shared folder; text_of() returns its output so far."""
    env = {**environment(), **more}
    output = tempfile.TemporaryFile()
    process = subprocess.Popen([CLUSTER, *arguments], cwd=shared, env=env, stdin=subprocess.DEVNULL,
                               stdout=output, stderr=subprocess.STDOUT)
    process.output = output
    return process


def text_of(process):
    """Reads without moving the file position, which the writers share."""
    return os.pread(process.output.fileno(), 1 << 24, 0).decode(errors="replace")


class Ended:
    """How a started process ended; code None: not within SECONDS."""

    def __init__(self, process, seconds):
        began = time.monotonic()
        try:
            self.code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            self.code = None
        self.seconds, self.text = time.monotonic() - began, text_of(process)

    def __str__(self):
        return f"exit {self.code} after {self.seconds:.1f} s:\n{self.text}"


def on(node, *command, seconds=120, **more):
    return Ended(start(["exec", node, "--", *command], **more), seconds)


def check(condition, what, details=""):
    print(f"{'ok' if condition else 'FAILED'}: {what}", flush=True)
    if not condition:
        failures.append(what)
        print("    " + str(details).replace("\n", "\n    "), flush=True)


def processes(node=None):
    """Running processes of the cluster, or of a node: [(pid, name)]."""
    pins = [shared.parent / "net" / node] if node else (shared.parent / "net").iterdir()
    spaces = {f"net:[{pin.stat().st_ino}]" for pin in pins}
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(process / "ns/net") in spaces:
                found.append((int(process.name), (process / "comm").read_text().strip()))
        except OSError:
            pass # gone, or a zombie
    return found


def send(node, signal, name):
    """Sends SIGNAL to all processes of that name on NODE; returns their number."""
    pids = [pid for pid, comm in processes(node) if comm == name]
    for pid in pids:
        os.kill(pid, signal)
    return len(pids)


def left_on(nodes, seconds=10):
    """Ranks and daemons that still run on NODES after SECONDS."""
    until = time.monotonic() + seconds
    while True:
        left = [p for node in nodes for p in processes(node)
                if p[1] in ("damier", "damier-bench", "orted", "mpirun", "srun", "slurmstepd")]
        if not left or time.monotonic() > until:
            return left
        time.sleep(0.1)


def wait_for(what, seconds=60):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if what():
            return True
        time.sleep(0.1)
    return False


def submit(*arguments, **more):
    ended = on("head", "sbatch", "--parsable", *arguments, **more)
    if ended.code != 0:
        sys.exit(f"sbatch failed: {ended}")
    return ended.text.split()[-1]


def show(job):
    """scontrol show job, as a dictionary."""
    return dict(re.findall(r"(\w+)=(\S*)", on("head", "scontrol", "show", "job", job).text))


def done(job, seconds):
    """The job's final state: {} if it does not end in time."""
    ended = {}

    def over():
        ended.update(show(job))
        return ended.get("JobState") not in ("PENDING", "RUNNING", "CONFIGURING", "REQUEUED", None)

    return ended if wait_for(over, seconds) else {}


def log_of(job):
    path = shared / f"damier-{job}.log"
    return path.read_text() if path.exists() else ""


def right(name, of="A", by=None):
    """NumPy's verdict on C = A·B, or A·A."""
    import h5py
    import numpy
    try:
        a, b = (h5py.File(shared / f"{factor}.h5")["a"][:] for factor in (of, by or of))
        c = h5py.File(shared / name)["c"][:]
    except OSError as problem:
        print(f"    {problem}")
        return False
    return bool(numpy.abs(c - a @ b).max() <= 1e-4 * numpy.abs(a @ b).max())
