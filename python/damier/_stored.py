"""Operands in files: locations, datasets of h5py, and arrays of zarr, which the library reads itself."""
from __future__ import annotations

import os
from copy import copy
from typing import Any

import numpy as np

from . import _library as lib
from ._errors import InputError, UsageError
from ._lazy import Expression
from ._matrices import Matrix, Operand, Stated, shown
from ._parts import is_backward, lines_of, location_of_list, text_of, within


class Stored(Expression):
    """A dataset that the library reads, of which ``[...]`` takes a part without reading it.

    ``dataset`` is a location, a list of locations (files below each other), a dataset of h5py, or an array of zarr in a folder.  ``[...]`` takes slices,
    lists of numbers and masks, also of parts and of such lists.  ``@``, ``.T`` and
    ``.H`` state products, which are computed by ``compute()`` or :func:`damier.save`.  ``compute()`` of a matrix or part reads it.

    >>> np.save("A.npy", np.arange(6.0).reshape(3, 2))
    >>> damier.Stored("A.npy")[1:, :].compute()
    array([[2., 3.],
           [4., 5.]])
    >>> damier.matmul(damier.Stored("A.npy")[1:, :], np.eye(2))
    array([[2., 3.],
           [4., 5.]])
    """

    def __init__(self, dataset: Any) -> None:
        location = location_of(dataset)
        if location is None:
            raise UsageError(f"{type(dataset).__name__} is neither a location nor a dataset that the library can read")
        self.location = location
        self._part: tuple[Stored, Any] | None = None  # of which dataset this is a part, and which
        self._files = [one if isinstance(one, Stored) else Stored(one) for one in dataset] if isinstance(dataset, (list, tuple)) else []
        self._described: Any = None

    def __getitem__(self, key: Any) -> Stored:
        keys = key if isinstance(key, tuple) else (key,)
        whole = self
        if self._files:
            parts = rows_of_files(self._files, lines_of(key, self.extents()))
            return Stored(parts) if len(parts) > 1 else parts[0]
        if self._part is not None:  # a part of a part
            whole, outer = self._part
            keys = tuple(within(lines_of(outer, whole.extents()), key))
        elif any(is_backward(one) for one in keys):
            keys = tuple(lines_of(key, self.extents()))
        taken = Stored(f"{whole.location}[{', '.join(map(text_of, keys))}]")
        taken._part = whole, keys
        return taken

    def __repr__(self) -> str:
        return self.location

    def __enter__(self) -> Stored:
        """As of files: nothing is open, so that nothing has to be closed."""
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def compute(self, **options: Any) -> Any:
        """The numbers as an array, through a temporary file; ``options`` are those of :func:`damier.matmul`."""
        from ._reading import read  # which few programs need

        return read(self, options)

    def _done(self, output: Any, options: dict[str, Any]) -> Any:
        """Writes the numbers to OUTPUT, and returns the record."""
        from ._reading import written

        return written(self, output, options)

    def described(self) -> Any:
        """What ``damier info`` says about the dataset; InputError if the location names none, or several."""
        if self._described is None:
            from . import info

            record = info(self.location, as_column=True)
            if "dataset" not in record:
                raise several(self.location, record)
            self._described = record["dataset"]
        return self._described

    def extents(self) -> tuple[int, ...]:
        """Of the dataset, as HDF5 states it."""
        return tuple(map(int, self.described()["shape"].split(" x ")))

    @property
    def shape(self) -> tuple[int, ...]:
        """The same, but of a vector its length."""
        return self.extents()[:1] if "vector" in self.described() else self.extents()

    @property
    def dtype(self) -> str:
        """damier's name of the type of its elements."""
        return str(self.described()["value_type"])


def rows_of_files(files: list[Stored], lines: list[Any]) -> list[Stored]:
    """Of FILES below each other the parts that have LINES, in their order."""
    rows, *others = lines
    if any(isinstance(one, int) for one in others):
        raise UsageError("a column of several files keeps its dimension", hint="[:, 3:4] in place of [:, 3]")
    ends = np.cumsum([file.extents()[0] for file in files])
    starts = np.concatenate([[0], ends[:-1]])
    asked = np.atleast_1d(np.asarray(rows, "i8"))
    if not asked.size:
        raise UsageError("no row is asked for")
    of = np.searchsorted(ends, asked, side="right")
    runs = np.split(np.arange(asked.size), np.flatnonzero(np.diff(of)) + 1)
    step = rows.step if isinstance(rows, range) else 0
    parts = []
    for run in runs:
        local = asked[run] - starts[of[run[0]]]
        kept = range(int(local[0]), int(local[-1]) + 1, step) if step > 0 else local
        parts.append(files[of[run[0]]][(int(local[0]) if isinstance(rows, int) else kept, *others)])
    return parts


def several(location: str, record: Any) -> InputError:
    """The error of a location that names no single dataset."""
    file, most = record["file"], 5
    known = [f"'{file['name']}:{one['name']}' ({one['shape']} {one['type']})" for one in file.get("datasets", [])[:most]]
    more = f" and {file['count'] - most} more" if file["count"] > most else ""
    return InputError(f"{location}: holds {file['count']} datasets", hint=f"name one: {', '.join(known)}{more}")


def location_of(given: Any) -> str | None:
    """The location of GIVEN, if the library can read it; None: it is an array, or h5py must read it."""
    if isinstance(given, Stored):
        return given.location
    if isinstance(given, (str, os.PathLike)):
        return os.fspath(given)
    if isinstance(given, (list, tuple)) and given and all(isinstance(one, (str, os.PathLike, Stored)) for one in given):
        return location_of_list([one.location if isinstance(one, Stored) else one for one in given])
    package = type(given).__module__.partition(".")[0]
    if package == "zarr":
        return _in_folder(given)
    if package != "h5py" or not hasattr(given, "file"):
        return None
    file = given.file
    # a file that is open for writing is locked, and may not have been written yet
    on_disk = file.mode == "r" and file.driver in ("sec2", "mpio") and given.name
    return f"{file.filename}:{given.name}" if on_disk and _is_named(file) else None


def _in_folder(array: Any) -> str | None:
    """The location of an array of zarr, if it lies in a folder of the file system."""
    store, path = getattr(array, "store", None), getattr(array, "path", None)
    kind = type(store).__name__
    folder = getattr(store, "root" if kind == "LocalStore" else "path", None)
    if kind not in ("LocalStore", "DirectoryStore", "NestedDirectoryStore") or folder is None or not isinstance(path, str):
        return None
    root, path = str(os.fspath(folder)), path.strip("/")
    is_group = any(os.path.exists(os.path.join(root, name)) for name in ("zarr.json", ".zgroup", ".zmetadata"))
    if not path:
        return root
    return f"{root}:/{path}" if is_group else os.path.join(root, path)


def _is_named(file: Any) -> bool:
    """Whether its name leads to the file that h5py has open: another may have replaced it, or the folder have changed."""
    try:
        return file.driver != "sec2" or os.path.samestat(os.fstat(file.id.get_vfd_handle()), os.stat(file.filename))
    except OSError:
        return False


class StoredOperand(Operand):
    """A matrix in a file, whose RECORD is that of ``damier info``."""

    def __init__(self, location: str, name: str, record: dict[str, Any]) -> None:  # pylint: disable=super-init-not-called
        self.whole, self.rounds = "", False
        self.name, self.location = name, os.fsencode(location)
        self.matrix = Matrix(None)
        self.view = self.start = self.copy = None
        self.on_gpus = False
        dataset = record["dataset"]
        self.type = dataset["value_type"]
        self.rows, self.cols = dataset["rows"], dataset["cols"]
        self.is_vector = "vector" in dataset  # and ROWS or COLS is 1
        self.shape = tuple(map(int, dataset["shape"].split(" x ")))
        self.stated = Stated(lib.IN_FILE, self.type, self.rows, self.cols)

    def as_line(self) -> StoredOperand:
        """A vector as the matrix that the library takes it for."""
        matrix = copy(self)
        matrix.is_vector = False
        return matrix

    def one(self) -> StoredOperand:
        """As a single matrix."""
        if len(self.shape) > 2:
            self.stated.problem = UsageError(f"{self.name} is {shown(self.shape)}; a matrix has 2 dimensions",
                                             hint="damier.matmul multiplies the matrices of such datasets")
        return self

    def agree(self, all_ranks: list[Stated]) -> None:
        for s in all_ranks:
            if s.problem:
                raise s.problem
        if any(s != all_ranks[0] for s in all_ranks):
            raise UsageError(f"{self.name}: the ranks describe it differently")

    def to_c(self, copy: bool = False) -> tuple[lib.CMatrix, None]:
        return lib.CMatrix(division=lib.IN_FILE, file=self.location), None
