"""meaning: attributes beside the numbers (packing, signs, missing values) as netCDF4 and xarray read them, spelled out
in NumPy; and encodings whose numbers are no values, which are refused."""
import re
from dataclasses import dataclass, field

import h5py
import numpy as np

from running import command, ended, expect, options, run_cases

rng = np.random.default_rng(7)
SHAPE = (60, 30)
NETCDF = "version=2,netcdf=4.9.0,hdf5=1.12.2"


@dataclass
class Case:
    """A dataset STORED with ATTRIBUTES; its VALUES are NaN where they are missing."""
    name: str
    stored: np.ndarray = field(repr=False)
    attributes: dict
    values: np.ndarray = field(repr=False)
    flags: tuple = ()
    create: dict = field(default_factory=dict)
    root: dict = field(default_factory=dict)


def texts(**attributes):
    return {name: np.bytes_(value) if isinstance(value, str) else value for name, value in attributes.items()}


def holes(values, *places):
    values = values.astype(np.float64)
    for place in places:
        values[place] = np.nan
    return values


def put(array, number, *places):
    array = array.copy()
    for place in places:
        array[place] = number
    return array


def integers(dtype, low=-100, high=100):
    return rng.integers(low, high, SHAPE).astype(dtype)


def cases():
    i2, f8 = integers("i2"), rng.standard_normal(SHAPE)
    at, later = (3, 4), (41, 29)
    unpacked = i2 * 0.001 + 1.5
    packing = {"scale_factor": 0.001, "add_offset": 1.5}
    single = {"scale_factor": np.float32(0.01), "add_offset": np.float32(2)}
    by_f4 = (i2 * np.float64(np.float32(0.01)) + 2).astype("f4")
    u1 = integers("u1", 0, 256)
    long = integers("i8") + (1 << 60)
    yield Case("packed", i2, packing, unpacked)
    yield Case("packed, big-endian", i2.astype(">i2"), packing, unpacked)
    yield Case("packed, f32", i2, single, by_f4, ("--type", "f32"))
    yield Case("packed in f32 is f32", i2, single, by_f4, ("B", "f4"))
    yield Case("packed, only an offset", i2, {"add_offset": 7.0}, i2 + 7.0)
    yield Case("packed, arrays of one", i2, {"scale_factor": np.array([0.5])}, i2 * 0.5)
    yield Case("packed, as text", i2, texts(scale_factor="0.5"), i2 * 0.5)
    yield Case("packed by nothing", i2, {"scale_factor": 1.0, "add_offset": 0.0}, i2)
    yield Case("packed floats", f8, packing, f8 * 0.001 + 1.5)
    yield Case("packed and chunked", i2, packing, unpacked, create={"chunks": (7, 11), "compression": 4})
    yield Case("packed and contiguous, external order", i2.astype("i4"), packing, unpacked)
    yield Case("raw", i2, packing | {"_FillValue": i2[0, 0]}, i2, ("--raw", "--type", "f64"))
    yield Case("packed, filled", put(i2, -32768, at, later), packing | {"_FillValue": np.int16(-32768)},
               holes(unpacked, at, later))
    yield Case("packed, filled, chunked", put(i2, -32768, at, later), packing | {"_FillValue": np.int16(-32768)},
               holes(unpacked, at, later), create={"chunks": (7, 11), "shuffle": True})
    yield Case("packed, missing of another type", put(i2, -999, at), packing | {"missing_value": -999.0},
               holes(unpacked, at))
    yield Case("several missing values", put(put(f8, -9999, at), 1e20, later),
               {"missing_value": np.array([-9999.0, 1e20])}, holes(f8, at, later))
    yield Case("filled floats", put(f8, -9999, later), {"_FillValue": -9999.0}, holes(f8, later))
    yield Case("f64 beside f32", put(f8, 1e20, at).astype("f4"), {"_FillValue": 1e20}, holes(f8.astype("f4"), at),
               ("--type", "f64"))
    yield Case("filled by NaN", put(f8, np.nan, at), {"_FillValue": np.nan}, holes(f8, at))
    yield Case("filled, none occurs", f8, {"_FillValue": -9999.0}, f8)
    yield Case("as text", put(f8, -9999.9, at), texts(CodeMissingValue="-9999.9"), holes(f8, at))
    yield Case("text that is no number", f8, texts(missing_value="none"), f8)
    yield Case("whole floats beside integers", put(i2, -999, at), {"_FillValue": np.float32(-999)}, holes(i2, at),
               ("--type", "f64"))
    yield Case("out of range beside integers", i2, {"_FillValue": 1e20}, i2, ("--type", "f64"))
    yield Case("unsigned", u1.view("i1"), texts(_Unsigned="true"), u1, ("--type", "f64"))
    yield Case("unsigned, filled", put(u1, 255, at).view("i1"), texts(_Unsigned="true", _FillValue=np.int8(-1)),
               holes(np.where(u1 == 255, np.nan, u1.astype("f8")), at), ("--type", "f64"))
    yield Case("unsigned, packed", u1.view("i1"), texts(_Unsigned="true", scale_factor=0.5), u1 * 0.5)
    yield Case("_Unsigned = false, which changes nothing", u1, texts(_Unsigned="false"), u1, ("--type", "f64"))
    yield Case("valid_range", put(f8, 50, at, later), {"valid_range": np.array([-10.0, 10.0])}, holes(f8, at, later))
    yield Case("valid_min, valid_max", put(put(i2, 500, at), -500, later),
               {"valid_min": np.int16(-100), "valid_max": np.int16(100)}, holes(i2, at, later), ("--type", "f64"))
    yield Case("valid_range of floats, as stored", put(i2, 3000, at), packing | {"valid_range": np.array([-100.0, 100.0])},
               holes(unpacked, at))
    yield Case("valid_range of stored numbers", put(i2, 3000, at),
               packing | {"valid_range": np.array([-100, 100], "i2")}, holes(unpacked, at))
    yield Case("64 bits", put(long, long.max() + 1, at), {"_FillValue": long.max() + 1}, holes(long, at),
               ("--type", "f64", "--allow-rounding"))
    yield Case("NA of R", put(i2.astype("i4"), -2**31, at), {"rhdf5-NA.OK": np.array([1], "i4")}, holes(i2, at),
               ("--type", "f64"))
    fill = 9.969209968386869e36
    yield Case("netCDF's default", put(f8, fill, at), {}, holes(f8, at), create={"fillvalue": fill},
               root={"_NCProperties": np.bytes_(NETCDF)})
    yield Case("no netCDF, no default", put(f8, fill, at), {}, put(f8, fill, at), create={"fillvalue": fill})


def write(folder, case):
    with h5py.File(folder / "a.h5", "w") as file:
        file.attrs.update(case.root)
        file.create_dataset("a", data=case.stored, **case.create).attrs.update(case.attributes)
    flags = list(case.flags)
    kind = "f8"
    if flags[:1] == ["B"]:
        kind, flags = flags[1], []
    b = rng.standard_normal((SHAPE[1], 10)).astype(kind)
    with h5py.File(folder / "b.h5", "w") as file:
        file["b"] = b
    return b.astype("f8"), flags


# The dataset itself, a part of it, and all files that match a pattern.
LOCATIONS = ("a.h5", "a.h5:/a[0:60, :]", "a*.h5:/a")


def multiply(folder, damier, ranks, *flags, a="a.h5"):
    return ended(command(ranks, damier, "multiply", f"{folder}/{a}", folder / "b.h5", "-o", folder / "c.h5", "--force",
                         "-q", *flags))


def compare(folder, values, b, single):
    with h5py.File(folder / "c.h5") as file:
        c = file["c"][()]
    bound = (1e-5 if single else 1e-11) * (1 + np.nansum(np.abs(values), 1).max() * np.abs(b).max())
    want = values @ b
    expect(np.array_equal(np.isnan(c), np.isnan(want)), "NaN elsewhere")
    expect(np.nanmax(np.abs(c - want), initial=0) <= bound, f"off by {np.nanmax(np.abs(c - want))}")


def try_case(folder, damier, case, ranks, a):
    b, flags = write(folder, case)
    values = case.values.astype("f8")
    single = "f4" in case.flags or "f32" in case.flags
    missing = np.argwhere(np.isnan(values))
    done = multiply(folder, damier, ranks, *flags, a=a)
    if len(missing):
        row, col = missing[0]
        how_many = "one of its values is" if len(missing) == 1 else f"{len(missing)} of its values are"
        expect(done.returncode == 3, f"exit {done.returncode}: {done.stderr}")
        expect(re.search(f"{re.escape(a)}.*: {how_many} missing; the first is in row {row}, column {col} ", done.stderr),
               done.stderr)
        expect(not (folder / "c.h5").exists(), "a result in spite of the refusal")
        zeros = multiply(folder, damier, ranks, *flags, "--missing", "zero", "--no-verify", a=a)
        expect(zeros.returncode == 0, zeros.stderr)
        compare(folder, np.nan_to_num(values), b, single)
        done = multiply(folder, damier, ranks, *flags, "--missing", "nan", "--allow-unchecked", a=a)
        flags += ["--missing", "nan", "--allow-unchecked"]
    expect(done.returncode == 0, f"exit {done.returncode}: {done.stderr}")
    compare(folder, values, b, single)
    again = ended([damier, "verify", f"{folder}/{a}", folder / "b.h5", folder / "c.h5",
                   *(flag for flag in flags if flag != "--allow-rounding")])
    expect(again.returncode == 0, f"verify: exit {again.returncode}: {again.stderr}")


# ---- refusals ----


def refusals():
    """Path, data, its attributes, those of its group, what the message says."""
    i4, f8 = integers("i4"), rng.standard_normal(SHAPE)
    yield "/a", np.frombuffer("hello world".encode("utf-16-le"), "u2")[None], texts(MATLAB_class="char"), {}, "text"
    yield "/a", np.array([[0, 4]], "u8"), texts(MATLAB_class="double", MATLAB_empty=np.uint8(1)), {}, "empty"
    yield "/a", i4.astype("u4"), texts(MATLAB_class="string", MATLAB_object_decode=np.int32(3)), {}, "MATLAB_class = 'string'"
    yield "/a", i4, {"OCTAVE_EMPTY_MATRIX": np.int32(0)}, {}, "empty"
    yield "/g/codes", i4, {}, texts(**{"encoding-type": "categorical"}), "categories"
    yield "/a", i4, texts(**{"class": "factor"}, levels=np.array([b"a", b"b"])), {}, "factor"
    yield "/a", i4.astype("i8"), texts(value_type="datetime64[ns]"), {}, "dates"
    yield "/a", np.ones((1, 1)), texts(value_type="float64", shape=np.array([0, 4])), {}, "empty"
    yield "/a", integers("u1", 0, 9), texts(CLASS="IMAGE", IMAGE_SUBCLASS="IMAGE_INDEXED"), {}, "palette"
    yield "/a", integers("u1", 0, 9), texts(CLASS="PALETTE"), {}, "palette"
    yield "/a", i4, {"BSCALE": 0.5, "BZERO": 32768.0}, {}, "BZERO"
    yield "/a", i4, {"scale_factor": np.array([0.5, 2])}, {}, "not understood"
    yield "/a", i4, {"scale_factor": np.nan}, {}, "not understood"
    yield "/a", i4, {"add_offset": np.bytes_(b"see manual")}, {}, "not understood"


def try_refusal(folder, damier, path, data, attributes, of_group, says):
    with h5py.File(folder / "a.h5", "w") as file:
        file[path] = data
        file[path].attrs.update(attributes)
        file[path].parent.attrs.update(of_group)
    with h5py.File(folder / "b.h5", "w") as file:
        file["b"] = np.ones((data.shape[1], 2))
    words = [damier, "multiply", f"{folder}/a.h5:{path}", folder / "b.h5", "-o", folder / "c.h5", "--type", "f64", "-q",
             "--allow-rounding"]
    done = ended(words)
    expect(done.returncode == 3 and says in done.stderr, f"exit {done.returncode}: {done.stderr}")
    expect("--raw" in done.stderr, f"no remedy: {done.stderr}")
    raw = ended([*words, "--raw"])
    expect(raw.returncode == 0, f"--raw: exit {raw.returncode}: {raw.stderr}")


def try_vector(folder, damier, attribute):
    """Two columns that are the parts of complex numbers, by an attribute, are a vector; with --raw they are a matrix."""
    parts, b = rng.standard_normal((SHAPE[0], 2)), rng.standard_normal((SHAPE[0], 3))
    with h5py.File(folder / "a.h5", "w") as file:
        file["a"] = parts
        file["a"].attrs["complex"] = attribute
        file["b"] = b
        file.create_dataset("cut", data=parts, chunks=(7, 1)).attrs["complex"] = attribute
    vector = parts[:, 0] + 1j * parts[:, 1]
    for words, wanted in (("a b", vector @ b), ("cut b", vector @ b), ("b a --op-a t", b.T @ vector), ("b cut --op-a t", b.T @ vector),
                          ("a b --raw --op-a t", parts.T @ b)):
        first, second, *more = words.split()
        done = ended([damier, "multiply", f"{folder}/a.h5:/{first}", f"{folder}/a.h5:/{second}", "-o", folder / "c.npy", "--force", "-q", *more])
        expect(done.returncode == 0, f"{words}: exit {done.returncode}: {done.stderr}")
        got = np.load(folder / "c.npy")
        expect(got.shape == wanted.shape and np.allclose(got, wanted, rtol=0, atol=1e-12), f"{words}: {got} instead of {wanted}")


def try_healthy(folder, damier, attributes, warns):
    """Numbers that are their values, beside attributes that may mean something."""
    data = integers("i4")
    with h5py.File(folder / "a.h5", "w") as file:
        file["a"] = data
        file["a"].attrs.update(attributes)
    with h5py.File(folder / "b.h5", "w") as file:
        file["b"] = np.ones((SHAPE[1], 2))
    done = multiply(folder, damier, 1, "--type", "f64")
    expect(done.returncode == 0 and ("warning" in done.stderr) == warns, f"exit {done.returncode}: {done.stderr}")


def try_large(folder, damier):
    """Missing values in A, which stays in its file and is read once for every tile, are counted once."""
    a = rng.standard_normal((900, 6000))
    a[::100, ::1000] = -1e30
    with h5py.File(folder / "a.h5", "w") as file:
        file["a"] = a
        file["a"].attrs["_FillValue"] = -1e30
    with h5py.File(folder / "b.h5", "w") as file:
        file["b"] = rng.standard_normal((6000, 900))
    for ranks in (1, 3):
        done = multiply(folder, damier, ranks)
        expect(done.returncode == 3 and "54 of its values are missing; the first is in row 0, column 0" in done.stderr,
               f"exit {done.returncode}: {done.stderr}")


def try_mapped(folder, damier, locations):
    """A, B or the old C, so large that they would be multiplied in the page cache without being read."""
    a = rng.standard_normal((3000, 400))
    a[2000, 3] = -1e30
    for i in range(2):
        with h5py.File(folder / f"s{i}.h5", "w") as file:
            file["a"] = a[1500 * i:1500 * (i + 1)]
            file["a"].attrs["_FillValue"] = -1e30
    with h5py.File(folder / "a.h5", "w") as file:
        file["a"] = a
        file["a"].attrs["_FillValue"] = -1e30
    with h5py.File(folder / "b.h5", "w") as file:
        file["b"], file["left"] = rng.standard_normal((400, 8)), rng.standard_normal((5, 3000))
        b, left = file["b"][()], file["left"][()]
    zeros = np.where(a < -1e29, 0, a)
    words = ["-o", folder / "c.h5", "--force", "-q"]
    for location in locations:
        for first, second, want in ((location, "b.h5:/b", zeros @ b), ("b.h5:/left", location, left @ zeros)):
            product = [damier, "multiply", f"{folder}/{first}", f"{folder}/{second}", *words]
            done = ended(product)
            expect(done.returncode == 3 and "one of its values is missing; the first is in row" in done.stderr,
                   f"{location}: exit {done.returncode}: {done.stderr}")
            done = ended([*product, "--missing", "zero"])
            expect(done.returncode == 0, f"{location}: {done.stderr}")
            with h5py.File(folder / "c.h5") as file:
                expect(np.allclose(file["c"][()], want), f"{location}: missing values are not 0")


def try_parts(folder, damier):
    """What is said of a dataset is said of its parts, of stacks and of virtual datasets."""
    data = np.abs(integers("i1", 0, 9))
    data[0, 0] = 9
    with h5py.File(folder / "a.h5", "w") as file:
        file["a"] = data
        file["a"].attrs["_FillValue"] = np.int8(9)
    with h5py.File(folder / "b.h5", "w") as file:
        file["b"] = np.ones((SHAPE[1], 2), "i1")
    for a in LOCATIONS:
        done = multiply(folder, damier, 1, "--missing", "nan", a=a)
        expect(done.returncode == 2 and "cannot become NaN in i8" in done.stderr, f"{a}: {done.returncode} {done.stderr}")
        shown = ended([damier, "info", f"{folder}/{a}"]).stdout
        expect("missing: 9 (_FillValue)" in shown, shown)
    with h5py.File(folder / "a.h5", "w", libver="v110") as file:
        file["a"] = data
        file["a"].attrs["Scale"] = 0.5
        layout = h5py.VirtualLayout(SHAPE, "i1")
        layout[:] = h5py.VirtualSource(".", "a", SHAPE)
        file.create_virtual_dataset("v", layout)
    for a in (*LOCATIONS, "a.h5:/v"):
        done = multiply(folder, damier, 1, a=a if ":" in a else a + ":/a")
        expect(done.returncode == 0 and "attribute Scale = 0.5 is not applied" in done.stderr, f"{a}: {done.stderr}")


chosen = options()
work = [(try_case, case, 1 + number % 3, LOCATIONS[number // 3 % 3]) for number, case in enumerate(cases())]
work += [(try_mapped, ("a.h5:/a", "a.h5:/a[0:3000]", "s*.h5:/a")), (try_parts,)]
work += [(try_refusal, *refusal) for refusal in refusals()]
work += [(try_vector, attribute) for attribute in (np.int32(1), True)]
work += [(try_healthy, attributes, warns) for attributes, warns in (
    ({"units": np.bytes_(b"K"), "long_name": np.bytes_(b"temperature")}, False), ({"scale": 0.5}, True),
    ({"scale": 1.0}, False), ({"SCALE_FACTOR": 0.5}, True), ({"Add_Offset": 3}, True), ({"fill_value": -1}, True),
    ({"nodata": np.nan}, False), ({"NODATA_value": -9999.0}, True), ({"_FillValue": 1e20}, True), ({"number": 5}, False),
    ({"units": np.bytes_(b"days since 2000-01-01")}, True), ({"MATLAB_class": np.bytes_(b"int32")}, False), ({"complex": np.int32(1)}, False),
    ({"levels": np.array([1.0, 2.0])}, False), ({"BSCALE": 1.0, "BZERO": 0.0}, False),
    ({"flag_values": np.array([0, 1], "i4"), "flag_meanings": np.bytes_(b"land sea")}, True))]
work.append((try_large,))
run_cases(chosen.damier, work)
