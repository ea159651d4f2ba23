"""Exceptions: one class for each exit code of the program."""
from __future__ import annotations

from typing import Any


class Error(Exception):
    """What damier could not do.

    ``code`` is the exit code that the program ends with for the same reason, ``hint`` what can be done about it
    (or ``""``), ``rank`` where it happened (-1: not known).  ``record`` is what was found out before it, on rank
    0: that of a verification that failed.  Where ``agreed`` is False only this rank has the error and the others
    may be waiting for it: end the job with ``comm.Abort(error.code)``.

    >>> try:
    ...     damier.info("missing.h5")
    ... except damier.Error as error:
    ...     print(type(error).__name__, error.code)
    FileError 4
    """

    code = 0

    def __init__(self, message: str, *, hint: str = "", code: int | None = None, rank: int = -1,
                 agreed: bool = True, record: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.rank = rank
        self.agreed = agreed
        self.record: dict[str, Any] = record or {}
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuilt, (type(self), self.message, self.hint, self.code, self.rank, self.agreed, self.record))


class VerifyError(Error):
    """C failed its verification."""

    code = 1


class UsageError(Error, ValueError):
    """An argument or option that is not offered: wrong shapes, types, or names."""

    code = 2


class InputError(Error):
    """A file was rejected."""

    code = 3


class FileError(Error):
    """A file could not be read or written."""

    code = 4


class FitError(Error):
    """The product does not fit into memory or on the disk."""

    code = 5


class DeviceError(Error):
    """GPU, backend or transport."""

    code = 6


class CorruptError(Error):
    """A result that could not be repaired."""

    code = 7


class HangError(Error):
    """Nothing moved for too long."""

    code = 8


class MPIError(Error):
    """MPI or its launcher."""

    code = 9


class UncheckedError(Error):
    """C is there, but not all of it could be verified (NaN, Inf); ``allow_unchecked=True`` accepts that."""

    code = 10


class InternalError(Error):
    """An assumption of the library does not hold."""

    code = 70


class StoppedError(Error):
    """The progress function, of this rank or another, asked to stop."""

    code = 75


_by_code: dict[int, type[Error]] = {
    kind.code: kind for kind in (VerifyError, UsageError, InputError, FileError, FitError, DeviceError, CorruptError,
                                 HangError, MPIError, UncheckedError, InternalError, StoppedError)
}


def of_code(code: int) -> type[Error]:
    return _by_code.get(code, Error)


def _rebuilt(kind: type[Error], message: str, hint: str, code: int, rank: int, agreed: bool,
             record: dict[str, Any]) -> Error:
    return kind(message, hint=hint, code=code, rank=rank, agreed=agreed, record=record)
