#!/usr/bin/env bash
# netCDF's library opens no HDF5 file in which an attribute of a variable has two dimensions: not even the other variables can be read, and
# the error names neither the attribute nor its variable. Of a group with such an attribute variables are read, but no attribute is listed.
# h5py and h5netcdf read all of these files, and netCDF the same numbers as an attribute of one dimension.
# Seen with netCDF4 1.7.2 (netCDF 4.9.4-development) and files of h5py 3.12.1: "NetCDF: Can't open HDF5 attribute".
# Why it matters here: what damier writes beside C (checksums of its tiles, provenance) are attributes of at most one dimension.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
packages numpy==2.0.2 netCDF4==1.7.2 h5py==3.12.1 h5netcdf==1.4.1
check <<'PYTHON'
import h5netcdf
import h5py
import netCDF4
import numpy as np

REFUSED = "NetCDF: Can't open HDF5 attribute"


def said_of(name):
    """What netCDF says of the other variable, and of the root's attributes."""
    try:
        with netCDF4.Dataset(name) as data:
            assert (data["other"][:] == 7).all()
            try:
                return "read", data.ncattrs()
            except AttributeError as error:
                return "read", str(error)
    except (OSError, RuntimeError) as error:
        return str(error), None


print("netCDF", netCDF4.__netcdf4libversion__)
for place, shape, wanted in (("c", (6,), ("read", [])), ("/", (6,), ("read", ["table"])), ("c", (2, 3), (REFUSED, None)),
                             ("/", (2, 3), ("read", REFUSED))):
    name = f"{place.strip('/') or 'root'}{len(shape)}.h5"
    with h5py.File(name, "w") as file:
        file["c"], file["other"] = np.eye(3), np.full(4, 7.0)
        file[place].attrs["table"] = np.arange(6.0).reshape(shape)
    with h5netcdf.File(name, phony_dims="sort") as file:
        assert (file["other"][:] == 7).all()
    said = said_of(name)
    print(f"attribute of {place} with {len(shape)} dimensions: {said}")
    assert said == wanted, said
PYTHON
