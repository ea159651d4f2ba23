"""Exceptions: one class for each exit code of the program."""
from __future__ import annotations

from typing import Any


class Error(Exception):
    """Base class of all errors.

    ``code`` is the program's exit code for the same error, ``hint`` some advice (or ``""``), ``rank`` the rank that
    failed (-1: unknown).  ``record``, on rank 0, is the record of a failed verification.  If ``agreed`` is False,
    only this rank has the error and the others may be waiting for it: end the job with ``comm.Abort(error.code)``.

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


class DamierWarning(UserWarning):
    """What a call applied to the numbers of files (packing, missing values, complex axes, ...), ignored, or warns of."""


class VerifyError(Error):
    """C failed its verification."""

    code = 1


class UsageError(Error, ValueError):
    """An invalid argument or option: wrong shapes, types, or names."""

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
    """There was no progress for too long."""

    code = 8


class MPIError(Error):
    """MPI or its launcher."""

    code = 9


class UncheckedError(Error):
    """C is complete, but not all of it could be verified (it overflows); ``allow_unchecked=True`` accepts that.

    Of files, and with ``allow_unchecked=False``; a result in memory is returned with an :class:`UncheckedWarning`."""

    code = 10


class UncheckedWarning(DamierWarning, RuntimeWarning):
    """Not all of the returned C could be verified: it overflows, or the old C has NaN or Inf."""


class InternalError(Error):
    """An internal error of the library."""

    code = 70


class StoppedError(Error):
    """The progress function of this or another rank requested a stop."""

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
