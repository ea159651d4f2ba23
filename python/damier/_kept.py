"""Contexts that :func:`damier.matmul` and :func:`damier.gram` keep: what they have opened serves the next product, too."""
from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._context import Context
from ._errors import Error

_MOST = 8  # different sets of options per thread


class _OfThread(threading.local):
    """A context belongs to the thread that uses it, and to the process that opened it."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.contexts: dict[Any, Context] = {}


_of_thread = _OfThread()


def _contexts() -> dict[Any, Context]:
    if _of_thread.process != os.getpid():  # forked: the parent's contexts are of no use
        _of_thread.process, _of_thread.contexts = os.getpid(), {}
    return _of_thread.contexts


class _OfCommunicators:
    """A communicator keeps its contexts as an attribute: they are closed before it is freed, and before MPI ends."""

    def __init__(self) -> None:
        self.mpi: Any = None
        self.key = 0
        self.all: list[dict[Any, Context]] = []

    def of(self, comm: Any) -> dict[Any, Context] | None:
        """None: not a communicator of mpi4py."""
        self.mpi = self.mpi or sys.modules.get("mpi4py.MPI")
        if self.mpi is None or not isinstance(comm, self.mpi.Comm):
            return None
        if not self.key:
            self.key = self.mpi.Comm.Create_keyval(delete_fn=self._freed)
            self.mpi.COMM_SELF.Set_attr(self.key, {})  # deleted first when MPI ends
        contexts: dict[Any, Context] | None = comm.Get_attr(self.key)
        if contexts is None:
            contexts = {}
            comm.Set_attr(self.key, contexts)
            self.all.append(contexts)
        return contexts

    def _freed(self, comm: Any, _: int, contexts: dict[Any, Context]) -> None:
        if comm == self.mpi.COMM_SELF:
            self.close()
        _close(contexts)
        self.all = [one for one in self.all if one is not contexts]

    def close(self) -> None:
        """Collective, as the ends of programs are."""
        if self.mpi is not None and not self.mpi.Is_finalized():
            for contexts in self.all:
                _close(contexts)


_of_communicators = _OfCommunicators()


def _close(contexts: dict[Any, Context]) -> None:
    for context in contexts.values():
        context.close()
    contexts.clear()


@contextmanager
def kept_context(comm: Any, options: dict[str, Any]) -> Iterator[Context]:
    """A context without progress function, for this call; collective in COMM, unless it is None."""
    contexts = _contexts() if comm is None else _of_communicators.of(comm)
    try:
        if contexts is None:
            raise TypeError
        key = tuple(sorted((name, type(value), value) for name, value in options.items()))
        context = contexts.pop(key, None)
    except TypeError:  # a value that cannot be a key
        with Context(comm, **options) as context:
            yield context
        return
    if context is None:
        context = Context(comm, **options)
    try:
        yield context
    except Error as error:
        if not error.agreed or not context:
            raise
        contexts[key] = context
        raise
    except BaseException:
        context.close()
        raise
    contexts[key] = context
    while len(contexts) > _MOST:
        contexts.pop(next(iter(contexts))).close()


@atexit.register
def _close_all() -> None:
    _close(_contexts())
    _of_communicators.close()
