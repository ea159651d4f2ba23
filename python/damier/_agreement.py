"""What ranks state before a collective call: an error of one rank is raised by all, and none waits for it."""
from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ._errors import Error, UsageError

_BITS = 62  # of a digest, whose complement is a number of 64 bits, too


def check_comm(comm: Any) -> None:
    module = sys.modules.get("mpi4py.MPI")  # loaded by whoever created a communicator
    if comm is not None and (module is None or not isinstance(comm, module.Comm)):
        raise UsageError(f"comm is {type(comm).__name__}, not a communicator of mpi4py")


def attempt(function: Callable[..., Any], *arguments: Any) -> tuple[Any, Exception | None]:
    """What FUNCTION returns, or the exception it raises, for :func:`agree`."""
    try:
        return function(*arguments), None
    except Exception as error:  # also of other packages, whose arrays the caller passes
        return None, error


def told(problem: Exception, rank: int) -> Error:
    """PROBLEM of RANK for all ranks: the exceptions of other packages may not be known there."""
    if isinstance(problem, Error):
        return problem
    return UsageError(f"{type(problem).__name__} on rank {rank}: {problem}", rank=rank)


def _digest(facts: tuple[Any, ...]) -> int:
    """Equal on all ranks for equal FACTS, unlike hash()."""
    found = hashlib.blake2b(repr(facts).encode(errors="surrogateescape"), digest_size=8).digest()
    return int.from_bytes(found, "big") >> (64 - _BITS)


def agree(comm: Any, problem: Exception | None, facts: tuple[Any, ...] = (), ready: bool = True) -> tuple[bool, bool]:
    """Collective in COMM, unless it is None: whether FACTS, which have the same text wherever they are equal, are the same on
    all ranks; and whether all are READY.  Raises PROBLEM; all ranks raise that of the first one that has any."""
    if comm is None or comm.Get_size() == 1:
        if problem is not None:
            raise problem
        return True, ready
    digest = _digest(facts)
    stated = np.array([digest, -digest, problem is not None, not ready], np.int64)
    comm.Allreduce(sys.modules["mpi4py.MPI"].IN_PLACE, stated, sys.modules["mpi4py.MPI"].MAX)
    if stated[2]:
        rank = comm.Get_rank()
        problems = comm.allgather(problem and told(problem, rank))
        first = next(i for i, one in enumerate(problems) if one is not None)
        if first == rank and isinstance(problem, Error):
            raise problem
        raise problems[first] from problem
    return bool(stated[0] == -stated[1]), not stated[3]
