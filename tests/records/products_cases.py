"""The benchmark of products: its records, their tables, and another library if it is installed."""
import importlib.util
import json
import pathlib
import subprocess
import sys

from running import ROOT, environment, has_hydra, records_of, run_checks


def bench(script, damier, output, *words):
    command = [sys.executable, ROOT / "scripts/bench" / script, *words, "--damier", damier, "--output", output]
    done = subprocess.run(list(map(str, command)), env=environment(), capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return records_of(output)


def again(damier, path, records):
    """Measures RECORDS, in a file, again."""
    path.write_text("".join(json.dumps({"verb": "bench multiply"} | record) + "\n" for record in records))
    return bench("again.py", damier, path, path)


def products(damier, path, turns):
    """Two ranks by shared memory and by messages, and the library in one process."""
    ways = (2, "--threads 1 --transport shared"), (1, "--threads 2 --against-library"), (2, "--threads 1 --transport host")
    return again(damier, path, turns * [{"command": f"damier bench multiply --size 64 --repetitions 1 {words}", "machine": {"ranks": ranks}}
                                        for ranks, words in ways])


def tables(*files):
    done = subprocess.run([sys.executable, ROOT / "scripts/report/results.py", *files], capture_output=True, text=True, check=True)
    return done.stdout


def table(name, *files):
    text = tables(*files)
    assert f"{name}:" in text, text
    return [line for line in text.splitlines() if line.startswith("|")]


def check_ranks_against_library(damier, folder):
    found = products(damier, folder / "cpu.jsonl", 2)
    assert [(r["machine"]["ranks"], "library_s" in r["repetitions"]) for r in found] == [(2, False), (1, True), (2, False)] * 2, found
    assert [row.split(" | ")[2:4] for row in table("cpu", folder / "cpu.jsonl")[2:]] == [["shared", "2"], ["host", "2"]]


def check_versions(damier, folder):
    """Records of another version get a table of their own, below and marked; a record without one has that of its commit."""
    found, both = products(damier, folder / "cpu.jsonl", 1), folder / "both.jsonl"
    other = [{**record, "version": "0.1.0", "git": "0123456789ab"} for record in found]
    other[1]["version"] = ""
    both.write_text("".join(json.dumps(record) + "\n" for record in other + found))
    text = tables(both)
    assert [line.split(" |")[0] for line in text.splitlines() if line.startswith(("| m", "| 6", "**"))] == [
        "| m × n × k", *["| 64 x 64 x 64"] * 2, "**With damier 0.1.0, not measured again since:**",
        "| m × n × k", *["| 64 x 64 x 64"] * 2], text


def check_checkpoints(damier, folder):
    if importlib.util.find_spec("h5py") is None:
        print("left out: commands.py takes h5py")
        return
    found = bench("commands.py", damier, folder / "checkpoint.jsonl", "checkpoint", "size=64", "--runs", 1, "--folder", folder)
    assert [r["way"] for r in found] == ["--no-checkpoint", "--checkpoint", "--checkpoint-interval 1s"], found
    assert len(table("checkpoint", folder / "checkpoint.jsonl")) == 4
    assert not list(folder.glob("damier-checkpoint-*")), "files are left"


def check_summary(_, __):
    """Turns may have failed, or lack a phase; ratios are those of the same turns."""
    sys.path.append(str(ROOT / "scripts/bench"))
    import measure  # pylint: disable=import-outside-toplevel
    reference = [{"seconds": 1.0}, {"error": "none"}, {"seconds": 2.0}]
    found = measure.summary([{"seconds": 2.0, "launch_s": None}, {"seconds": 3.0}, {"seconds": 2.0, "launch_s": 0.5, "ranks": 2}], reference)
    assert found == {"seconds": [2.0, 2.0, 3.0], "launch_s": [0.5] * 3, "ranks": 2, "ratio": [1.5, 1.0, 2.0], "processor_ratio": None,
                     "turns": [2.0, 3.0, 2.0]}, found


def check_residual(_, __):
    """A product without one panel of k is wrong."""
    try:
        import numpy as np  # pylint: disable=import-outside-toplevel
    except ImportError:
        print("left out: rivals.py takes NumPy")
        return
    sys.path.append(str(ROOT / "scripts/bench"))
    import rivals  # pylint: disable=import-outside-toplevel
    random = np.random.default_rng(5)
    a, b = (random.uniform(-1, 1, (300, 300)) for _ in range(2))
    for c, is_right in ((a @ b, True), (a[:, :-1] @ b[:-1], False), (a @ b + np.nan, False)):
        fake = type("Fake", (), {"n": 300, "apply": lambda _, name, x, absolute=False, c=c:
                                 (abs if absolute else lambda m: m)({"a": a, "b": b, "c": c}[name]) @ x})()
        assert (rivals.residual(fake, "f64") < 1) == is_right


def has_scalapack():
    probe = "import ctypes, numpy, mpi4py; ctypes.CDLL('libscalapack-openmpi.so')"
    return subprocess.run([sys.executable, "-c", probe], capture_output=True, check=False).returncode == 0


def check_scalapack(damier, folder):
    """The fastest of its grids and blocks is found, and its product is verified."""
    if not has_scalapack():
        print("left out: pdgemm takes ScaLAPACK, NumPy and mpi4py")
        return
    found = again(damier, folder / "scalapack.jsonl", [
        {"verb": "scalapack", "way": way, "turns": [1, 1], "machine": {"ranks": 2}, "problem": {"shape": "100 x 100 x 100", "m": 100, "work": "f64"},
         "command": "damier bench multiply --size 100 --threads 1 --repetitions 1"} for way in ("damier", "pdgemm")])
    assert [r["way"] for r in found] == ["pdgemm", "damier"] and 0 < found[0]["residual"][0] < 0.1, found
    assert table("scalapack", folder / "scalapack.jsonl")[2].endswith("| all |")


def check_pdsyrk(damier, folder):
    """Gram products of two ranks, and ScaLAPACK's."""
    library, records = pathlib.Path(damier).with_name("libdamier.so"), folder / "gram.jsonl"
    if not (has_scalapack() and library.exists()):
        print("left out: pdsyrk takes ScaLAPACK, NumPy, mpi4py and the library")
        return
    subprocess.run(["mpirun", "--oversubscribe", "-n", "2", sys.executable, ROOT / "scripts/bench/array_calls.py", "gram_ranks",
                    "size=100", "--pairs", "1", "-o", records], capture_output=True, timeout=600, check=True,
                   env=environment() | {"PYTHONPATH": str(ROOT / "python"), "DAMIER_LIBRARY": str(library)})
    assert {"gram", "matmul", "syrk"} <= {record["way"] for record in records_of(records)}
    assert len(table("gram", records)) == 3


if has_hydra():  # the script starts ranks by the mpirun in PATH, which is another one's
    run_checks(check_summary, check_residual)
else:
    run_checks(check_summary, check_ranks_against_library, check_versions, check_checkpoints, check_residual, check_scalapack, check_pdsyrk)
