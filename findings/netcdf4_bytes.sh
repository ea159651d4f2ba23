#!/usr/bin/env bash
# netCDF4-python prints "default _FillValue of -127 ignored" for a variable of one byte, and masks -127 (255 of unsigned bytes) all the same.
# Seen with netCDF4 1.7.5.1.post1: i1 [-128, -127, 0, 127] is read as [-128, --, 0, 127], u1 [0, 1, 254, 255] as [0, 1, 254, --].
# Why it matters here: what is missing in files of netCDF is decided as by netCDF4-python.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
packages netCDF4==1.7.5.1.post1 numpy==2.4.6
check <<'PYTHON'
import netCDF4
import numpy as np

numbers = {"i1": [-128, -127, 0, 127], "u1": [0, 1, 254, 255]}
with netCDF4.Dataset("x.nc", "w") as file:
    file.createDimension("n", 4)
    for kind, given in numbers.items():
        variable = file.createVariable(kind, kind, ("n",))
        variable.set_auto_maskandscale(False)
        variable[:] = np.array(given, kind)
with netCDF4.Dataset("x.nc") as file:
    masks = {kind: np.ma.getmaskarray(file[kind][:]).tolist() for kind in numbers}
    says = {kind: str(file[kind]).splitlines()[-1] for kind in numbers}
for kind in numbers:
    print(f"{kind} {numbers[kind]}: masked {masks[kind]}; it says: {says[kind]}")
assert all("ignored" in text for text in says.values()), says
assert masks == {"i1": [False, True, False, False], "u1": [False, False, False, True]}, masks
PYTHON
