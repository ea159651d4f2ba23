"""Runs the program damier for what the library lacks: plans for files, sizes and described machines."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _library as lib
from ._errors import Error, FileError, UsageError, VerifyError, of_code
from ._options import texts
from ._record import Record, record_of_text
from ._spelling import in_python, unknown_option

_NEGATABLE = ("verify", "overlap")
# With these set, a process other than rank 0 would print nothing.
_OF_RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")


def find() -> str:
    """The program in DAMIER_PROGRAM, else beside the library or the interpreter (a wheel), else in PATH."""
    stated = os.environ.get("DAMIER_PROGRAM", "")
    folder = lib.folder()
    beside = [os.path.join(folder, "damier"), os.path.join(folder, "..", "bin", "damier")] if folder else []
    beside.append(os.path.join(os.path.dirname(sys.executable), "damier"))
    for path in [stated] if stated else [*beside, shutil.which("damier") or ""]:
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise FileError(f"{stated or 'the program damier'} was not found",
                    hint="install it beside the library or in PATH, or set DAMIER_PROGRAM")


def flags(options: Mapping[str, Any]) -> list[str]:
    """
    >>> flags({"op_b": "t", "verify": False, "reproducible": True, "m": 10, "grid": None})
    ['--op-b=t', '--no-verify', '--reproducible', '--m=10']
    """
    words = []
    switches = {key.replace("_", "-") for key, value in options.items() if isinstance(value, (bool, np.bool_))}
    for name, text in texts(options):
        if name not in switches:
            words.append(f"--{name}={text}")
        elif text == "yes":
            words.append(f"--{name}")
        elif name in _NEGATABLE:
            words.append(f"--no-{name}")
    return words


def _error_of(done: subprocess.CompletedProcess[str]) -> Error:
    message, hint = f"damier ended with {done.returncode}", ""
    for line in done.stderr.splitlines():
        if line.startswith("damier: error: "):
            message = line[len("damier: error: "):]
        elif line.startswith("  hint: "):
            hint = line[len("  hint: "):]
    unknown = re.match("damier .*has no option '--([a-z0-9-]+)'", message)
    if unknown:
        return unknown_option(unknown[1])
    record = record_of_text(done.stdout) if done.returncode == VerifyError.code else None
    return of_code(done.returncode)(in_python(message), hint=in_python(hint), code=done.returncode, record=record)


def record_of(verb: str, operands: list[str], options: Mapping[str, Any]) -> Record:
    for operand in operands:
        if "\0" in operand:
            raise UsageError(f"the file name {operand!r} contains a zero byte")
    environment = {key: value for key, value in os.environ.items() if key not in _OF_RANKS}
    done = subprocess.run([find(), verb, *flags(options), "--json=-", "--quiet", "--quiet", "--", *operands],
                          env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise _error_of(done)
    return record_of_text(done.stdout)
