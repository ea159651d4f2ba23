"""What ranks state before a collective call: an error of one rank is raised by all, and none waits for it."""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ._errors import Error, UsageError

_BITS = 62  # of a digest, whose complement is a number of 64 bits, too
_MOST_READY = 2  # all calls send as many numbers


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
    import hashlib  # of several ranks alone

    found = hashlib.blake2b(repr(facts).encode(errors="surrogateescape"), digest_size=8).digest()
    return int.from_bytes(found, "big") >> (64 - _BITS)


def agree(comm: Any, problem: Exception | None, facts: tuple[Any, ...] = (), ready: tuple[bool, ...] = (),
          explain: Callable[[list[Any]], Error] | None = None) -> tuple[bool, ...]:
    """Collective in COMM, unless it is None: which of READY are true on all ranks.

    Raises PROBLEM; all ranks raise that of the first one that has any.  FACTS, whose first one says what kind of call this is,
    have the same text where they are equal; ranks with others raise what EXPLAIN makes of those of all ranks, or that their
    calls differ.  So ranks may meet here in different calls, and no rank waits for another afterwards."""
    if comm is None or comm.Get_size() == 1:
        if problem is not None:
            raise problem
        return ready
    digest = _digest(facts)
    stated = np.array([digest, -digest, problem is not None, *(not one for one in ready), *[0] * (_MOST_READY - len(ready))], np.int64)
    comm.Allreduce(sys.modules["mpi4py.MPI"].IN_PLACE, stated, sys.modules["mpi4py.MPI"].MAX)
    if stated[2]:
        rank = comm.Get_rank()
        problems = comm.allgather(problem and told(problem, rank))
        first = next(i for i, one in enumerate(problems) if one is not None)
        if first == rank and isinstance(problem, Error):
            raise problem
        raise problems[first] from problem
    if stated[0] != -stated[1]:
        everyone = comm.allgather(facts)
        if explain is not None and all(one[:1] == facts[:1] for one in everyone):
            raise explain(everyone)
        raise UsageError("the ranks do not make the same call", hint="all ranks make the same calls, with the same options and files")
    return tuple(not one for one in stated[3:3 + len(ready)])
