"""mypy --strict reports nothing for the package; skipped without mypy."""
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile

PACKAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "python"

command = [sys.executable, "-m", "mypy"] if importlib.util.find_spec("mypy") else [shutil.which("mypy")]
if not command[0]:
    print("mypy is not installed")
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix="damier-test-") as cache:
    sys.exit(subprocess.run([*command, "--strict", "--cache-dir", cache, "--config-file", "pyproject.toml"],
                            cwd=PACKAGE, check=False).returncode)
