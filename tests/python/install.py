"""pip installs the package into a fresh environment, without a network; the package works there."""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = """
import sys
for optional in ("h5py", "mpi4py"):
    sys.modules[optional] = None  # cannot be imported
import pathlib, damier, numpy as np
folder = pathlib.Path(damier.__file__).parent
assert folder.is_relative_to(sys.prefix), folder
assert (folder / "py.typed").is_file()
a = np.arange(6.0).reshape(2, 3)
np.testing.assert_array_equal(damier.matmul(a, a, op_b="t"), a @ a.T)
np.save("a.npy", a)
damier.multiply("a.npy", "a.npy", "c.npy", op_a="t")
np.testing.assert_array_equal(np.load("c.npy"), a.T @ a)
import importlib.metadata
assert importlib.metadata.version("damier") == damier.__version__
"""


def run(*words, cwd):
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(list(map(str, words)), cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")


def main():
    missing = [name for name in ("pip", "setuptools", "wheel") if not importlib.util.find_spec(name)]
    if missing:
        print(f"not installed: {', '.join(missing)}")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="damier-test-") as name:
        folder = pathlib.Path(name)
        # Builds leave files in the sources.
        shutil.copytree(ROOT / "python", folder / "sources", ignore=shutil.ignore_patterns("__pycache__", "build"))
        venv.create(folder / "venv", system_site_packages=True, with_pip=False)
        python = folder / "venv" / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "./sources", cwd=folder)
        run(python, "-c", PROGRAM, cwd=folder)


if __name__ == "__main__":
    main()
