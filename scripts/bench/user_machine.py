"""The computer and the environment that whole commands are timed in."""
import contextlib
import os
import pathlib
import re
import subprocess

# Variables that tests and other benchmarks set, but users do not.
NOT_OF_USERS = re.compile(r"\w*_NUM_THREADS$|(OMPI|PRTE)_MCA_(rmaps|hwloc|mpi_yield)")
TOLD_VARIABLES = re.compile(r"(OMP|OMPI|OPENBLAS|MKL|PRTE|CUDA|NCCL|HDF5|DAMIER)_")


def environment():
    return {name: value for name, value in os.environ.items() if not NOT_OF_USERS.match(name)}


def told_environment():
    """What matters for speed of it."""
    return {name: value for name, value in environment().items() if TOLD_VARIABLES.match(name)}


def first_line(path, start=""):
    with contextlib.suppress(OSError):
        for line in pathlib.Path(path).read_text().splitlines():
            if line.startswith(start):
                return line[len(start):].strip(" \t:")
    return ""


def cpu_limit():
    """Cores that the control groups allow, None where they do not say."""
    group = first_line("/proc/self/cgroup", "0::") or "/"
    folders = [pathlib.Path("/sys/fs/cgroup" + group), *pathlib.Path("/sys/fs/cgroup" + group).parents]
    limits = []
    for folder in folders:
        words = first_line(folder / "cpu.max").split()
        if len(words) == 2 and words[0] != "max":
            limits.append(int(words[0]) / int(words[1]))
    return min(limits, default=None)


def gpus():
    command = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return []


def machine(launcher):
    names = sorted(gpus())
    parts = [first_line("/proc/cpuinfo", "model name"), *sorted({name.split(",")[0] for name in names})]
    return {"device": " and ".join(filter(None, parts)), "gpus": names, "cores": os.cpu_count(),
            "cores_allowed": len(os.sched_getaffinity(0)), "cpu_limit": cpu_limit(),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "system": " ".join(os.uname()[i] for i in (0, 2, 4)), "launcher": launcher.version}


def file_system(folder):
    done = subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True, text=True, check=False)
    return done.stdout.strip()
