#!/usr/bin/env bash
# numpy.asarray and numpy.asanyarray of a masked dask array return the numbers under the mask, as an ordinary array without a warning;
# compute() returns NumPy's masked array. So a function that accepts any array sees fill values as data.
# Seen with dask 2026.8.0 and NumPy 2.4.6.
# Why it matters here: damier computes a dask array before it converts it, so that it sees the mask.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
packages dask==2026.8.0 numpy==2.4.6
check <<'PYTHON'
import dask.array as da
import numpy as np

numbers = np.ma.masked_array([1.0, 1e20, 3.0], mask=[False, True, False])
lazy = da.from_array(numbers, chunks=2, asarray=False)
computed, converted = lazy.compute(), np.asanyarray(lazy)
print(f"compute(): {computed!r}; numpy.asanyarray(): {converted!r}")
assert isinstance(computed, np.ma.MaskedArray) and bool(computed.mask[1])
assert not isinstance(converted, np.ma.MaskedArray) and converted[1] == 1e20
PYTHON
