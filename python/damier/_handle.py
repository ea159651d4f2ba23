"""Opens, configures, calls and closes a context of the library, and handles interrupts of its calls."""
from __future__ import annotations

import ctypes
import importlib
import numbers
import os
import re
import signal
import sys
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar

from . import _library as lib
from ._agreement import agree, attempt, check_comm
from ._errors import DamierWarning, Error, MPIError, StoppedError, UncheckedError, UncheckedWarning, UsageError, of_code
from ._options import texts
from ._progress import Bar, Progress, progress_of
from ._record import Record, record_of_text
from ._spelling import in_python, unknown_option
from ._vectors import Vector, split

Self = TypeVar("Self", bound="Handle")

_SIGINT = int(signal.SIGINT)
# The functions of signal convert numbers to enumerations, which takes longer than a small product.
_signal: Any = importlib.import_module("_signal")

# Only one thread at a time may call the library.
_one_at_a_time = threading.RLock()


# Contexts without a communicator that nothing refers to any more, such as those of threads that ended. The next one that is opened
# closes them: here another thread's call would have to be waited for.
_left: deque[ctypes.c_void_p] = deque()


def _renew() -> None:
    """In a forked process, which has neither the thread that holds the lock, nor those of the contexts."""
    global _one_at_a_time
    _one_at_a_time = threading.RLock()
    _left.clear()


os.register_at_fork(after_in_child=_renew)


def _progress_of(handle: weakref.ref[Handle]) -> Any:
    """The progress function of a context for the library, which does not keep the context alive."""
    def called(_: Any, done: int, total: int) -> int:
        context = handle()
        return 0 if context is None else context._on_progress(done, total)

    return lib.CProgress(called)


_PROMOTION = re.compile(r": \w+ is multiplied as \w+$")  # loses nothing: only the record has it


class Handle:
    """Base class of :class:`damier.Context`."""

    def __init__(self, comm: Any, progress: Progress | bool | None, options: Mapping[str, Any]) -> None:
        check_comm(comm)
        self.comm = comm
        self._strict = str(options.get("allow_unchecked")).lower() in ("false", "no", "0", "off")
        self._record: Record | None = Record()  # None: to be asked for
        self._error = lib.CError()
        self.rank: int = 0 if comm is None else comm.Get_rank()
        self.ranks: int = 1 if comm is None else comm.Get_size()
        self.progress = progress_of(progress, self.rank)
        self._handle = ctypes.c_void_p()
        self._vectors: set[str] = set()  # options with numbers in memory
        self._entries = self._entries_set = 1  # matrices of an operand in the next call; as the library has it
        self.shown = ("a", "b")  # what the operands of the present call are called
        self._is_brief = False  # the next call takes less than a few milliseconds: Python handles signals after it
        self._interrupted = False
        self._raised: BaseException | None = None
        self.process = os.getpid()
        self._callback = _progress_of(weakref.ref(self))
        self._is_watched = True  # the library calls it
        with _one_at_a_time:
            self._open(options)

    def __del__(self, process: Callable[[], int] = os.getpid, left: deque[ctypes.c_void_p] = _left) -> None:
        if getattr(self, "process", 0) == process() and self._handle and self.comm is None:  # at the end modules are gone
            left.append(self._handle)

    def _open(self, options: Mapping[str, Any]) -> None:
        """Collective: ranks with other options than others are refused before anything is opened."""
        while _left:
            lib.library.damier_close(_left.pop())
        plain, vectors = split(options)
        stated, problem = attempt(sorted, texts(plain))
        if problem is None:
            gpus, problem = attempt(_number_of_gpus, plain.get("gpus"), self.comm)
        check_same_options(self.comm, problem, ("Context", stated, vectors))
        self.gpus: int = gpus
        error = lib.CError()
        where = (ctypes.byref(self._handle), ctypes.byref(error))
        if gpus == 1:
            code = lib.library.damier_open_f(lib.ALONE if self.comm is None else _fortran_handle(self.comm), *where)
        else:
            code = lib.library.damier_open_gpus(gpus, *where)
        if code != 0:
            raise _error_of(error)
        lib.library.damier_on_progress(self._handle, self._callback, None)
        try:
            self._set_all([pair for pair in stated if pair[0] not in ("gpus", "type-c")], vectors)
        except Error:
            self.close()
            raise

    def _set_all(self, stated: list[tuple[str, str]], vectors: Mapping[str, Vector]) -> None:
        """Collective."""
        def set_here() -> None:
            for name, text in stated:
                self._set(name, text)
            for name, vector in vectors.items():
                self._set_numbers(name, vector)

        agree(self.comm, attempt(set_here)[1])

    def _set(self, name: str, text: str | None) -> None:
        """None: the default."""
        error = lib.CError()
        words = (os.fsencode(name), None if text is None else os.fsencode(text))
        if lib.library.damier_set(self._handle, *words, ctypes.byref(error)) != 0:
            error.agreed = 1  # see _set_all()
            raise unknown_option(name) if error.message.startswith(b"there is no option") else _error_of(error)

    def _set_numbers(self, key: str, vector: Vector) -> None:
        """The library copies them."""
        error = lib.CError()
        numbers = vector.numbers(key)
        stated = (lib.TYPES.index("f64"), numbers.size, numbers.ctypes.data)
        name = os.fsencode(key.replace("_", "-"))
        if lib.library.damier_set_vector(self._handle, name, int(vector.of_rows), *stated, ctypes.byref(error)) != 0:
            error.agreed = 1
            raise _error_of(error)
        self._vectors.add(key)

    def _state_old(self, c: Any) -> None:
        error = lib.CError()
        if lib.library.damier_old_c(self._handle, c, ctypes.byref(error)) != 0:
            raise _error_of(error)

    @contextmanager
    def _with(self, vectors: Mapping[str, Vector] | None = None, **options: Any) -> Iterator[None]:
        """OPTIONS, and numbers in memory, for one call; collective if there are any, which then all ranks have."""
        vectors = vectors or {}
        # without a value a flag is set
        defaults = {key.replace("_", "-"): "no" if value is True else None for key, value in options.items() if value is not None}
        defaults.update((key.replace("_", "-"), None) for key in vectors)
        if not defaults:
            yield
            return
        try:
            stated, problem = attempt(list, texts(options))
            agree(self.comm, problem)
            self._set_all(stated, vectors)
            yield
        finally:
            for name, default in defaults.items() if self._handle else ():
                self._set(name, default)
            self._vectors.difference_update(vectors)

    @contextmanager
    def _of_batch(self, batch: int) -> Iterator[None]:
        """The calls multiply so many matrices."""
        self._entries = batch
        try:
            yield
        finally:
            self._entries = 1

    def close(self) -> None:
        """Collective."""
        with _one_at_a_time:
            if self._handle:
                _ = self.record
            handle, self._handle = self._handle, ctypes.c_void_p()
            lib.library.damier_close(handle)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        # Closing is collective: not if other ranks are still waiting elsewhere.
        if not isinstance(error, Error) or error.agreed:
            self.close()

    # ---- calls ----

    def _on_progress(self, done: int, total: int) -> int:
        """Runs on the calling thread, where Python then checks for signals."""
        try:
            if self.progress is not None and self.progress(done, total):
                return 1
        except BaseException as error:  # ctypes would drop it
            self._raised = error
            return 1
        return int(self._interrupted)

    def _interruptible(self, function: Any, *arguments: Any) -> int:
        """Ctrl-C sets a flag that the progress function checks, so that the library's calls end cleanly."""
        if self._is_brief:
            return int(function(*arguments))
        main = threading.current_thread() is threading.main_thread()
        if not main or _signal.getsignal(_SIGINT) is not signal.default_int_handler:
            return int(function(*arguments))
        _signal.signal(_SIGINT, self._note)
        try:
            return int(function(*arguments))
        finally:
            _signal.signal(_SIGINT, signal.default_int_handler)

    def _note(self, *_: Any) -> None:
        self._interrupted = True

    def _call(self, function: Any, *arguments: Any) -> None:
        if not self._handle:
            raise UsageError("the context is closed")
        if self._entries != self._entries_set:  # it stays, so that the next call like this one is prepared
            self._set("batch", str(self._entries) if self._entries > 1 else None)
            self._entries_set = self._entries
        with _one_at_a_time:
            self._interrupted, self._raised = False, None
            self._watch(self.progress is not None or not self._is_brief)
            try:
                code = self._interruptible(function, self._handle, *arguments, self._error)
            finally:
                if isinstance(self.progress, Bar):
                    self.progress.close()
            self._record = None
            noted = lib.library.damier_warnings(self._handle)
        if code or self._interrupted or self._raised is not None:
            self._raise(code, self._error)
        if noted and function is not lib.library.damier_info:  # its record has them
            self._warn(noted)

    def _watch(self, watched: bool) -> None:
        """Whether the library calls the progress function, which takes longer than a small product."""
        if watched != self._is_watched:
            lib.library.damier_on_progress(self._handle, self._callback if watched else lib.CProgress(0), None)
            self._is_watched = watched

    def _warn(self, noted: bytes, said: str | None = None) -> None:
        """Of what the library NOTED, but for what has been SAID."""
        for line in noted.decode(errors="replace").splitlines():
            if (said is None or said not in line) and not _PROMOTION.search(line):
                warnings.warn(in_python(line, self.shown), DamierWarning, stacklevel=_caller())

    def _call_on_arrays(self, function: Any, *arguments: Any) -> None:
        """The same for a result in memory, which is not lost because part of it cannot be verified."""
        try:
            self._call(function, *arguments)
        except UncheckedError as error:
            if self._strict:
                raise
            found = error.record.get("verification", {})
            counts = [(found.get(key, 0), what) for key, what in (("rows_left_out", "row"), ("cols_left_out", "column"))]
            which = [f"{count} {what}{'s' * (count > 1)}" for count, what in counts if count]
            said = f"{error.message} (NaN or Inf in {' and '.join(which)})" if which else error.message
            warnings.warn(said, UncheckedWarning, stacklevel=_caller())
            with _one_at_a_time:
                noted = lib.library.damier_warnings(self._handle)
            self._warn(noted or b"", "not verified: ")

    @property
    def record(self) -> Record:
        """The record of the last call."""
        if self._record is None:
            with _one_at_a_time:
                text = lib.library.damier_record(self._handle)
            self._record = record_of_text(text)
        return self._record

    def _raise(self, code: int, error: lib.CError) -> None:
        failed = _error_of(error, self.record, self.shown) if code != 0 else None
        if self._raised is not None:
            raise self._raised from (None if isinstance(failed, StoppedError) else failed)
        if self._interrupted and (failed is None or isinstance(failed, StoppedError)):
            raise KeyboardInterrupt from None
        if failed is not None:
            raise failed


def _caller() -> int:
    """The level of the first frame outside of this package, for warnings of the function that asks."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back
    return level


def _error_of(error: lib.CError, record: Record | None = None, shown: tuple[str, str] = ("a", "b")) -> Error:
    return of_code(error.code)(in_python(error.message.decode(errors="replace"), shown),
                               hint=in_python(error.hint.decode(errors="replace")), code=error.code, rank=error.rank,
                               agreed=bool(error.agreed), record=record)


def check_same_options(comm: Any, problem: Exception | None, asked: tuple[str, Any, Mapping[str, Vector]],
                       ready: tuple[bool, ...] = ()) -> tuple[bool, ...]:
    """Collective: agrees on PROBLEM and READY, and on what is ASKED for: a kind of context, options and numbers in memory."""
    kind, stated, vectors = asked
    if comm is None and problem is None:
        return ready
    in_memory = sorted((key, "rows" if vector.of_rows else "columns") for key, vector in vectors.items())
    return agree(comm, problem, (kind, stated, in_memory), ready, _other_options)


def _other_options(everyone: list[Any]) -> UsageError:
    hint = "all ranks pass the same options"
    for which, what in ((2, "is an array on some ranks only, or of other lines"), (1, "")):
        each = [dict(facts[which]) for facts in everyone]
        for name in sorted({name for one in each for name in one}):
            if len({one.get(name) for one in each}) > 1:
                key = name.replace("-", "_")
                return UsageError(f"{key} {what}" if what else f"the ranks have different options: {key}", hint=hint)
    return UsageError("the ranks have different options", hint=hint)


def _number_of_gpus(gpus: Any, comm: Any) -> int:
    if gpus is None:
        return 1
    number = int(gpus) if isinstance(gpus, numbers.Integral) and not isinstance(gpus, bool) else 0
    if not 1 <= number <= 64:
        raise UsageError(f"gpus={gpus!r} is not a number of GPUs")
    if number > 1 and comm is not None:
        raise UsageError("gpus is for a single process; with comm every rank uses one GPU")
    return number


def _fortran_handle(comm: Any) -> int:
    """The Fortran handle of COMM; mpi4py must be linked with the same MPI as the library."""
    from mpi4py import MPI

    mine, theirs = lib.mpi_version(), MPI.Get_library_version().rstrip("\0")
    if mine and mine.strip() != theirs.strip():
        raise MPIError(f"mpi4py has {theirs.splitlines()[0]}, libdamier {mine.splitlines()[0]}",
                       hint="build mpi4py with the MPI whose mpicc is in PATH: pip install --no-binary mpi4py mpi4py")
    return int(comm.py2f())
