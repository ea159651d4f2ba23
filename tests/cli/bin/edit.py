"""edit FILE:/DATASET ROW COL: flips the highest exponent bit of one element in place."""
import sys

import h5py

file, _, dataset = sys.argv[1].partition(":")
with h5py.File(file, "r") as handle:
    data = handle[dataset]
    at = data.id.get_offset() + (int(sys.argv[2]) * data.shape[1] + int(sys.argv[3])) * \
        data.dtype.itemsize + data.dtype.itemsize - 1
with open(file, "r+b") as raw:
    raw.seek(at)
    byte = raw.read(1)[0]
    raw.seek(at)
    raw.write(bytes([byte ^ 0x40]))
