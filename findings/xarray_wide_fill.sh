#!/usr/bin/env bash
# xarray masks a _FillValue or missing_value of 64 bits beside floats of 32 bits with NumPy 1, and takes the same numbers for values with
# NumPy 2: it compares the data with the attribute's number, which NumPy 2 no longer rounds to the type of the data first.
# Seen with xarray 2024.11.0: of [1, 1e20, 3] in float32 beside 1e20 in float64, the second is NaN with NumPy 1.26.4, and 1e20 with 2.2.6.
# Neither warns. (netCDF4-python does not mask it either, and says so.) h5py and other writers store Python's floats in 64 bits.
# Why it matters here: damier rounds such a number to the type of the data, and counts the elements that are equal to it as missing.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
for numpy in 1.26.4 2.2.6; do
  mkdir "$numpy"
  cd "$numpy" || exit
  packages "numpy==$numpy" xarray==2024.11.0 pandas==2.2.3 h5py==3.12.1 h5netcdf==1.4.1
  check <<'PYTHON'
import warnings

import h5py
import numpy as np
import xarray

warnings.simplefilter("error")
stored = np.array([1, 1e20, 3], "f4")
with h5py.File("a.nc", "w") as file:
    for name in ("_FillValue", "missing_value"):
        file["of" + name] = stored
        file["of" + name].attrs[name] = np.float64(1e20)
with xarray.open_dataset("a.nc", engine="h5netcdf", phony_dims="sort") as data:
    read = [data["of" + name].values.tolist() for name in ("_FillValue", "missing_value")]
print(f"NumPy {np.__version__}, xarray {xarray.__version__}: {read}")
masked = [[bool(np.isnan(number)) for number in numbers] for numbers in read]
assert masked == 2 * [[False, np.__version__.startswith("1."), False]], masked
PYTHON
  cd ..
done
