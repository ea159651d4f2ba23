#!/usr/bin/env bash
# A Zarr array that is made smaller and larger again shows the removed elements again, where HDF5 shows the fill value: the last chunk
# keeps its full size, and resizing does not touch what is beyond the new edge.
# Seen with zarr 3.1.6 and h5py 3.16.0: [1, 2, 3, 4], resized to 2 and to 4, is [1, 2, 3, 4] in Zarr and [1, 2, 0, 0] in HDF5.
# Why it matters here: the padding of edge chunks holds old numbers, and must never be read as elements.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
packages zarr==3.1.6 h5py==3.16.0 numpy==2.4.6
check <<'PYTHON'
import h5py
import numpy as np
import zarr

array = zarr.create_array(store="x.zarr", shape=(4,), chunks=(4,), dtype="f8", fill_value=0)
array[:] = np.arange(1, 5)
array.resize((2,))
array.resize((4,))
with h5py.File("x.h5", "w") as file:
    dataset = file.create_dataset("x", data=np.arange(1.0, 5), chunks=(4,), maxshape=(None,))
    dataset.resize((2,))
    dataset.resize((4,))
    found = array[:].tolist(), dataset[:].tolist()
print(f"resized to 2 and to 4: Zarr {found[0]}, HDF5 {found[1]}")
assert found == ([1, 2, 3, 4], [1, 2, 0, 0]), found
PYTHON
