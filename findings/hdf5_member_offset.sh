#!/usr/bin/env bash
# HDF5 states other offsets and sizes for the members of a compound type than the file has, if a member beside them is a string of any length:
# a pointer of 8 bytes in memory stands for 16 bytes in the file. H5Dget_type gives the type as in memory, and no function gives the other.
# Seen with h5py 3.14.0 (HDF5 1.14.6): a type of a string and an f64 has 16 bytes, and the f64 is at 8; the elements take 24 bytes each in
# the file, and the f64 is at 16.
# Why it matters here: contiguous members of tables are read where H5Dget_offset says that the elements begin.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
packages h5py==3.14.0 numpy==2.3.5
check <<'PYTHON'
import struct

import h5py
import numpy as np

with h5py.File("strings.h5", "w") as f:
    data = f.create_dataset("d", (4,), [("name", h5py.string_dtype()), ("x", "f8")])
    for i in range(4):
        data[i] = ("a", i + 1.5)
with h5py.File("strings.h5") as f:
    data = f["d"].id
    stated = data.get_type()
    size, offset = stated.get_size(), stated.get_member_offset(1)
    first, stored = data.get_offset(), data.get_storage_size()
content = open("strings.h5", "rb").read()
where = {x: [struct.unpack_from("<d", content, first + i * stored // 4 + x)[0] for i in range(4)] for x in (8, 16)}
print(f"HDF5 {h5py.version.hdf5_version}; stated: {size} bytes, x at {offset}; stored: {stored // 4} bytes, x at 16: {where[16]}; at 8: {where[8]}")
assert (size, offset, stored) == (16, 8, 96)
assert where[16] == [1.5, 2.5, 3.5, 4.5] != where[8]
PYTHON
