"""Arrays in GPU memory as exported by CuPy, torch, Numba and others; their elements are never accessed here."""
from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from ._dlpack import interface_of
from ._errors import FitError, UsageError
from ._library import LEGACY

if TYPE_CHECKING:
    from numpy.typing import NDArray

GPU_KINDS = (2, 13)  # kDLCUDA, kDLCUDAManaged
_COPY_HINT = "make a contiguous copy: ascontiguousarray() of CuPy, contiguous() of torch"


class DeviceArray:
    """An array in GPU memory.  SHADOW has its addresses, which must not be dereferenced."""

    def __init__(self, interface: dict[str, Any], owner: Any, stream: int, name: str) -> None:
        self.owner = owner  # keeps the memory
        self.stream = stream  # the library waits for its work; 0: none
        try:
            self.shadow: NDArray[Any] = np.asarray(_Addresses(interface))
            self.pointer = int(interface["data"][0] or 0)
            self.readonly = bool(interface["data"][1])
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise UsageError(f"{name} describes its GPU memory in an unsupported way: {error}") from error
        self.shape, self.size, self.dtype = self.shadow.shape, self.shadow.size, self.shadow.dtype

    def seen_as(self, shadow: NDArray[Any]) -> DeviceArray:
        """The same memory in another shape."""
        self.shadow, self.shape = shadow, shadow.shape
        return self

    def strides(self) -> list[int] | None:
        """Those of a matrix in elements; None: the library needs the elements of rows, or those of columns, contiguous."""
        size = self.dtype.itemsize
        strides = [1 if n < 2 else s // size if s % size == 0 else 0 for n, s in zip(self.shape, self.shadow.strides)]
        (rows, cols), (down, right) = self.shape, strides
        lines = [right == 1 and (rows < 2 or down >= cols), down == 1 and (cols < 2 or right >= rows)]
        return strides if not self.size or any(lines) else None


class _Addresses:
    """Addresses for NumPy, which does not dereference them."""

    def __init__(self, interface: dict[str, Any]) -> None:
        keys = ("shape", "typestr", "strides")
        self.__array_interface__ = {key: interface[key] for key in keys if interface.get(key) is not None}
        # NumPy rejects null pointers, which empty arrays have
        self.__array_interface__.update(version=3, data=(interface["data"][0] or 1, False))


def current_stream(tensor: Any) -> int:
    """The stream in which torch works on TENSOR and on what becomes of it."""
    torch = sys.modules["torch"]
    if getattr(torch._C, "_cuda_isCurrentStreamCapturing", bool)():
        raise UsageError("a CUDA graph is being captured, and a call waits for what the GPU has computed",
                         hint="call it before or after torch.cuda.graph(), and capture the other work")
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # what its compiler calls: a fortieth of the time of the public function
    stream = raw(tensor.device.index) if raw else torch.cuda.current_stream(tensor.device).cuda_stream
    return int(stream) or LEGACY


def by_dlpack(array: Any, name: str) -> tuple[DeviceArray, str | None]:
    """The producer's default stream waits for its work on the array, and the library waits for that stream, or for that
    of torch."""
    from_torch = type(array).__module__ == "torch" and "torch" in sys.modules
    # torch exports only what is on its current GPU
    with sys.modules["torch"].cuda.device(array.device) if from_torch else nullcontext():
        interface, owner, type_ = interface_of(array, name, stream=LEGACY)
    return DeviceArray(interface, owner, current_stream(array) if from_torch else LEGACY, name), type_


def by_interface(array: Any, name: str) -> DeviceArray:
    try:
        interface = dict(array.__cuda_array_interface__)
    except Exception as error:  # each library has exceptions of its own
        raise UsageError(f"{name} does not export its GPU memory: {error}") from error
    if interface.get("mask") is not None:
        raise UsageError(f"{name} is a masked array")
    # Version 3 states the stream; before, pending work is in the default stream.
    stream = interface.get("stream", None if interface.get("version", 0) >= 3 else LEGACY)
    if stream == 0:
        raise UsageError(f"{name} names stream 0, which the CUDA array interface forbids")
    return DeviceArray(interface, array, int(stream or 0), name)


# ---- by the functions of the array's own package, or of another one that is loaded ----


def _package_of(array: Any) -> Any:
    return sys.modules.get(type(array).__module__.partition(".")[0])


def repeated(array: Any, shape: tuple[int, ...], name: str) -> Any:
    """A view of ARRAY with the larger SHAPE."""
    package = _package_of(array)
    if not hasattr(package, "broadcast_to"):
        raise UsageError(f"{name} is not repeated for the matrices of the other operand",
                         hint=f"pass an array of {' x '.join(map(str, shape))} elements")
    return package.broadcast_to(array, shape)


def transposed(array: Any, name: str, conjugated: bool) -> Any:
    """A view of ARRAY whose matrices are transposed; a copy if complex numbers are CONJUGATED, too."""
    if not hasattr(array, "swapaxes"):
        raise UsageError(f"{name} is a batch in a file, which is not transposed beside an array",
                         hint="read it, or leave both in files, where op_a and op_b transpose them")
    turned = array.swapaxes(-1, -2)
    if not conjugated or "complex" not in str(turned.dtype):
        return turned
    turned = turned.conj()
    return turned.resolve_conj() if hasattr(turned, "resolve_conj") else turned


def _workable(array: Any) -> Any:
    """ARRAY, or its memory as an array of a package that can copy it; None: none is loaded."""
    if hasattr(array, "contiguous") or hasattr(_package_of(array), "ascontiguousarray"):
        return array
    cupy, torch = sys.modules.get("cupy"), sys.modules.get("torch")
    if cupy is not None:
        return cupy.asarray(array) if hasattr(array, "__cuda_array_interface__") else cupy.from_dlpack(array)
    return torch.as_tensor(array, device="cuda") if torch is not None and torch.cuda.is_available() else None


class Copy:
    """A contiguous copy of an array in GPU memory whose strides the library does not take; kept until the product is done."""

    def __init__(self, array: Any, name: str) -> None:
        try:
            self._of: Any = _workable(array)
            self.made = None if self._of is None else self._contiguous()
        except Exception as error:  # each package has exceptions of its own
            raise FitError(f"{name} could not be copied in GPU memory: {error}", hint=_COPY_HINT) from error
        if self.made is None:
            raise UsageError(f"{name} has strides that are not taken in GPU memory, where matrices must follow each other and the "
                             "elements of rows, or those of columns, be contiguous", hint=_COPY_HINT)

    def _contiguous(self) -> Any:
        if hasattr(self._of, "contiguous"):
            return self._of.contiguous()
        with self._of.device:  # CuPy copies on the current GPU
            return _package_of(self._of).ascontiguousarray(self._of)

    def finish(self, back: bool) -> None:
        """Waits until the product, which may only be posted, no longer uses the copy; BACK: writes it to the array."""
        cuda: Any = getattr(_package_of(self._of), "cuda", None)
        if hasattr(cuda, "synchronize"):  # torch
            cuda.synchronize(self._of.device)
        elif cuda is not None:
            self._of.device.synchronize()
        if not back:
            return
        if hasattr(self._of, "copy_"):
            self._of.copy_(self.made)
        else:
            self._of[...] = self.made


def empty_beside(array: Any, shape: tuple[int, int], type_: str) -> Any:
    """A new array of ARRAY's package on its GPU; None for packages whose arrays cannot be written or made here."""
    name = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "c64": "complex64",
            "c128": "complex128", "i8": "int8", "i32": "int32"}[type_]
    package = _package_of(array)
    dtype = getattr(package, name, None)
    if dtype is None:
        return None
    if hasattr(array, "new_empty"):  # torch
        return array.new_empty(shape, dtype=dtype)
    if package.__name__ == "cupy":
        with array.device:
            return package.empty(shape, dtype)
    return None


def as_given(made: Any, *given: Any) -> Any:
    """MADE, an array of NumPy, as a tensor of torch in the same memory, if all that was GIVEN are tensors in host memory."""
    torch = sys.modules.get("torch")
    if torch is None or type(made) is not np.ndarray:
        return made
    tensors = all(isinstance(x, torch.Tensor) and x.device.type == "cpu" for x in given)
    return moved_beside(given[0], made) if tensors else made


def moved_beside(array: Any, numbers: Any) -> Any:
    """NUMBERS of NumPy as an array of ARRAY's package on its GPU; themselves for packages that make none from them, or None."""
    package: Any = None if array is None else _package_of(array)
    if hasattr(array, "new_tensor") and hasattr(package, "from_numpy"):  # torch
        if numbers.dtype.name == "bfloat16":
            return package.from_numpy(numbers.view("i2")).view(package.bfloat16).to(array.device)
        return package.from_numpy(numbers).to(array.device)
    if package is not None and package.__name__ == "cupy":
        with array.device:
            return package.asarray(numbers)
    return numbers
