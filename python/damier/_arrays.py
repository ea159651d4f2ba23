"""Views of the caller's arrays as two-dimensional NumPy arrays, without a copy where possible."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Union, cast

import numpy as np

from ._device import GPU_KINDS, Copy, DeviceArray, by_dlpack, by_interface
from ._dlpack import interface_of
from ._errors import FitError, InternalError, UsageError
from ._meaning import check_meaning, elements_of
from ._numbers import check_exact, is_whole, of_table, unmasked
from ._options import DTYPE_OF_TYPE, TYPE_OF_DTYPE, type_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
else:
    Array = np.ndarray  # numpy.typing takes a fifth of the time of "import damier"
View = Union[Array, DeviceArray]

_ON_THE_HOST = (1, 3, 11)  # kDLCPU, kDLCUDAHost, kDLROCMHost


class _Memory:
    """Foreign memory for NumPy; keeps OWNER alive while there are views of it."""

    def __init__(self, owner: Any, interface: dict[str, Any]) -> None:
        self.owner = owner
        self.__array_interface__ = interface


def _of_dlpack(array: Any, name: str) -> tuple[View, str | None]:
    """NumPy's own from_dlpack returns read-only views, and does not know bfloat16."""
    kind = array.__dlpack_device__()[0]
    if kind in GPU_KINDS:
        return by_dlpack(array, name)
    if kind not in _ON_THE_HOST:
        raise UsageError(f"{name} is in the memory of a device other than a CUDA GPU (DLPack's kind {int(kind)})",
                         hint="copy it to the host first: .cpu() of torch")
    interface, owner, type_ = interface_of(array, name)
    return np.asarray(_Memory(owner, interface)), type_


# ---- any array ----


def _has_memory(array: Any) -> bool:
    names = ("__dlpack_device__", "__cuda_array_interface__", "__array_interface__")
    return isinstance(array, np.ndarray) or any(hasattr(array, name) for name in names)


def _view(array: Any, name: str) -> tuple[View, str | None]:
    check_meaning(array, name)
    if isinstance(array, np.ndarray):
        return array.view(np.ndarray), None  # not a masked array, whose operations look at its mask
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        return _of_dlpack(array, name)
    if hasattr(array, "__cuda_array_interface__"):
        return by_interface(array, name), None
    if hasattr(array, "toarray") and hasattr(array, "nnz"):
        raise UsageError(f"{name} is a sparse matrix, which cannot be multiplied", hint="a.toarray() makes an array of it")
    try:
        made = elements_of(array)
    except Exception as error:  # whatever its __array__ raises
        raise UsageError(f"{name} is not an array: {error}") from error
    check_meaning(made, name)  # netCDF4's variables become masked arrays
    return made.view(np.ndarray), None


def _check_type(dtype: np.dtype[Any], stated: str | None, name: str, writable: bool) -> str:
    found = type_of(dtype)
    if stated is None:
        if found:
            return found
        if writable and dtype.str[1:] == "i8":
            return "i64"
        known = ", ".join(str(np.dtype(kind)) for kind in TYPE_OF_DTYPE)
        raise UsageError(f"{name} has elements of {dtype}; supported: {known} and bfloat16",
                         hint="table.select_dtypes('number').to_numpy('f8', na_value=numpy.nan) of pandas has the columns of numbers"
                         if dtype == object else "convert a copy with astype()")
    if stated == "i64" and dtype.str[1:] == "i8":
        return stated
    if stated not in DTYPE_OF_TYPE or np.dtype(DTYPE_OF_TYPE[stated]).itemsize != dtype.itemsize:
        raise UsageError(f"elements of {dtype} cannot be read as type {stated}")
    return stated


def _below_each_other(array: Array) -> Array | None:
    """The matrices of ARRAY, of its last two dimensions, as one in the same memory; None: they do not follow each other."""
    if array.ndim == 2:
        return array
    if array.size == 0:
        return np.empty((int(np.prod(array.shape[:-1])), array.shape[-1]), array.dtype)
    *leads, rows, cols = array.shape
    step, distance = array.strides[-2:]
    next_step = step * rows
    for count, stride in zip(reversed(leads), reversed(array.strides[:-2])):
        if count == 1:
            continue
        if rows == 1:
            step, rows, next_step = stride, 2, stride
        if stride != next_step:
            return None
        next_step *= count
    shape = int(np.prod(array.shape[:-1])), cols
    return np.lib.stride_tricks.as_strided(array, shape, (step, distance))


class HostCopy:
    """A copy of ARRAY, whose matrices do not follow each other in memory."""

    def __init__(self, array: Array, name: str) -> None:
        self._of = array
        try:
            self.made = np.array(array, array.dtype, order="C", copy=True)
        except MemoryError:
            raise FitError(f"no memory for a copy of {name}, {' x '.join(map(str, array.shape))}") from None

    def finish(self, back: bool) -> None:
        """BACK: writes the copy to the array."""
        if back:
            self._of[...] = self.made


class Seen(NamedTuple):
    """An array as the library takes it: VIEW is a matrix in the caller's memory, or in that of COPY."""

    view: View
    type: str
    copy: Union[HostCopy, Copy, None] = None
    whole: str = ""  # of whole numbers that are to be converted to TYPE: NumPy's name of their type


class Reading(NamedTuple):
    """How numbers that the library does not multiply as they are become others: whole numbers but for those of the types that
    are KEPT, and, if it FILLS, those that are missing in tables."""

    kept: tuple[str, ...] = ("int8",)
    fills: bool = False


def _hint_of_dimensions(array: Any, view: View) -> str:
    """How an ARRAY that is not a matrix, seen as VIEW, becomes one."""
    if len(view.shape) == 0:
        return "alpha=3 multiplies a product by a number"
    if len(view.shape) > 2 and hasattr(array, "stack") and hasattr(array, "dims"):
        return f"x.stack(point={tuple(map(str, array.dims[1:]))}) has a row for each {array.dims[0]}"
    if len(view.shape) > 2:
        return "x.reshape(len(x), -1) has a row for each of the first dimension; damier.matmul multiplies batches"
    if view.dtype.kind in "UO":
        return "'runs/*.h5:/x', or '@list.txt' with a location in each line, is many files as one matrix"
    return "x[:, None] or x[None, :] turns a vector into a matrix"


def as_matrix(array: Any, name: str, type_: str | None = None, writable: bool = False, entries: bool = False,
              reading: Reading | None = None) -> Seen:
    """ARRAY's memory as a two-dimensional array, and its type; TYPE_ states a type that NumPy lacks.  With ENTRIES it has
    the matrices of its last two dimensions below each other.  What does not lie as the library takes it is copied."""
    if reading is not None:
        array = of_table(array, name, reading.fills)
        array = unmasked(array, name) if reading.fills else array
    if writable and not _has_memory(array):
        in_file = type(array).__module__.partition(".")[0] in ("h5py", "zarr", "netCDF4")
        raise UsageError(f"{name} is {type(array).__name__}, which has no writable memory",
                         hint="damier.multiply(a, b, 'FILE.h5:/c', append=True) writes to a file, which must not be open" if in_file else "")
    view, of_dlpack = _view(array, name)
    if len(view.shape) == 0 and view.dtype.kind in "OSV":
        raise UsageError(f"{name} is {type(array).__name__}, neither an array nor the location of a matrix",
                         hint="'FILE.h5:/dataset' and 'FILE.npy' are locations; numpy.load, h5py and pandas make arrays of other files")
    if len(view.shape) != 2 and not (entries and len(view.shape) > 2):
        count = len(view.shape)
        raise UsageError(f"{name} has {count} dimension{'s' * (count != 1)}; matrices have 2", hint=_hint_of_dimensions(array, view))
    if writable and (view.readonly if isinstance(view, DeviceArray) else not view.flags.writeable):
        raise UsageError(f"{name} is read-only")
    if writable and not _has_places(view):
        raise UsageError(f"several elements of {name} have the same place in memory",
                         hint="pass an array of its own, not one with strides of 0 or overlapping windows")
    whole = ""
    if reading is not None and (type_ or of_dlpack) is None and not isinstance(view, DeviceArray) and is_whole(view.dtype, reading.kept):
        check_exact(view, "f64", name)
        whole = view.dtype.name
    kind = "f64" if whole else _check_type(view.dtype, type_ or of_dlpack, name, writable)
    if isinstance(view, DeviceArray):
        return _in_gpu_memory(array, view, name, kind)
    below = _below_each_other(view)
    if below is not None:
        return Seen(below, kind, None, whole)
    copied = HostCopy(view, name)
    return Seen(copied.made.reshape(int(np.prod(view.shape[:-1])), view.shape[-1]), kind, copied, whole)


def _in_gpu_memory(array: Any, view: DeviceArray, name: str, kind: str) -> Seen:
    if not view.dtype.isnative:
        raise UsageError(f"{name} has elements of {view.dtype.str} in GPU memory; GPUs have the opposite byte order")
    if _lies_well(view):
        return Seen(view, kind)
    copied = Copy(array, name)
    made = _view(copied.made, name)[0]
    if not isinstance(made, DeviceArray) or not _lies_well(made):
        raise InternalError(f"the copy of {name} in GPU memory is not contiguous")
    return Seen(made, kind, copied)


def _lies_well(view: DeviceArray) -> bool:
    """Whether the library takes the elements of VIEW, which becomes a matrix, where they are."""
    below = _below_each_other(view.shadow)
    return below is not None and view.seen_as(below).strides() is not None


def _strides(view: Array) -> list[int] | None:
    """In elements; None if the library cannot use this memory directly."""
    size = view.itemsize
    if not view.flags.aligned or not view.dtype.isnative:
        return None
    strides = [1, 1]
    for axis in range(2):
        if view.shape[axis] < 2:
            continue
        if view.strides[axis] < size or view.strides[axis] % size:
            return None
        strides[axis] = view.strides[axis] // size
    return strides


def _has_places(view: View) -> bool:
    """Whether each element has memory of its own, so that it can be written: a step is wider than all shorter ones together."""
    array = view.shadow if isinstance(view, DeviceArray) else view
    steps = sorted((abs(step), count) for step, count in zip(array.strides, array.shape) if count > 1)
    width = array.itemsize
    for step, count in steps if array.size > 1 else ():
        if step < width:
            return False
        width += (count - 1) * step
    return True


def overlap(x: View, y: View) -> bool:
    """Whether they share memory; also True if that takes too long to decide."""
    first, second = (v.shadow if isinstance(v, DeviceArray) else v for v in (x, y))
    if not np.may_share_memory(first, second):
        return False
    if any(array.size and array.itemsize not in array.strides for array in (first, second)):
        return True  # the library, too, only tells rows and columns without gaps apart
    try:
        return bool(np.shares_memory(first, second, cast(Any, 10000)))
    except RuntimeError:  # numpy's TooHardError
        return True


def same_places(x: View, y: View) -> bool:
    """Whether all elements of both have the same places."""
    first, second = (v.shadow if isinstance(v, DeviceArray) else v for v in (x, y))
    return bool(first.__array_interface__["data"][0] == second.__array_interface__["data"][0]
                and first.shape == second.shape and first.strides == second.strides and first.dtype == second.dtype)


def plain(view: Array) -> tuple[Array, list[int]]:
    """VIEW itself or, if its strides are not supported (negative, 0, not whole elements, several elements in one
    place), a copy."""
    strides = _strides(view)
    if strides is None or not _has_places(view):
        view = np.array(view, dtype=view.dtype.newbyteorder("="), order="C", copy=True)
        strides = _strides(view)
        assert strides is not None
    return view, strides
