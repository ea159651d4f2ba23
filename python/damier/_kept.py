"""Contexts that :func:`damier.matmul` keeps from call to call: what they have opened serves the next product, too."""
from __future__ import annotations

import atexit
import os
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


@contextmanager
def kept_context(options: dict[str, Any]) -> Iterator[Context]:
    """A context without communicator and progress function, for this call."""
    contexts = _contexts()
    try:
        key = tuple(sorted((name, type(value), value) for name, value in options.items()))
        context = contexts.pop(key, None)
    except TypeError:  # a value that cannot be a key
        with Context(**options) as context:
            yield context
        return
    if context is None:
        context = Context(**options)
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
    for context in _contexts().values():
        context.close()
    _contexts().clear()
