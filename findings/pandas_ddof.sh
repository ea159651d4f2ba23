#!/usr/bin/env bash
# pandas' DataFrame.cov(ddof=0) divides by n - 1 as soon as one value of the frame is missing, also in columns without missing values:
# the pairwise code takes no ddof. The same call on the frame without that value divides by n.
# Seen with pandas 3.1.1 and NumPy 2.4.6: the variance of a complete column becomes 2.5 in place of 2.0 when another one gets a gap.
# Why it matters here: --missing pairwise keeps --divide n, and a comparison with pandas must take ddof=1.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
packages pandas==3.1.1 numpy==2.4.6
check <<'PYTHON'
import numpy as np
import pandas as pd

frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0, 5.0], "y": [2.0, 1.0, 4.0, 3.0, 5.0]})
whole = frame.cov(ddof=0).loc["x", "x"]
frame.loc[2, "y"] = np.nan
gapped = frame.cov(ddof=0).loc["x", "x"]
print(f"variance of x with ddof=0: {whole} of a frame without gaps, {gapped} once y, another column, has one")
assert whole == 2.0 and gapped == 2.5
PYTHON
