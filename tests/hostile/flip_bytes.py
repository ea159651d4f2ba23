#!/usr/bin/python3
"""Changes every byte of small files of each kind, one at a time. What damier then reads must be what h5py and NumPy read, with
the same attributes applied; what they refuse must be refused.

usage: flip_bytes.py PROGRAM [--every N] [--only KIND] [--table FILE]    (PROGRAM: read_flipped)
"""
import argparse
import collections
import ctypes
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import zlib

import h5py
import numpy as np

PATTERNS = (0xff, 0x01, 0x80, 0x10)
RESULTS = ("refused", "same", "undefined")
REFUSED = b"refused"
DIFFERS = "it is "
SHAPE = (6, 5)
NUMBERS = np.arange(30).reshape(SHAPE)
REAL = NUMBERS * 0.75 - 4
PACKED = {"scale_factor": 0.5, "add_offset": 3.0, "_FillValue": np.int16(-7)}
APPLIED = ("scale_factor", "add_offset", "_FillValue", "missing_value", "MissingValue", "CodeMissingValue", "valid_range",
           "valid_min", "valid_max", "_Unsigned", "dtype", "rhdf5-NA.OK", "storage.mode")
NETCDF = ("_Netcdf4Dimid", "_Netcdf4Coordinates")
SCALES = "DIMENSION_LIST"
NOTES = [f"note {i}" for i in range(10)]
DEFAULT_FILLS = {"i1": -127, "u1": 255, "i2": -32767, "u2": 65535, "i4": -2147483647, "u4": 4294967295,
                 "i8": -9223372036854775806, "u8": 18446744073709551614, "f4": 9.969209968386869e+36,
                 "f8": 9.969209968386869e+36}


def put(name, data, attributes=None, libver=None, track=False, **how):
    """Writes DATA to /a."""
    with h5py.File(name, "w", libver=libver) as file:
        set_ = file.create_dataset("a", data=data, **how)
        for key, value in (attributes or {}).items():
            set_.attrs[key] = value


def netcdf(name):
    with h5py.File(name, "w") as file:
        file.attrs["_NCProperties"] = np.bytes_("version=2,netcdf=4.9.0,hdf5=1.12.2")
        for axis, length in zip("yx", SHAPE):
            file[axis] = np.arange(length, dtype="f4")
            file[axis].make_scale(axis)
        # As netCDF4-python reads it, the default of the type is missing, and a fill value without _FillValue is not.
        numbers = NUMBERS.astype("i4")
        numbers[1, 1], numbers[1, 2] = DEFAULT_FILLS["i4"], 7
        set_ = file.create_dataset("a", data=numbers, fillvalue=7)
        set_.attrs["_Netcdf4Dimid"] = np.int32(0)
        for i, axis in enumerate("yx"):
            set_.dims[i].attach_scale(file[axis])


def virtual(name):
    put("source.h5", REAL)
    layout = h5py.VirtualLayout(SHAPE, "f8")
    layout[:] = h5py.VirtualSource("source.h5", "a", SHAPE)
    with h5py.File(name, "w", libver="v110") as file:
        file.create_virtual_dataset("a", layout)


def external(name):
    REAL.tofile("external.raw")
    with h5py.File(name, "w") as file:
        file.create_dataset("a", SHAPE, "f8", external=[("external.raw", 0, REAL.nbytes)])


def grouped(name, libver=None):
    with h5py.File(name, "w", libver=libver) as file:
        group = file.create_group("g")
        group.attrs["encoding-version"] = "0.1"
        for other in range(12 if libver else 2):
            group[f"other {other}"] = np.float32(other)
        group["a"] = NUMBERS.astype("i2")
        group["a"].attrs.update(PACKED)


def unwritten(name):
    with h5py.File(name, "w") as file:
        set_ = file.create_dataset("a", SHAPE, "i2", chunks=(3, 2), fillvalue=-5)
        set_[:3] = NUMBERS[:3]
        set_.attrs["scale_factor"] = 2.0


def dense(name, libver):
    put(name, NUMBERS.astype("i2"), {**{note: i for i, note in enumerate(NOTES)}, **PACKED}, libver)


def genotypes(name):
    codes = NUMBERS % 4
    codes = np.pad(codes, ((0, 0), (0, 3)))
    data = codes[:, 0::4] | codes[:, 1::4] << 2 | codes[:, 2::4] << 4 | codes[:, 3::4] << 6
    pathlib.Path(name).write_bytes(b"\x6c\x1b\1" + data.astype("u1").tobytes())
    pathlib.Path("x.bim").write_text("1 v 0 1 A G\n" * SHAPE[0])
    pathlib.Path("x.fam").write_text("F S 0 0 1 -9\n" * SHAPE[1])


def read_genotypes(name):
    """As bed-reader does; a line of each variant, or of each sample."""
    data = np.fromfile(name, "u1")
    assert bytes(data[:2]) == b"\x6c\x1b" and data[2] < 2
    shape = SHAPE if data[2] else SHAPE[::-1]
    codes = (data[3:].reshape(shape[0], -1)[:, :, None] >> np.array([0, 2, 4, 6]) & 3).reshape(shape[0], -1)[:, :shape[1]]
    assert data.size == 3 + shape[0] * -(-shape[1] // 4)
    values = np.array([2, np.nan, 1, 0])[codes]
    return values if data[2] else values.T


I2 = NUMBERS.astype("i2")
DEFLATED = {"chunks": (4, 3), "compression": "gzip", "shuffle": True}
KINDS = {  # file, its dataset, what makes it, options
    "contiguous": ("x.h5", "/a", lambda n: put(n, I2, PACKED), ""),
    "contiguous, latest": ("x.h5", "/a", lambda n: put(n, I2, PACKED, "latest"), ""),
    "compact": ("x.h5", "/a", lambda n: compact(n), ""),
    "chunked, deflate": ("x.h5", "/a", lambda n: put(n, I2, PACKED, fletcher32=True, **DEFLATED), ""),
    "chunked, latest": ("x.h5", "/a", lambda n: put(n, I2, PACKED, "latest", **DEFLATED), ""),
    "chunked, growing, latest": ("x.h5", "/a", lambda n: put(n, I2, PACKED, "latest", chunks=(4, 3), maxshape=(None, 5)), ""),
    "chunked, lzf": ("x.h5", "/a", lambda n: put(n, REAL, chunks=(4, 3), compression="lzf"), ""),
    "partly written": ("x.h5", "/a", unwritten, "no-data"),
    "many attributes": ("x.h5", "/a", lambda n: dense(n, None), ""),
    "many attributes, latest": ("x.h5", "/a", lambda n: dense(n, "latest"), ""),
    "factor as text": ("x.h5", "/a", lambda n: put(n, I2, {"scale_factor": "0.5", "_Unsigned": "true"}), ""),
    "range": ("x.h5", "/a", lambda n: put(n, REAL, {"valid_range": np.array([-1.5, 9.0])}), ""),
    "netCDF": ("x.h5", "/a", netcdf, ""),
    "in a group": ("x.h5", "/g/a", grouped, ""),
    "in a group, latest": ("x.h5", "/g/a", lambda n: grouped(n, "latest"), ""),
    "virtual": ("x.h5", "/a", virtual, ""),
    "external": ("x.h5", "/a", external, "external"),
    "complex": ("x.h5", "/a", lambda n: put(n, REAL + 1j * NUMBERS), ""),
    "booleans": ("x.h5", "/a", lambda n: put(n, NUMBERS % 3 == 0), ""),
    "bfloat16": ("x.h5", "/a", lambda n: put(n, (REAL.astype("f4").view("u4") >> 16).astype("u2"),
                                             {"dtype": np.bytes_("bfloat16")}), ""),
    ".npy": ("x.npy", "", lambda n: np.save(n, REAL), ""),
    ".npy by columns": ("x.npy", "", lambda n: np.save(n, np.asfortranarray(I2)), ""),
    ".bed": ("x.bed", "", genotypes, ""),
}


def compact(name):
    with h5py.File(name, "w") as file:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_layout(h5py.h5d.COMPACT)
        set_ = h5py.h5d.create(file.id, b"a", h5py.h5t.STD_I16LE, h5py.h5s.create_simple(SHAPE), creation)
        set_.write(h5py.h5s.ALL, h5py.h5s.ALL, I2)
        file["a"].attrs.update(PACKED)


THOROUGH = ("contiguous", "many attributes, latest")

# ---- what h5py and NumPy read ----

def numbers_of(value):
    """The numbers of an attribute, as a list; None: it has none."""
    if isinstance(value, h5py.Empty):
        return []
    if isinstance(value, (bytes, str, np.bytes_)):
        try:
            return [float(value)]
        except ValueError:
            return None
    value = np.asarray(value)
    return list(value.ravel()) if value.dtype.kind in "iufb" else None


def text_of(value):
    """A text up to its first NUL, as C reads it."""
    value = value.decode("latin1") if isinstance(value, bytes) else value
    return value.split("\0")[0] if isinstance(value, str) else None


def holds(dtype, number):
    """Whether the type has this number, so that netCDF4-python compares with it; floats are rounded."""
    if dtype.kind == "f":
        return True
    limits = np.iinfo(dtype)
    return bool(np.isfinite(number)) and number == int(number) and limits.min <= int(number) <= limits.max


def default_fill(file, set_, said):
    """The number that netCDF takes for missing if the variable names none."""
    dtype, keys = set_.dtype, set_.attrs.keys()
    fills = numbers_of(said.get("_FillValue", h5py.Empty("f8"))) or []
    unsigned = str(said.get("_Unsigned", "")).strip("b'").lower() == "true" and dtype.kind == "i"
    if unsigned or any(holds(dtype, number) for number in fills) or dtype.str[1:] not in DEFAULT_FILLS:
        return []
    is_set = set_.id.get_create_plist().fill_value_defined() == h5py.h5d.FILL_VALUE_USER_DEFINED
    by_netcdf = "_NCProperties" in file.attrs or any(name in keys for name in NETCDF)
    marked = by_netcdf and (is_set or dtype.itemsize > 1) or SCALES in keys and is_set
    return [dtype.type(DEFAULT_FILLS[dtype.str[1:]])] if marked else []


def applied(file, set_):
    """The values of SET_, NaN where they are missing."""
    stored = set_[()]
    for object_ in (set_, set_.parent, file):
        keys = list(object_.attrs.keys())
    keys = list(set_.attrs.keys())
    said = {name: set_.attrs[name] for name in APPLIED if name in keys}
    if text_of(said.get("dtype")) == "bfloat16" and stored.dtype.str[1:] == "u2":
        stored = (stored.astype("u4") << 16).view("f4")
    if stored.dtype.kind == "c":
        return stored.astype("c16")
    if str(said.get("_Unsigned", "")).strip("b'").lower() == "true" and stored.dtype.kind == "i":
        stored = stored.view(stored.dtype.str.replace("i", "u"))
    values = stored.astype("f8")
    gone = np.zeros(stored.shape, bool)
    for name in ("_FillValue", "missing_value", "MissingValue", "CodeMissingValue"):
        for number in numbers_of(said.get(name, h5py.Empty("f8"))) or []:
            gone |= (stored == number) | (np.isnan(stored) & np.isnan(number))
    for number in default_fill(file, set_, said):
        gone |= stored == number
    range_ = numbers_of(said.get("valid_range", h5py.Empty("f8"))) or []
    if len(range_) == 2 and all(holds(stored.dtype, bound) for bound in range_):
        gone |= ~((stored >= range_[0]) & (stored <= range_[1]))
    factor = (numbers_of(said.get("scale_factor", 1.0)) or [1.0])[0]
    shift = (numbers_of(said.get("add_offset", 0.0)) or [0.0])[0]
    values = values * factor + shift
    values[gone] = np.nan
    return values


def read_by_numpy(name, dataset):
    """The shape and the values as bytes."""
    if dataset:
        with h5py.File(name, "r") as file:
            values = applied(file, file[dataset])
    elif name.endswith(".bed"):
        values = read_genotypes(name)
    else:
        values = np.load(name).astype("f8")
    assert values.ndim == 2
    return np.array(values.shape, "i8").tobytes() + np.ascontiguousarray(values).tobytes()


def serve(name, dataset, fresh, requests, answers):
    """Reads the file for each byte that comes. What fails ends the process: HDF5 may keep a part of the file."""
    ctypes.CDLL(None).mallopt(-6, fresh)  # M_PERTURB: what new memory holds
    while requests.read(1):
        signal.alarm(20)
        try:
            data = read_by_numpy(name, dataset)
        except Exception:
            data = REFUSED
        answers.write(len(data).to_bytes(8, "little") + data)
        answers.flush()
        if data == REFUSED or h5py.h5f.get_obj_count():
            return


class Numpy:
    """What h5py and NumPy read, in a process of its own."""

    def __init__(self, name, dataset, fresh=0):
        self.of = name, dataset, fresh
        self.child = None

    def start(self):
        theirs, self.requests = os.pipe()
        self.answers, mine = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            try:
                os.close(self.requests)
                os.close(self.answers)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                serve(*self.of, os.fdopen(theirs, "rb", 0), os.fdopen(mine, "wb"))
            finally:
                os._exit(1)
        os.close(theirs)
        os.close(mine)

    def stop(self):
        if self.child:
            os.close(self.requests)
            os.close(self.answers)
            os.waitpid(self.child, 0)
        self.child = None

    def take(self, bytes_):
        data = b""
        while len(data) < bytes_ and (more := os.read(self.answers, bytes_ - len(data))):
            data += more
        return data

    def try_to_read(self):
        if not self.child:
            self.start()
        try:
            os.write(self.requests, b"x")
        except BrokenPipeError:
            return b""
        return self.take(int.from_bytes(self.take(8), "little"))

    def is_sure(self, wanted):
        """Whether what they read does not depend on what is in memory beyond an attribute: HDF5 before 1.14.4 does not
        compare the sizes that it states with its own."""
        found = [np.array(wanted[0], "i8").tobytes() + wanted[1].tobytes()]
        for fresh in (0x55, 0xe1):
            other = Numpy(*self.of[:2], fresh)
            found.append(other.try_to_read())
            other.stop()
        return len(set(found)) == 1

    def read(self):
        """Shape and values; REFUSED; None: they give no answer."""
        for _ in range(2):  # the first process may have left after its last answer
            data = self.try_to_read()
            if data == REFUSED:
                self.stop()
                return REFUSED
            if data:
                return tuple(np.frombuffer(data, "i8", 2)), np.frombuffer(data, "f8", offset=16)
            self.stop()
        return None


# ---- what damier reads ----

class Reader:
    def __init__(self, program, location, options):
        self.words = [program, location, *options.split()]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, errors="replace")

    def read(self):
        """The exit code and the rest of the answer."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            self.start()
            return -1, f"the reader crashed ({code})"
        code, _, rest = line.rstrip("\n").partition(" ")
        return int(code), rest


def same(answer, wanted):
    words = answer.split(" ")
    shape, values = tuple(int(w) for w in words[:2]), np.array([int(w, 16) for w in words[2:]], "u8").view("f8")
    return shape == wanted[0] and np.allclose(values, wanted[1], rtol=1e-6, atol=0, equal_nan=True)


def judge(answer, numpy, unchanged):
    """One of RESULTS, or what is wrong. UNCHANGED: the answer before the change."""
    code, rest = answer
    if code < 0:
        return rest
    if code > 0:
        return "refused" if code in (3, 4, 5) else f"exit code {code}: {rest[:120]}"
    wanted = numpy.read()
    if wanted is None and answer == unchanged:
        return "undefined"
    if wanted is None or wanted == REFUSED:
        return f"read, although h5py or NumPy {'refuses it' if wanted else 'gives no answer'}"
    if same(rest, wanted):
        return "same"
    return "undefined" if not numpy.is_sure(wanted) else f"{DIFFERS}{rest[:100]} ... in place of {wanted[0]} {wanted[1][:5]}"


def flips(data, every, near):
    """Places and patterns; of EVERY so many one, and all places of the attribute NEAR."""
    first = data.find(near) - 8 if near else len(data)
    for at in range(len(data)):
        for i, pattern in enumerate(PATTERNS):
            if every == 1 or (i == 0 and first <= at < first + 64) or zlib.crc32(b"%d %d" % (at, i)) % every == 0:
                yield at, pattern


def sweep(program, kind, every):
    file, dataset, make, options = KINDS[kind]
    make(file)
    data, counts, wrong = pathlib.Path(file).read_bytes(), collections.Counter(bytes=os.path.getsize(file)), []
    # Before its name, an attribute states sizes. HDF5 before 1.14.4 adds them up unseen, and reads the value from elsewhere.
    sizes = {m.start() - i for name in (*APPLIED, *NETCDF, SCALES, *NOTES) for m in re.finditer(re.escape(name.encode()) + b"\0", data)
             for i in range(1, 8)}
    reader = Reader(program, f"{file}:{dataset}" if dataset else file, options)
    numpy = Numpy(file, dataset)
    unchanged = reader.read()
    whole = judge(unchanged, numpy, unchanged)
    if whole != "same":
        wrong.append(f"{kind}, whole: {whole}")
    with open(file, "r+b", buffering=0) as patched:
        for at, pattern in flips(data, every, b"scale_factor" if kind in THOROUGH else None):
            os.pwrite(patched.fileno(), bytes([data[at] ^ pattern]), at)
            result = judge(reader.read(), numpy, unchanged)
            os.pwrite(patched.fileno(), data[at:at + 1], at)
            if result.startswith(DIFFERS) and at in sizes:
                result = "undefined"
            counts["changes"] += 1
            counts[result if result in RESULTS else "wrong"] += 1
            if result not in RESULTS:
                wrong.append(f"{kind}, byte {at} ({data[at]:#04x}) ^ {pattern:#04x}: {result}")
    reader.process.stdin.close()
    reader.process.wait()
    numpy.stop()
    return counts, wrong


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--every", type=int, default=1, help="only one of so many changes")
    parser.add_argument("--only", choices=list(KINDS))
    parser.add_argument("--table", help="a file for the counts")
    chosen = parser.parse_args()
    program, failed = os.path.abspath(chosen.program), []
    columns = ("bytes", "changes", *RESULTS, "wrong")
    lines = [" ".join([f"{'kind':26s}", *(f"{column:>9s}" for column in columns)])]
    table = os.path.abspath(chosen.table) if chosen.table else None
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for kind in [chosen.only] if chosen.only else KINDS:
            counts, wrong = sweep(program, kind, chosen.every)
            lines.append(" ".join([f"{kind:26s}", *(f"{counts[column]:9d}" for column in columns)]))
            print(lines[-1], flush=True)
            print("".join(line + "\n" for line in wrong[:40]), end="", flush=True)
            failed += wrong
        os.chdir("/")
    if table:
        pathlib.Path(table).write_text("\n".join(lines) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
