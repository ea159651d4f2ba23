#!/usr/bin/env bash
# xarray.cov(weights=) multiplies the weighted mean of products by n / (n - 1) with n, the number of observations, whatever the weights:
# of observations that count 1, 2 and 3 times the covariance is neither that of the six repeated ones (numpy.cov's fweights) nor that of
# weights of importance (aweights). With ddof=0 all agree.
# Seen with xarray 2026.9.0 and NumPy 2.4.6: 1.5, where repeating the observations gives 1.2, and aweights 1.636.
# Why it matters here: --weights-are says which of the two is meant, and a comparison with xarray needs ddof=0.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
packages xarray==2026.9.0 numpy==2.4.6
check <<'PYTHON'
import numpy as np
import xarray as xr

x, y, times = np.array([0.0, 1.0, 2.0]), np.array([1.0, 1.0, 4.0]), np.array([1, 2, 3])
line = lambda values: xr.DataArray(values, dims="t")
weighted = float(xr.cov(line(x), line(y), dim="t", weights=line(times)))
repeated = float(xr.cov(line(np.repeat(x, times)), line(np.repeat(y, times)), dim="t"))
frequency, importance = (np.cov(x, y, **{key: times})[0, 1] for key in ("fweights", "aweights"))
mean = float(xr.cov(line(x), line(y), dim="t", weights=line(times), ddof=0))
print(f"xarray: {weighted:.4g} with weights, {repeated:.4g} of repeated observations; numpy: {frequency:.4g} with fweights, "
      f"{importance:.4g} with aweights")
print(f"with ddof=0: {mean:.4g} and {np.cov(x, y, fweights=times, ddof=0)[0, 1]:.4g}")
assert np.isclose(repeated, frequency) and np.isclose(mean, np.cov(x, y, fweights=times, ddof=0)[0, 1])
assert np.isclose(weighted, mean * 3 / 2) and not np.isclose(weighted, frequency) and not np.isclose(weighted, importance)
PYTHON
