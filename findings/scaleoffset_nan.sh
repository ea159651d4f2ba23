#!/usr/bin/env bash
# HDF5's scale-offset filter on floating-point numbers turns NaN into another number of the chunk, without an error: a chunk that
# begins with a number stores its NaN as the chunk's smallest element; a chunk that begins with NaN keeps it.
# Seen with h5py 3.16.0 (HDF5 2.0.0): [1.25, 2.5, nan, 4.75] comes back as [1.25, 2.5, 1.25, 4.75], [nan, -3.5, 0.25, 10] unchanged.
# Why it matters here: missing values of a dataset with this filter are numbers that nothing tells from the others.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
packages h5py==3.16.0 numpy==2.4.6
check <<'PYTHON'
import h5py
import numpy as np

given = np.array([[1.25, 2.5, np.nan, 4.75], [np.nan, -3.5, 0.25, 10.0]])
with h5py.File("x.h5", "w") as file:
    file.create_dataset("x", data=given, chunks=(1, 4), scaleoffset=2)
with h5py.File("x.h5") as file:
    found = file["x"][...]
print(f"HDF5 {h5py.version.hdf5_version}\nwritten {given.tolist()}\nread    {found.tolist()}")
np.testing.assert_allclose(found, [[1.25, 2.5, 1.25, 4.75], [np.nan, -3.5, 0.25, 10.0]], atol=1e-12)
PYTHON
