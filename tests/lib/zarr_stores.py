"""zarr_stores: writes arrays of Zarr by hand, from the specifications, so that damier is judged by other code than its own."""
import ctypes
import ctypes.util
import gzip
import itertools
import json
import struct
import zlib

import numpy as np

NAMES = {"f8": "float64", "f4": "float32", "f2": "float16", "c8": "complex64", "c16": "complex128", "b1": "bool",
         **{f"{kind}{size}": f"{word}{8 * size}" for kind, word in (("i", "int"), ("u", "uint")) for size in (1, 2, 4, 8)}}


def library(name):
    """A C library of the system, or None."""
    found = ctypes.util.find_library(name)
    return ctypes.CDLL(found) if found else None


def packed_by(function, data, *arguments, room):
    """What FUNCTION writes to memory of ROOM bytes; ARGUMENTS have None for the memory and "room" for its size."""
    memory = ctypes.create_string_buffer(room)
    made = function(*[memory if a is None else ctypes.c_size_t(room) if a == "room" else a for a in arguments])
    assert 0 < made <= room, made
    return memory.raw[:made]


def zstd(data):
    lib = library("zstd")
    lib.ZSTD_compress.restype = ctypes.c_size_t
    return packed_by(lib.ZSTD_compress, data, None, "room", data, ctypes.c_size_t(len(data)), 3, room=len(data) + 1024)


def unzstd(data, room):
    lib = library("zstd")
    lib.ZSTD_decompress.restype = ctypes.c_size_t
    memory = ctypes.create_string_buffer(room)
    made = lib.ZSTD_decompress(memory, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)))
    assert made == room, "a chunk of another size"
    return memory.raw


def lz4(data):
    lib = library("lz4")
    return struct.pack("<I", len(data)) + packed_by(lib.LZ4_compress_default, data, data, None, len(data), len(data) + 1024,
                                                    room=len(data) + 1024)


def blosc(data, size):
    lib = library("blosc")
    return packed_by(lib.blosc_compress_ctx, data, 5, 1, ctypes.c_size_t(size), ctypes.c_size_t(len(data)), data, None, "room",
                     b"lz4", ctypes.c_size_t(0), 1, room=len(data) + 1024)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return struct.pack("<I", crc ^ 0xFFFFFFFF)


def pack(data, codec, size):
    return {"": lambda: data, "gzip": lambda: gzip.compress(data, 1), "zlib": lambda: zlib.compress(data, 1),
            "zstd": lambda: zstd(data), "lz4": lambda: lz4(data), "blosc": lambda: blosc(data, size),
            "crc32c": lambda: data + crc32c(data)}[codec]()


def blocks(array, shape, fill, outside):
    """The parts of ARRAY with SHAPE, filled up with OUTSIDE: (their numbers, part)."""
    counts = [-(-extent // size) for extent, size in zip(array.shape, shape)]
    for number in itertools.product(*map(range, counts)):
        part = np.full(shape, outside, array.dtype)
        own = array[tuple(slice(i * size, (i + 1) * size) for i, size in zip(number, shape))]
        part[tuple(map(slice, own.shape))] = own
        yield number, part, np.array_equal(own, np.full(own.shape, fill, array.dtype))


class Store:
    """Writes one array; what is left out has the writers' usual values."""

    def __init__(self, folder, array, version=3, chunks=(16, 16), shards=None, codecs=("zstd",), order=None, big=False, fill=0,
                 sparse=False, separator="", plain=False, index="end", index_sum=True, attributes=None, shuffled=False):
        self.folder, self.array, self.version, self.chunks, self.shards = folder, array, version, tuple(chunks), shards
        self.codecs, self.order, self.big, self.fill, self.sparse = tuple(codecs), order, big, fill, sparse
        self.separator = separator or ("/" if version == 3 and not plain else ".")
        self.plain, self.index, self.index_sum = plain, index, index_sum
        self.attributes, self.shuffled = attributes or {}, shuffled
        self.size = array.dtype.itemsize

    def encoded(self, part):
        """A chunk as stored."""
        part = part.astype(part.dtype.newbyteorder(">" if self.big else "<"))
        data = (part.transpose(self.order) if self.order else part).tobytes("C")
        for codec in self.codecs:
            data = pack(data, codec, self.size)
        return data

    def shard(self, part):
        """A shard with its index; absent chunks are all fill values if the array is sparse."""
        each = list(blocks(part, self.chunks, self.fill, self.fill))
        length = 16 * len(each) + 4 * self.index_sum
        at, entries, data = length if self.index == "start" else 0, [None] * len(each), b""
        for place in reversed(range(len(each))) if self.shuffled else range(len(each)):
            if self.sparse and each[place][2]:
                entries[place] = (2**64 - 1, 2**64 - 1)
                continue
            stored = self.encoded(each[place][1])
            entries[place] = (at + len(data), len(stored))
            data += stored
        index = b"".join(struct.pack("<QQ", *entry) for entry in entries)
        index += crc32c(index) if self.index_sum else b""
        return index + data if self.index == "start" else data + index

    def key(self, number):
        words = [*([] if self.version == 2 or self.plain else ["c"]), *map(str, number)]
        return self.separator.join(words)

    def metadata(self):
        fill = self.fill
        if self.version == 2:
            ids = [{"id": codec} for codec in self.codecs]
            return {"zarr_format": 2, "shape": self.array.shape, "chunks": self.chunks, "fill_value": fill, "filters": None,
                    "dtype": ("|" if self.size == 1 else ">" if self.big else "<") + self.array.dtype.str[1:],
                    "compressor": ids[0] if ids and ids[0]["id"] else None, "order": "F" if self.order else "C",
                    "dimension_separator": self.separator}
        chain = [{"name": "transpose", "configuration": {"order": self.order}}] if self.order else []
        chain.append({"name": "bytes", "configuration": {"endian": "big" if self.big else "little"}})
        chain += [{"name": codec} for codec in self.codecs if codec]
        if self.shards:
            sums = [{"name": "crc32c"}] if self.index_sum else []
            chain = [{"name": "sharding_indexed", "configuration": {
                "chunk_shape": self.chunks, "codecs": chain, "index_location": self.index,
                "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, *sums]}}]
        return {"zarr_format": 3, "node_type": "array", "shape": self.array.shape, "codecs": chain, "fill_value": fill,
                "data_type": NAMES[self.array.dtype.str[1:]], "attributes": self.attributes,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": self.shards or self.chunks}},
                "chunk_key_encoding": {"name": "v2" if self.plain else "default", "configuration": {"separator": self.separator}}}

    def write(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / ("zarr.json" if self.version == 3 else ".zarray")).write_text(json.dumps(self.metadata()))
        if self.version == 2 and self.attributes:
            (self.folder / ".zattrs").write_text(json.dumps(self.attributes))
        # what lies beyond the array may hold old numbers, which nobody must see
        outside = self.fill if self.array.dtype == bool else 99
        for number, part, empty in blocks(self.array, self.shards or self.chunks, self.fill, outside):
            if self.sparse and empty:
                continue
            path = self.folder / self.key(number)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.shard(part) if self.shards else self.encoded(part))


def write(folder, array, **how):
    Store(folder, array, **how).write()
    return folder


def group(folder, version=3, attributes=None):
    folder.mkdir(parents=True, exist_ok=True)
    if version == 3:
        text = {"zarr_format": 3, "node_type": "group", "attributes": attributes or {}}
        (folder / "zarr.json").write_text(json.dumps(text))
        return folder
    (folder / ".zgroup").write_text('{"zarr_format": 2}')
    if attributes:
        (folder / ".zattrs").write_text(json.dumps(attributes))
    return folder
