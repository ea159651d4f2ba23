"""The example of Octave: it computes what Octave computes, from files that damier writes, and nothing is warned of."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from running import ROOT, environment, expect

SKIPPED = 77


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--damier", type=pathlib.Path, required=True)
    folder = parser.parse_args().damier.parent
    octave = shutil.which("octave-cli")
    if not octave:
        return SKIPPED
    variables = {**environment(), "PATH": f"{folder}:{os.environ['PATH']}"}
    variables.pop("LD_PRELOAD", None)
    with tempfile.TemporaryDirectory() as name:
        done = subprocess.run([octave, "--norc", "--no-history", ROOT / "examples/product.m"], cwd=name, env=variables, capture_output=True,
                              text=True, timeout=100, check=False)
    lines = done.stdout.splitlines()
    expect(done.returncode == 0 and done.stderr == "", f"exit {done.returncode}: {done.stderr}")
    expect(len(lines) == 5 and all(line.endswith(": right") for line in lines), done.stdout)
    return 0


sys.exit(main())
