"""mypy --strict reports nothing for the package and for a page of examples, and each of a page of mistakes; skipped without mypy."""
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parent.parent / "python"

command = [sys.executable, "-m", "mypy"] if importlib.util.find_spec("mypy") else [shutil.which("mypy")]
if not command[0]:
    print("mypy is not installed")
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix="damier-test-") as cache:
    run = [*command, "--strict", "--cache-dir", cache, "--config-file", "pyproject.toml"]
    checked = subprocess.run(run, cwd=PACKAGE, check=False).returncode
    examples = subprocess.run([*run, HERE / "typed" / "examples.py"], cwd=PACKAGE, check=False).returncode
    page = HERE / "typed" / "mistakes.py"
    found = subprocess.run([*run, page], cwd=PACKAGE, check=False, capture_output=True, text=True).stdout
reported = {int(line) for line in re.findall(r"mistakes\.py:(\d+): error", found)}
meant = {number for number, line in enumerate(page.read_text().splitlines(), 1) if line.endswith("# mistake")}
print("mistakes that are not reported:", sorted(meant - reported), "reported lines without one:", sorted(reported - meant))
sys.exit(1 if checked or examples or reported != meant else 0)
