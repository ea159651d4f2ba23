"""Matrices distributed over the ranks of a communicator, as in damier.h."""
from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _library as lib
from ._agreement import attempt, told
from ._arrays import Reading, Array, HostCopy, View, as_matrix, plain
from ._device import Copy, DeviceArray
from ._errors import Error, FitError, UsageError
from ._numbers import converted
from ._options import DTYPE_OF_TYPE, type_name


class Matrix:
    """A matrix in memory, as described by one rank: :class:`Rows`, :class:`OnOne`, :class:`Replicated`
    or :class:`BlockCyclic`.

    ``array`` is this rank's part: two-dimensional, with any strides.  ``type`` states the element type if the
    array's own cannot: ``"bf16"`` for an array of uint16 with bfloat16 numbers.
    """

    division = -1

    def __init__(self, array: Any, *, type: Any = None) -> None:
        self.array = array
        self.type = None if type is None else type_name(type)

    def numbers(self) -> tuple[Any, ...]:
        """Parameters, besides the type, that must be equal on all ranks."""
        return ()

    def fill(self, c: lib.CMatrix) -> None:
        """Fills in the fields of C besides shape, type and data."""


class Rows(Matrix):
    """Consecutive rows on each rank, in rank order; a rank may have none.

    In a context of several GPUs of one process ``array`` may be a list: the rows that each GPU has, in the order of the
    GPUs, in its memory or in that of the host.

    >>> damier.matmul(damier.Rows(np.eye(2)), damier.Rows(np.ones((2, 3)))).shape
    (2, 3)
    """

    division = lib.BY_ROWS


class Entries(Rows):
    """The matrices of an array of more than two dimensions, one below the other."""


class OnOne(Matrix):
    """The whole matrix on rank ``rank``; elsewhere ``array`` is None.

    >>> damier.matmul(damier.OnOne(np.eye(2)), damier.OnOne(np.ones((2, 3)))).shape
    (2, 3)
    """

    division = lib.ON_ONE

    def __init__(self, array: Any, rank: int = 0, *, type: Any = None) -> None:
        super().__init__(array, type=type)
        self.rank = int(rank)

    def numbers(self) -> tuple[Any, ...]:
        return (self.rank,)

    def fill(self, c: lib.CMatrix) -> None:
        c.rank = self.rank


class Replicated(Matrix):
    """The whole matrix, the same on every rank; ``a`` or ``b``.

    >>> damier.matmul(np.eye(2), damier.Replicated(np.ones((2, 3)))).shape
    (2, 3)
    """

    division = lib.REPLICATED


class BlockCyclic(Matrix):
    """Blocks distributed cyclically over a grid of ranks, as in ScaLAPACK.

    ``shape`` is that of the whole matrix, ``blocks`` that of a block, ``grid`` the rows and columns of ranks, which
    are numbered along its rows (``order="R"``) or down its columns (``"C"``), and ``first`` the process row and
    column of the first block.  A rank outside of the grid has ``array`` None.

    >>> a = damier.BlockCyclic(np.eye(4), (4, 4), blocks=(2, 2), grid=(1, 1))
    >>> damier.matmul(a, np.ones((4, 1))).ravel()
    array([1., 1., 1., 1.])
    """

    division = lib.BLOCK_CYCLIC

    def __init__(self, array: Any, shape: tuple[int, int], blocks: tuple[int, int], grid: tuple[int, int],
                 order: str = "R", first: tuple[int, int] = (0, 0), *, type: Any = None) -> None:
        super().__init__(array, type=type)
        if order not in ("R", "C"):
            raise UsageError(f"the order of the ranks is 'R' or 'C', not {order!r}")
        self.shape, self.blocks, self.grid, self.order, self.first = shape, blocks, grid, order, first

    def numbers(self) -> tuple[Any, ...]:
        return (*self.shape, *self.blocks, *self.grid, *self.first, self.order)

    def local_shape(self, rank: int) -> tuple[int, int]:
        """Of the part of ``rank``; (0, 0) outside of the grid.

        >>> damier.BlockCyclic(None, (5, 7), (2, 2), (2, 2)).local_shape(1)
        (3, 3)
        """
        if rank >= self.grid[0] * self.grid[1]:
            return 0, 0
        place = divmod(rank, self.grid[1]) if self.order == "R" else divmod(rank, self.grid[0])[::-1]
        return (_dealt(self.shape[0], self.blocks[0], self.grid[0], place[0] - self.first[0]),
                _dealt(self.shape[1], self.blocks[1], self.grid[1], place[1] - self.first[1]))

    def fill(self, c: lib.CMatrix) -> None:
        c.grid_rows, c.grid_cols = self.grid
        c.row_block, c.col_block = self.blocks
        c.first_row, c.first_col = self.first
        c.column_major = int(self.order == "C")


def _dealt(size: int, block: int, parts: int, turn: int) -> int:
    """Elements, of SIZE, of the part number TURN after the owner of the first block (ScaLAPACK's numroc)."""
    turn %= parts
    blocks, rest = divmod(size, block)
    most = blocks // parts * block
    left = blocks % parts
    return most + (block if turn < left else rest if turn == left else 0)


# ---- one operand of a call ----


@dataclass
class Stated:
    """A rank's description of its operand for the other ranks; PROBLEM is its error."""

    division: int = -1
    type: str | None = None  # None: it has no elements
    rows: int = 0
    cols: int = 0
    numbers: tuple[Any, ...] = ()
    on_gpu: bool = False
    whole: str = ""  # NumPy's type of whole numbers that become others
    problem: Error | None = None


class Operand:
    """A matrix as stated by the caller, for the library."""

    def __init__(self, given: Any, name: str, rank: int, ranks: int, writable: bool = False, reading: Reading | None = None) -> None:
        self.name = name
        self.reading = reading
        self.whole = ""  # NumPy's type of whole numbers that become TYPE, ...
        self.rounds = False  # ... also where it does not hold them exactly
        self.exact = False  # the library multiplies them as they are
        self.matrix = given if isinstance(given, Matrix) else Rows(given)
        self.view: View | None = None
        self.copy: HostCopy | Copy | None = None  # VIEW is of it, not the caller's memory
        self.start: Array | None = None  # of out: elements that it has to hold before the product
        self.on_gpus = False  # on some ranks, once known
        self.type: str | None = None
        self.rows = self.cols = 0  # of the whole matrix, once known
        self.stated = Stated(self.matrix.division, numbers=self.matrix.numbers())
        _, problem = attempt(self._look, rank, ranks, writable)
        if problem is not None and ranks == 1:
            raise problem
        if problem is not None:
            self.stated.problem = told(problem, rank)

    def _look(self, rank: int, ranks: int, writable: bool) -> None:
        m = self.matrix
        if isinstance(m, OnOne) and not 0 <= m.rank < ranks:
            raise UsageError(f"{self.name}: there is no rank {m.rank}")
        if isinstance(m, OnOne) and m.rank != rank:
            return
        if isinstance(m, BlockCyclic):
            self._check_blocks(m, ranks)
            if m.array is None and m.local_shape(rank) == (0, 0):
                return
        if m.array is None:
            if ranks == 1:
                raise UsageError(f"{self.name} is None, not a matrix")
            raise UsageError(f"{self.name}: this rank's part is None",
                             hint="on a rank without rows pass an array of shape (0, columns)")
        self.view, self.type, self.copy, self.stated.whole = as_matrix(m.array, self.name, m.type, writable,
                                                                       isinstance(m, Entries), self.reading)
        if isinstance(m, BlockCyclic) and self.view.shape != m.local_shape(rank):
            raise UsageError(f"{self.name}: this rank's part is {shown(self.view.shape)}, not "
                             f"{shown(m.local_shape(rank))}")
        self.stated.type = self.type
        self.stated.rows, self.stated.cols = self.view.shape
        self.stated.on_gpu = isinstance(self.view, DeviceArray)

    def _check_blocks(self, m: BlockCyclic, ranks: int) -> None:
        good = (m.shape[0] >= 0 and m.shape[1] >= 0 and m.blocks[0] > 0 and m.blocks[1] > 0 and m.grid[0] > 0
                and m.grid[1] > 0 and m.grid[0] * m.grid[1] <= ranks
                and all(0 <= f < g for f, g in zip(m.first, m.grid)))
        if not good:
            raise UsageError(f"{self.name}: blocks of {shown(m.blocks)} on a grid of {shown(m.grid)} do not divide "
                             f"{shown(m.shape)} over {ranks} ranks")

    def agree(self, all_ranks: list[Stated]) -> None:
        """Determines shape and type of the whole matrix from all ranks' descriptions; same error on all."""
        name = self.name
        for s in all_ranks:
            if s.problem:
                raise s.problem
        if any((s.division, s.numbers) != (all_ranks[0].division, all_ranks[0].numbers) for s in all_ranks):
            raise UsageError(f"{name}: the ranks describe it differently")
        with_type = [s for s in all_ranks if s.type is not None]
        types = {s.whole or s.type for s in with_type}
        if len(types) != 1:
            raise UsageError(f"{name} has elements of {' and '.join(sorted(map(str, types)))} on different ranks"
                             if types else f"{name} is None on every rank")
        self.type, self.whole = with_type[0].type, with_type[0].whole
        self.on_gpus = any(s.on_gpu for s in all_ranks)
        if isinstance(self.matrix, BlockCyclic):
            self.rows, self.cols = map(int, self.matrix.shape)
            return
        widths = {s.cols for s in with_type if s.rows} or {s.cols for s in with_type}
        if len(widths) != 1:
            raise UsageError(f"{name} has {' and '.join(map(str, sorted(widths)))} columns on different ranks")
        self.rows, self.cols = sum(s.rows for s in with_type), widths.pop()
        if isinstance(self.matrix, Replicated):
            heights = {s.rows for s in all_ranks}
            if len(heights) != 1:
                raise UsageError(f"{name} has {' and '.join(map(str, sorted(heights)))} rows on different ranks")
            self.rows = heights.pop()

    def to_c(self, copy: bool = False) -> tuple[lib.CMatrix, View | None]:
        """The structure for the library, and the array whose memory it uses: the caller's or, if its strides are not
        supported or COPY is set, a copy."""
        c = lib.CMatrix(division=self.matrix.division, type=lib.code_of(str(self.type)), rows=self.rows,
                        cols=self.cols, row_stride=1, col_stride=1)
        self.matrix.fill(c)
        view = self.view
        if view is None or view.size == 0:
            c.own_rows = 0 if view is None else view.shape[0]
            return c, None
        c.own_rows = view.shape[0]
        if isinstance(view, DeviceArray):
            c.data, c.memory, c.stream = view.pointer, lib.GPU_MEMORY, view.stream
            c.row_stride, c.col_stride = view.strides() or (0, 0)  # as_matrix() takes no others
            return c, view
        if self.whole and not self.exact:
            view = converted(view, str(self.type), self.name, self.rounds)
        elif copy:
            view = np.array(view)
        memory, strides = plain(view)
        c.data = memory.ctypes.data
        c.row_stride, c.col_stride = strides
        return c, memory

    def finish(self, written: bool) -> None:
        """After the product: copies are no longer needed; what was WRITTEN to one goes to the caller's memory."""
        if self.copy is not None:
            self.copy.finish(written)


class PartedOperand(Operand):
    """Rows on each GPU of this process."""

    def __init__(self, given: Rows, name: str, gpus: int, writable: bool = False, reading: Reading | None = None) -> None:  # pylint: disable=super-init-not-called
        self.name, self.matrix = name, given
        self.view = self.start = self.type = self.copy = None
        self.rows = self.cols = 0
        self.writable = writable
        self.reading, self.whole, self.rounds, self.exact = reading, "", False, False
        self.parts = [Operand(Rows(array, type=given.type), f"{name}[{i}]", 0, 1, writable, reading)
                      for i, array in enumerate(given.array)]
        self.on_gpus = any(part.stated.on_gpu for part in self.parts)
        self.stated = Stated(self.matrix.division)
        if len(self.parts) != gpus:
            self.stated.problem = UsageError(f"{name} has {len(self.parts)} parts for {gpus} GPUs")

    def agree(self, all_ranks: list[Stated]) -> None:
        if self.stated.problem:
            raise self.stated.problem
        super().agree([part.stated for part in self.parts])
        for part in self.parts:
            part.type, part.whole, part.rows, part.cols = self.type, self.whole, self.rows, self.cols

    def to_c(self, copy: bool = False) -> tuple[lib.CMatrix, None]:
        found = [part.to_c() for part in self.parts]
        for part, (_, used) in zip(self.parts, found):
            if self.writable and used is not None and used is not part.view:
                strides = None if part.view is None else part.view.strides
                raise UsageError(f"{part.name} has strides of {strides} bytes, which the library cannot write",
                                 hint="pass an array in C order")
        parts = (lib.CMatrix * len(found))(*(c for c, _ in found))
        c = lib.CMatrix.from_buffer_copy(parts[0])
        c.parts, c.part_count = ctypes.addressof(parts), len(found)
        c.kept = parts, found
        return c, None

    def finish(self, written: bool) -> None:
        for part in self.parts:
            part.finish(written)


def shown(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def empty(shape: tuple[int, int], type_: str) -> Array:
    if type_ == "bf16":
        try:
            import ml_dtypes
        except ImportError:
            raise UsageError("NumPy alone has no bfloat16 for a result",
                             hint="type_c=\"f32\", or out=, or install ml_dtypes") from None
        return np.empty(shape, ml_dtypes.bfloat16)
    try:
        return np.empty(shape, "i8" if type_ == "i64" else DTYPE_OF_TYPE[type_])
    except (MemoryError, ValueError):  # ValueError: the size overflows 63 bits
        raise FitError(f"no memory for a result of {shown(shape)} {type_}") from None
