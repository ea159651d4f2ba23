"""elements: damier's element types in NumPy, and their storage in HDF5 files.

A matrix is an array of exact values in a wide type (float64, complex128, int64); `rounded` rounds it to the type of a
file. NumPy has no bf16: uint16 holds its bits.
"""
import h5py
import numpy as np
from h5py import h5d, h5s, h5t

REAL = ("f64", "f32", "f16", "bf16")
COMPLEX = ("c64", "c128")
INPUTS = ("i16", "i64", "u8", "u16", "u32", "u64", "bool")  # converted on reading
INTEGER = ("i8", "i32") + INPUTS
FACTORS = REAL + COMPLEX + ("i8",)

STORED = {"f64": "f8", "f32": "f4", "f16": "f2", "bf16": "u2", "c64": "c8", "c128": "c16",
          "i8": "i1", "i32": "i4", "i16": "i2", "i64": "i8", "u8": "u1", "u16": "u2", "u32": "u4",
          "u64": "u8", "bool": "?"}
BITS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8, "c64": 24, "c128": 53}  # of the significand
ACCUMULATOR = {"f16": "f32", "bf16": "f32", "i8": "i32"}
TINY = {"f64": 2.0**-1074, "f32": 2.0**-149, "f16": 2.0**-24, "bf16": 2.0**-133,
        "c64": 2.0**-149, "c128": 2.0**-1074}


def unit(dtype):
    """Unit roundoff; 0 for integers."""
    return 2.0**-BITS[dtype] if dtype in BITS else 0.0


def promoted(a, b):
    """The type that matrices of two types are multiplied in if none is stated."""
    if a == b and a not in INTEGER[1:]:
        return a
    found = np.result_type(*["f4" if dtype == "bf16" else STORED[dtype] for dtype in (a, b)])
    return "f64" if found.kind in "biu" else next(d for d in FACTORS if d != "bf16" and np.dtype(STORED[d]) == found)


def wide(dtype):
    return np.int64 if dtype in INTEGER else np.complex128 if dtype in COMPLEX else np.float64


def bf16_bits(values):
    """Nearest bf16, ties to even, in units of the last place."""
    exponent = np.frexp(values)[1]
    unit_of_last = np.ldexp(1.0, np.maximum(exponent, -125) - 8)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.where(np.isfinite(values), np.rint(values / unit_of_last) * unit_of_last, values)
        return (near.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def stored(values, dtype):
    """VALUES as stored in a file of DTYPE."""
    if dtype == "bf16":
        return bf16_bits(np.asarray(values, np.float64))
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(STORED[dtype])


def exact(raw, dtype):
    """The values of an array read from a file."""
    if dtype == "bf16":
        return (raw.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return raw.astype(wide(dtype))


def rounded(values, dtype):
    return exact(stored(values, dtype), dtype)


def file_type(dtype, order="<"):
    """The HDF5 type, including those unknown to h5py: big-endian complex numbers, bf16."""
    if dtype != "bf16":
        return h5t.py_create(np.dtype(order + STORED[dtype]), logical=True)
    made = (h5t.IEEE_F32LE if order == "<" else h5t.IEEE_F32BE).copy()
    made.set_fields(15, 7, 8, 0, 7)
    made.set_size(2)
    made.set_ebias(127)
    return made


def suffix(layout):
    return "npy" if layout.startswith("npy") else "h5"


def write(path, values, dtype, layout="contiguous"):
    """Writes dataset /x and returns its exact values.  Layouts that begin with "vector" store a single row or
    column as one dimension."""
    raw = np.ascontiguousarray(stored(values, dtype))
    want = exact(raw, dtype)
    if layout.startswith("vector") and 1 in raw.shape:
        raw, layout = raw.reshape(-1), layout[7:] or "contiguous"
    if suffix(layout) == "npy":
        swapped = raw.astype(raw.dtype.newbyteorder(">")) if layout == "npy-big-endian" else raw
        with open(path, "wb") as file:  # np.save would append a suffix
            np.save(file, np.asfortranarray(swapped) if layout == "npy-fortran" else swapped)
        return want
    order = ">" if layout == "big-endian" else "<"
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    if layout == "compact":
        plist.set_layout(h5d.COMPACT)
    if layout in ("chunked", "deflate", "lzf"):
        plist.set_chunk(tuple(max(1, min(extent, size)) for extent, size in zip(raw.shape, (31, 50))))
    if layout == "lzf":
        plist.set_shuffle()
        plist.set_filter(h5py.h5z.FILTER_LZF, h5py.h5z.FLAG_OPTIONAL)
    if layout == "deflate":
        plist.set_shuffle()
        plist.set_deflate(4)
        plist.set_fletcher32()
    swapped = raw if order == "<" else raw.astype(raw.dtype.newbyteorder(">"))
    with h5py.File(path, "w") as file:
        kind = file_type(dtype, order)
        data = h5d.create(file.id, b"x", kind, h5s.create_simple(raw.shape), plist)
        data.write(h5s.ALL, h5s.ALL, swapped, mtype=kind)
    return want


def read_raw(path, dtype, dataset="c"):
    with h5py.File(path, "r") as file:
        data = file[dataset]
        raw = np.empty(data.shape, STORED[dtype])
        if data.id.get_type().get_size() != raw.dtype.itemsize:
            raise ValueError(f"{path} holds {data.id.get_type()}, wanted {dtype}")
        data.id.read(h5s.ALL, h5s.ALL, raw, mtype=data.id.get_type())
    return raw


def overwrite(path, raw, dataset="c"):
    """Replaces the elements of an existing dataset; keeps its attributes."""
    with h5py.File(path, "r+") as file:
        data = file[dataset]
        data.id.write(h5s.ALL, h5s.ALL, np.ascontiguousarray(raw), mtype=data.id.get_type())


def random(rng, shape, dtype, kind="uniform"):
    """Values of DTYPE; integers if KIND or the type demands them."""
    if dtype in ("i64", "u64") and kind == "large":
        return rng.integers(0, 2**53, shape)
    if dtype in INPUTS:
        low, high = (0, 2) if dtype == "bool" else (-999 if dtype[0] == "i" else 0, 200)
        return rng.integers(low, high, shape).astype(np.int64)
    if dtype in INTEGER:
        return rng.integers(-128, 128, shape).astype(np.int64)
    draw = {"uniform": lambda: rng.uniform(-1, 1, shape), "normal": lambda: rng.normal(size=shape),
            "positive": lambda: rng.uniform(0.5, 1, shape),
            "integer": lambda: rng.integers(-8, 9, shape).astype(float)}[kind]
    values = draw() + 1j * draw() if dtype in COMPLEX else draw()
    return rounded(values, dtype)
