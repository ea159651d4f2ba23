"""Contexts that :func:`damier.matmul` and :func:`damier.gram` keep: what they have opened serves the next product, too."""
from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any, cast

from ._agreement import attempt, check_comm
from ._context import Context
from ._errors import Error
from ._handle import check_same_options
from ._options import texts
from ._progress import Progress
from ._vectors import split

_MOST = 8  # different sets of options per thread
_PLAIN = frozenset((str, int, float, bool, type(None)))  # values that are equal if their types and they are


class _OfThread(threading.local):
    """A context belongs to the thread that uses it, and to the process that opened it."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.contexts: dict[Any, Context] = {}
        self.last: KeptContext | None = None  # of the last call


_of_thread = _OfThread()


def _contexts() -> dict[Any, Context]:
    if _of_thread.process != os.getpid():  # forked: the parent's contexts are of no use
        _of_thread.process, _of_thread.contexts, _of_thread.last = os.getpid(), {}, None
    return _of_thread.contexts


class _OfCommunicators:
    """A communicator keeps its contexts as an attribute: they are closed before it is freed, and before MPI ends."""

    def __init__(self) -> None:
        self.mpi: Any = None
        self.process = os.getpid()
        self.key = 0
        self.all: list[dict[Any, Context]] = []

    def of(self, comm: Any) -> dict[Any, Context]:
        self.mpi = self.mpi or sys.modules["mpi4py.MPI"]
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
        """Collective, as the ends of programs are; not in a forked process, which has no part in MPI."""
        if self.process == os.getpid() and self.mpi is not None and not self.mpi.Is_finalized():
            for contexts in self.all:
                _close(contexts)


_of_communicators = _OfCommunicators()


def _close(contexts: dict[Any, Context]) -> None:
    for context in contexts.values():
        context.close()
    contexts.clear()


class KeptContext:
    """A context for one call, which is kept unless a rank has a PROGRESS function; collective in COMM, unless it is None.

    Options are compared as values, by their texts; ranks agree on them, and on whether all have a context, before one is used.
    Numbers in memory are set for the call alone."""

    __slots__ = "contexts", "key", "context", "numbers", "options", "types"

    def __init__(self, comm: Any, options: dict[str, Any], progress: Progress | bool | None = None) -> None:
        check_comm(comm)
        self.contexts = _contexts() if comm is None else _of_communicators.of(comm)
        plain, vectors = split(options)
        stated, problem = attempt(sorted, texts(plain))
        key = None if problem else tuple(stated)
        has, keeps = check_same_options(comm, problem, ("functions", stated, vectors), (key in self.contexts, progress is None))
        self.key = key if keeps else None
        self.context = self.contexts.pop(key) if has and keeps else Context(comm, progress=progress, **cast(Any, plain))
        self.numbers = self.context._with(vectors) if vectors else None
        self.options, self.types = options, list(map(type, options.values()))
        if comm is None:
            _of_thread.last = self if keeps and _PLAIN.issuperset(self.types) else None

    def take_again(self, options: Mapping[str, object]) -> bool:
        """Takes the context for another call, if its OPTIONS are the same; it may serve another call meanwhile."""
        if self.types != list(map(type, options.values())) or self.options != options or _of_thread.process != os.getpid():
            return False
        context = self.contexts.pop(self.key, None)
        self.context = context or self.context
        return context is not None

    def __enter__(self) -> Context:
        try:
            if self.numbers is not None:
                self.numbers.__enter__()
        except BaseException as error:
            self.numbers = None
            self.__exit__(type(error), error, None)
            raise
        return self.context

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        context, contexts = self.context, self.contexts
        if error is not None and _of_thread.last is self:
            _of_thread.last = None
        if self.numbers is not None:
            self.numbers.__exit__(None, None, None)
        if self.key is None:
            context.__exit__(kind, error, trace)
        elif error is None or (isinstance(error, Error) and error.agreed):
            contexts[self.key] = context
            while len(contexts) > _MOST:
                contexts.pop(next(iter(contexts))).close()
        elif not isinstance(error, Error):
            context.close()


def like_last(product: tuple[str, ...], a: Any, b: Any, out: Any, options: Mapping[str, object]) -> Any:
    """The result of a PRODUCT of arrays, without a communicator, that is like the last one of this thread; None: it must be made in
    full.  It is tried first: all that is known of the options and arrays of that call takes longer to find out than a small product."""
    last = _of_thread.last
    if last is None or not last.take_again(options):
        return None
    with last as context:
        return context.like_before(product, a, b, out)


@atexit.register
def _close_all() -> None:
    _close(_contexts())
    _of_communicators.close()
