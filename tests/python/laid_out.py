"""Arrays whose elements lie in memory in any way, in the memory of any package, for tests that write and read them."""
import sys

import numpy as np
from gpu_arrays import ByDlpack


class Layout:
    """Places of the elements of an array of SHAPE in a block: strides and offset in elements."""

    def __init__(self, rng, shape, repeats=(), negative=True, plain=False):
        """Axes in any order, with gaps, and backwards if NEGATIVE; those of REPEATS have stride 0."""
        self.shape, self.repeats = tuple(shape), tuple(repeats)
        one = [1] * len(shape)
        order = range(len(shape)) if plain or rng.random() < 0.4 else rng.permutation(len(shape))
        steps, pads = one, [0] * len(shape)
        if not plain and rng.random() < 0.5:
            steps, pads = rng.choice([1, 1, 2, 3], len(shape)), rng.choice([0, 0, 1, 4], len(shape))
        self.strides, self.offset, extent = [0] * len(shape), int(rng.integers(0, 3)), 1
        for axis in list(order)[::-1]:
            if axis in self.repeats:
                continue
            self.strides[axis] = int(extent * steps[axis])
            extent *= max(1, shape[axis]) * int(steps[axis]) + int(pads[axis])
        self.size = self.offset + extent + 3
        for axis, (n, stride) in enumerate(zip(shape, self.strides)):
            if negative and not plain and n > 1 and stride and rng.random() < 0.15:
                self.offset += (n - 1) * stride
                self.strides[axis] = -stride

    def of(self, block):
        """The array in BLOCK, of NumPy."""
        size = block.itemsize
        return np.lib.stride_tricks.as_strided(block[self.offset:], self.shape, [s * size for s in self.strides])

    def filled(self, values):
        """A block with VALUES, and elsewhere with numbers that nothing may read."""
        block = np.full(self.size, np.nan if values.dtype.kind in "fc" else 99).astype(values.dtype)
        self.of(block)[...] = values
        return block


class OfNumpy:
    """The block is the array's memory itself."""

    negative = True

    @staticmethod
    def array(layout, block):
        held = layout.of(block)
        return held, block

    @staticmethod
    def write(held, block):
        held[...] = block

    @staticmethod
    def read(held):
        return held.copy()

    @staticmethod
    def values(result):
        return result


class OfTorch:
    """On the current GPU; torch has no negative strides."""

    negative = False

    def __init__(self):
        import torch
        self.torch = torch
        self.found = torch.cuda.is_available()

    def array(self, layout, block):
        held = self.torch.from_numpy(block).cuda()
        return self.torch.as_strided(held, layout.shape, layout.strides, layout.offset), held

    def write(self, held, block):
        held.copy_(self.torch.from_numpy(block))

    @staticmethod
    def read(held):
        return held.cpu().numpy()

    @staticmethod
    def values(result):
        return result.cpu().numpy() if hasattr(result, "cpu") else result


class OfCupy:
    negative = True

    def __init__(self):
        import cupy
        self.cupy = cupy
        self.found = cupy.cuda.runtime.getDeviceCount() > 0

    def array(self, layout, block):
        held = self.cupy.asarray(block)
        size = block.itemsize
        return self.cupy.ndarray(layout.shape, block.dtype, held.data + layout.offset * size, [s * size for s in layout.strides]), held

    @staticmethod
    def write(held, block):
        held.set(block)

    @staticmethod
    def read(held):
        return held.get()

    @staticmethod
    def values(result):
        return result.get() if hasattr(result, "get") else result


float64, float32, float16, complex64, complex128 = np.float64, np.float32, np.float16, np.complex64, np.complex128  # of this package
int8, int32 = np.int8, np.int32


class Tensor(ByDlpack):
    """An array in the memory of an emulated GPU, of a package that copies and makes arrays: this module."""

    def __init__(self, gpu, block, layout):
        self.gpu, self.block, self.layout = gpu, block, layout
        super().__init__(block.pointer + layout.offset * block.dtype.itemsize, layout.shape, block.dtype, tuple(layout.strides))

    def contiguous(self):
        return self.made_of(self.layout.of(self.block.read()))

    def new_empty(self, shape, dtype):
        return self.made_of(np.full(shape, 99, dtype))

    def reshape(self, shape):
        """Of a contiguous one."""
        layout = Layout(np.random.default_rng(0), shape, plain=True)
        layout.offset = self.layout.offset
        return Tensor(self.gpu, self.block, layout)

    def made_of(self, values):
        plain = Layout(np.random.default_rng(0), values.shape, plain=True)
        return Tensor(self.gpu, Block(self.gpu, plain.filled(values)), plain)

    def copy_(self, other):
        block = self.block.read()
        self.layout.of(block)[...] = other.layout.of(other.block.read())
        self.block.write(block)


def broadcast_to(tensor, shape):
    layout = Layout(np.random.default_rng(0), shape, plain=True)
    layout.offset, missing = tensor.layout.offset, len(shape) - len(tensor.shape)
    layout.strides = [0] * missing + [0 if n != m else s for n, m, s in zip(tensor.shape, shape[missing:], tensor.layout.strides)]
    return Tensor(tensor.gpu, tensor.block, layout)


class Block:
    """Numbers in the memory of an emulated GPU."""

    def __init__(self, gpu, numbers):
        self.gpu, self.dtype, self.size = gpu, numbers.dtype, numbers.size
        self.pointer = gpu.allocate(numbers.nbytes)
        self.write(numbers)

    def write(self, numbers):
        self.gpu.write(self.pointer, numbers)

    def read(self):
        numbers = np.empty(self.size, self.dtype)
        self.gpu.read(numbers, self.pointer)
        return numbers

    def __del__(self):
        self.gpu.release(self)


class OfEmulated:
    negative = True

    def __init__(self):
        import on_gpu
        self.gpu = on_gpu.Emulated()
        self.found = True

    def array(self, layout, block):
        held = Block(self.gpu, block)
        return Tensor(self.gpu, held, layout), held

    @staticmethod
    def write(held, block):
        held.write(block)

    @staticmethod
    def read(held):
        return held.read()

    @staticmethod
    def values(result):
        return result.layout.of(result.block.read()) if isinstance(result, Tensor) else result


PACKAGES = {"numpy": OfNumpy, "torch": OfTorch, "cupy": OfCupy, "emulated": OfEmulated}


def opened(name):
    """The package NAME; ends the test as skipped where it or its GPU is missing."""
    try:
        package = PACKAGES[name]()
    except Exception as error:  # CuPy raises its own without a driver
        print(f"{name}: {error}")
        sys.exit(77)
    if not getattr(package, "found", True):
        print(f"{name} finds no GPU")
        sys.exit(77)
    return package
