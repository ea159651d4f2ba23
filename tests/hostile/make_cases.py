#!/usr/bin/python3
"""Writes small bad (and a few odd but good) HDF5 files and cases.tsv: location, exit code, fragment.

usage: make_cases.py FOLDER
"""
import os
import struct
import sys

import h5py
import numpy as np

import zarr_cases

MATRIX = np.arange(12.0).reshape(3, 4)


class Cases:
    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self.rows = []

    def path(self, name):
        path = os.path.join(self.folder, name)
        if os.path.lexists(path) and not os.path.isdir(path):
            os.unlink(path)
        return path

    def expect(self, name, code, fragment, dataset=""):
        self.rows.append(f"{name}{':' + dataset if dataset else ''}\t{code}\t{fragment}")

    def hdf5(self, name, code, fragment, dataset="", libver=None, **options):
        """Creates an HDF5 file that the caller fills in a with statement."""
        self.expect(name, code, fragment, dataset)
        return h5py.File(self.path(name), "w", libver=libver, **options)

    def raw(self, name, data, code, fragment, dataset=""):
        self.expect(name, code, fragment, dataset)
        with open(self.path(name), "wb") as file:
            file.write(data)


def virtual(cases):
    """Virtual datasets: where HDF5 would read the fill value, in silence, or another file."""
    def case(name, code, fragment, source="whole.h5", dataset="a", part=np.s_[:], **options):
        layout = h5py.VirtualLayout((64, 64), "f8", **options)
        layout[part] = h5py.VirtualSource(source, dataset, (64, 64), **options)[part]
        with cases.hdf5(f"virtual_{name}.h5", code, fragment, "/a", libver="v110") as file:
            file.create_virtual_dataset("a", layout)

    with h5py.File(cases.path("rectangle.h5"), "w") as file:
        file["a"] = np.ones((64, 63))
    case("good", 0, "64 x 64 f64, virtual, 1 source")
    cases.expect("virtual_good.h5", 0, "virtual, 1 source")
    case("nested", 0, "virtual, 1 source", "virtual_good.h5")
    case("away", 3, "has an absolute path", "/etc/hostname")
    case("up", 3, "has a path with '..'", "../whole.h5")
    case("device", 3, "lies in another folder", "device.h5")
    case("lost", 4, "its source 'none.h5' does not exist", "none.h5")
    case("dangling", 4, "its source 'dangling_file.h5' does not exist", "dangling_file.h5")
    case("no_dataset", 3, "whole.h5:/b: there is no '/b'", dataset="b")
    case("text", 3, "text.h5:/a: is a text file", "text.h5")
    case("cut", 3, "cut_2048.h5:/a: cannot be opened", "cut_2048.h5")
    case("folder", 3, "folder.h5:/a: is a directory", "folder.h5")
    case("pipe", 3, "pipe.h5:/a: is a pipe", "pipe.h5")
    case("unwritten", 3, "unwritten_chunks.h5:/a: has no data", "unwritten_chunks.h5")
    case("raw", 3, "external.h5:/a: refused: its data lie in another file", "external.h5")
    case("small", 3, "maps its source rectangle.h5:/a as 64 x 64, but that is 64 x 63|"
         "maps elements that its source rectangle.h5:/a, 64 x 63, does not have", "rectangle.h5")
    case("part", 3, "has no source for 2048 of its 4096 elements", part=np.s_[:32])
    case("circle", 3, "or in a circle", ".")
    case("unlimited", 3, "has a mapping without an end", part=np.s_[:h5py.h5s.UNLIMITED], maxshape=(None, 64))


def good_bytes(cases):
    path = cases.path("whole.h5")
    with h5py.File(path, "w") as file:
        file["a"] = np.arange(4096.0).reshape(64, 64)
    with open(path, "rb") as file:
        return file.read()


def not_hdf5(cases):
    cases.raw("text.h5", b"1 2 3\n4 5 6\n" * 100, 3, "is a text file, such as CSV")
    cases.raw("binary.h5", bytes(range(128, 256)) * 10, 3, "is neither an HDF5 nor a .npy file")
    cases.raw("empty.h5", b"", 3, "is an empty file")
    cases.raw("one_byte.h5", b"\x89", 3, "is neither an HDF5 nor a .npy file")
    cases.raw("npy.h5", b"\x93NUMPY\x01\x00" + bytes(200), 3, "has a header that NumPy does not write")
    cases.raw("signature.h5", b"\x89HDF\r\n\x1a\n", 3, "cannot be opened as an HDF5 file")
    whole = good_bytes(cases)
    cases.expect("whole.h5", 0, "64 x 64 f64, contiguous")
    for length in (40, 96, 500, 800, 2048, len(whole) - 1):
        cases.raw(f"cut_{length}.h5", whole[:length], 3, "")
    zeroed = bytearray(whole)
    zeroed[96:800] = bytes(704)
    cases.raw("zeroed_root.h5", bytes(zeroed), 3, "")
    cases.raw("noise.h5", whole[:16] + os.urandom(4000), 3, "")


def not_files(cases):
    cases.expect("missing.h5", 4, "No such file or directory")
    cases.expect("missing.h5", 4, "No such file or directory", "/a")
    cases.expect("no_folder/a.h5", 4, "No such file or directory")
    os.makedirs(os.path.join(cases.folder, "folder.h5"), exist_ok=True)
    cases.expect("folder.h5", 3, "is a directory")
    os.mkfifo(cases.path("pipe.h5"))
    cases.expect("pipe.h5", 3, "is a pipe")
    os.symlink("/dev/zero", cases.path("device.h5"))
    cases.expect("device.h5", 3, "is a device")
    os.symlink("nowhere.h5", cases.path("dangling_file.h5"))
    cases.expect("dangling_file.h5", 4, "No such file or directory")


def paths(cases):
    with cases.hdf5("paths.h5", 3, "there is no '/b'", "/b") as file:
        file["a"] = MATRIX
        file["g/sub/x"] = MATRIX
        file["loop1"] = h5py.SoftLink("/loop2")
        file["loop2"] = h5py.SoftLink("/loop1")
        file["dangling"] = h5py.SoftLink("/not/there")
        file["inside"] = h5py.SoftLink("/g/sub/x")
        file["outside"] = h5py.ExternalLink("whole.h5", "/a")
        file["outside_group"] = h5py.ExternalLink("whole.h5", "/")
        file["via"] = h5py.SoftLink("/outside")
        file["type"] = np.dtype("f8")
    cases.expect("paths.h5", 3, "holds 5 matrices: /a (3 x 4 f64), /dangling (cannot be opened), "
                 "/g/sub/x (3 x 4 f64), /outside (link into another file), /outside_group (link into another file)")
    cases.expect("paths.h5", 3, "there is no '/A' in the file", "/A")
    cases.expect("paths.h5", 0, "3 x 4 f64", "/inside")
    cases.expect("paths.h5", 0, "3 x 4 f64", "//g/./sub//x/")
    cases.expect("paths.h5", 3, "is a group", "/g/sub")
    cases.expect("paths.h5", 3, "is a group", "/")
    cases.expect("paths.h5", 3, "is a type", "/type")
    cases.expect("paths.h5", 3, "there is no '/g/none'", "/g/none/x")
    cases.expect("paths.h5", 3, "is not a group", "/a/x")
    cases.expect("paths.h5", 3, "nowhere or in a circle", "/loop1")
    cases.expect("paths.h5", 3, "nowhere or in a circle", "/dangling")
    cases.expect("paths.h5", 3, "a link into another file ('whole.h5')", "/outside")
    cases.expect("paths.h5", 3, "a link into another file ('whole.h5')", "/via")
    cases.expect("paths.h5", 3, "a link into another file ('whole.h5')", "/outside_group/a")
    with cases.hdf5("no_matrix.h5", 3, "holds no 2-D dataset") as file:
        file["v"] = np.arange(3.0)
        file["w"] = np.arange(3.0)
    with cases.hdf5("cycle.h5", 0, "3 x 4 f64") as file:
        file["g/a"] = MATRIX
        file["g/again"] = file["/"]
    with cases.hdf5("escape.h5", 3, "is not printable") as file:
        file["\x1b[2Jhello"] = MATRIX


def shapes(cases):
    for name, data, fragment in (
        ("scalar", 3.0, "is a single value"),
        ("vector", np.arange(4.0), "has 1 dimension; a matrix has 2"),
        ("nine", np.zeros((2,) * 9), "has 9 dimensions"),
        ("nothing", np.zeros((0, 0)), "is empty: its shape is 0 x 0"),
        ("null", h5py.Empty("f8"), "is a dataset without elements"),
    ):
        with cases.hdf5(f"{name}.h5", 3, fragment, "/a") as file:
            file["a"] = data


def float_type(size, sign, exponent_at, exponent_bits, fraction_bits, bias):
    kind = h5py.h5t.IEEE_F64LE.copy() if size == 8 else h5py.h5t.IEEE_F32LE.copy()
    kind.set_fields(sign, exponent_at, exponent_bits, 0, fraction_bits)
    kind.set_size(size)
    kind.set_ebias(bias)
    return kind


def low_level(file, kind, dims=(3, 4), creation=None):
    space = h5py.h5s.create_simple(dims)
    return h5py.h5d.create(file.id, b"a", kind, space, dcpl=creation)


def types(cases):
    two = lambda kind: np.zeros((2, 2), dtype=kind)
    for name, data, fragment in (
        ("string", np.full((2, 2), b"abcd"), "its elements are strings"),
        ("opaque", two("V8"), "opaque bytes"),
        ("longdouble", two(np.longdouble), "floats of an unknown format"),
        ("opaque2", two("V2"), "opaque bytes"),  # bfloat16 of ml_dtypes, or any other opaque type
        ("mixed", two([("r", "f4"), ("i", "f8")]), "compounds of several members"),
        ("wide_pair", two([("r", "i8"), ("i", "i8")]), "parts of 64-bit integers"),
        ("text_member", two([("r", "f8"), ("t", "S3")]), "compounds of several members"),
        ("three", two([("r", "f4"), ("i", "f4"), ("k", "f4")]), "compounds of several members"),
        ("arrays", two([("r", "f4", (2,)), ("i", "f4", (2,))]), "r (2 f32), i (2 f32)"),
    ):
        with cases.hdf5(f"type_{name}.h5", 3, fragment, "/a") as file:
            file["a"] = data
    with cases.hdf5("type_vlen.h5", 3, "sequences", "/a") as file:
        file.create_dataset("a", (2, 2), dtype=h5py.vlen_dtype(np.float64))
    with cases.hdf5("type_text.h5", 3, "strings", "/a") as file:
        file.create_dataset("a", (2, 2), dtype=h5py.string_dtype())
    with cases.hdf5("type_reference.h5", 3, "references", "/a") as file:
        file.create_dataset("a", (2, 2), dtype=h5py.ref_dtype)
    for name, kind in (
        ("bias", float_type(4, 31, 23, 8, 23, 126)),
        ("fields", float_type(4, 31, 21, 10, 21, 511)),
        ("e4m3", float_type(1, 7, 3, 4, 3, 7)),
    ):
        with cases.hdf5(f"float_{name}.h5", 3, "floats of an unknown format", "/a") as file:
            low_level(file, kind).write(h5py.h5s.ALL, h5py.h5s.ALL, np.zeros(12), kind)
    kind = h5py.h5t.STD_I16LE.copy()
    kind.set_precision(12)
    with cases.hdf5("padded_integers.h5", 3, "its elements are 12-bit signed integers in more bits", "/a") as file:
        low_level(file, kind).write(h5py.h5s.ALL, h5py.h5s.ALL, np.zeros(12, "i2"))


def storage(cases):
    P = h5py.h5p
    with cases.hdf5("unwritten.h5", 3, "has no data: nothing was ever written", "/a") as file:
        file.create_dataset("a", (3, 4), dtype="f8")
    with cases.hdf5("huge.h5", 3, "has no data", "/a") as file:
        file.create_dataset("a", (2**29, 2**29), dtype="f8")
    with cases.hdf5("overflow.h5", 3, "more bytes than 64 bits can count", "/a") as file:
        file.create_dataset("a", (2**40, 2**40), dtype="f8", chunks=(64, 64))
    with cases.hdf5("huge_chunked.h5", 3, "has no data in ", "/a") as file:
        file.create_dataset("a", (2**26, 2**26), dtype="f8", chunks=(64, 64))[0, 0] = 1
    with cases.hdf5("unwritten_chunks.h5", 3, "nothing was ever written", "/a") as file:
        file.create_dataset("a", (100, 100), dtype="f8", chunks=(10, 10), compression="gzip")
    with cases.hdf5("some_chunks.h5", 3, "has no data in 99 of its 100 chunks", "/a") as file:
        file.create_dataset("a", (100, 100), dtype="f8", chunks=(10, 10))[:10, :10] = 1
    with cases.hdf5("big_chunk.h5", 3, "larger than 1 GiB", "/a") as file:
        file.create_dataset("a", (2**15, 2**15), dtype="f4", chunks=(2**14, 2**14 + 2**13),
                            compression="gzip", maxshape=(None, None))
    with cases.hdf5("external.h5", 3, "lie in another file ('/etc/hostname')", "/a") as file:
        plist = P.create(P.DATASET_CREATE)
        plist.set_external(b"/etc/hostname", 0, 4)
        low_level(file, h5py.h5t.STD_I8LE, (2, 2), plist)
    for name, number in (("szip", 4), ("n-bit", 5), ("scale-offset", 6), ("zfp", 32013),
                         ("blosc2", 32026)):
        with cases.hdf5(f"filter_{name}.h5", 3, f"HDF5 filter {number} ({name})", "/a") as file:
            plist = P.create(P.DATASET_CREATE)
            plist.set_chunk((3, 4))
            if number > 32000:
                plist.set_filter(number, h5py.h5z.FLAG_OPTIONAL)
            elif number == 4:
                plist.set_szip(h5py.h5z.SZIP_NN_OPTION_MASK, 4)
            elif number == 5:
                plist.set_filter(5, h5py.h5z.FLAG_OPTIONAL)
            else:
                plist.set_scaleoffset(h5py.h5z.SO_FLOAT_DSCALE, 2)
            low_level(file, h5py.h5t.IEEE_F64LE, (3, 4), plist)


def damaged(cases):
    """Valid files with single fields changed without HDF5."""
    path = cases.path("checksum.h5")
    with h5py.File(path, "w") as file:
        a = file.create_dataset("a", data=MATRIX, chunks=(3, 4), fletcher32=True)
        at = a.id.get_chunk_info(0).byte_offset
    patch(path, at + 8, b"\xff")
    cases.expect("checksum.h5", 3, "its elements cannot be read", "/a")
    path = cases.path("deflate.h5")
    with h5py.File(path, "w") as file:
        a = file.create_dataset("a", data=MATRIX, chunks=(3, 4), compression="gzip")
        at = a.id.get_chunk_info(0).byte_offset
    patch(path, at, b"\xff\xff\xff\xff")
    cases.expect("deflate.h5", 3, "its elements cannot be read", "/a")
    for name, packed in (
        ("cut_literals", b"\x1fabc"), ("cut_copy", b"\x00a\xe0"), ("before", b"\x00a\x20\x01"),
        ("cut_length", b"\x00a\xe0\x05"), ("too_long", b"\x00a" + b"\xe0\xff\x00" * 30),
        ("too_short", b"\x00a\xe0\x00\x00"),
    ):
        fragment = "it has 10 bytes" if name == "too_short" else "not valid LZF"
        with cases.hdf5(f"lzf_{name}.h5", 3, fragment, "/a") as file:
            a = file.create_dataset("a", (3, 4), "f8", chunks=(3, 4), compression="lzf")
            a.id.write_direct_chunk((0, 0), packed)
    path = cases.path("grown.h5")  # the shape exceeds the stored data
    with h5py.File(path, "w") as file:
        file["a"] = MATRIX
    with open(path, "rb") as file:
        data = file.read()
    at = data.find(struct.pack("<QQQQ", 3, 4, 3, 4))  # the shape, and its maximum
    patch(path, at, struct.pack("<QQQQ", *4 * [1 << 20]))
    # HDF5 1.14.4 and newer reject it themselves.
    cases.expect("grown.h5", 3, "declares 8796093022208 bytes and stores 96|likely file corruption", "/a")
    path = cases.path("beyond.h5")  # the data's address is beyond the end of the file
    with h5py.File(path, "w") as file:
        file["a"] = MATRIX
        at = file["a"].id.get_offset()
    with open(path, "rb") as file:
        data = file.read()
    patch(path, data.find(struct.pack("<QQ", at, 96)), struct.pack("<Q", 1 << 40))
    cases.expect("beyond.h5", 3, "", "/a")
    path = cases.path("bomb.h5")  # one chunk claims to be the whole of a large matrix
    with h5py.File(path, "w") as file:
        file.create_dataset("a", (8192, 8192), "f8", chunks=(4096, 4096), compression="gzip")
        for i in range(4):
            file["a"].id.write_direct_chunk((i // 2 * 4096, i % 2 * 4096), b"x\x9c\x03\0\0\0\0\x01")
    cases.expect("bomb.h5", 3, "declares 536870912 bytes and stores 32", "/a")


def npy(cases):
    """NumPy files with misleading headers."""
    def case(name, code, fragment, text, data=bytes(96), version=b"\1\0", length=None, dataset=""):
        text = text.encode("latin1") + b" " * (-(len(text) + 11) % 64) + b"\n"
        wide = 2 if version == b"\1\0" else 4
        size = (len(text) if length is None else length).to_bytes(wide, "little")
        cases.raw(f"npy_{name}.npy", b"\x93NUMPY" + version + size + text + data, code, fragment,
                  dataset)

    def words(descr="'<f8'", order="False", shape="(3, 4)"):
        return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"

    whole, strange = words(), "has a header that NumPy does not write"
    case("good", 0, "3 x 4 f64, contiguous in a file of NumPy", whole)
    case("columns", 0, "3 x 4 f32, contiguous in a file of NumPy, by columns, other byte order",
         words("'>f4'", "True"), bytes(48))
    case("version2", 0, "3 x 4 f64", whole, version=b"\2\0")
    case("version3", 0, "3 x 4 f64", whole, version=b"\3\0")
    case("python2", 0, "3 x 4 f64", words(shape="(3L, 4L)"))
    case("bool", 0, "3 x 4 bool", words("'|b1'"), bytes(12))
    case("version4", 3, "of version 4.0", whole, version=b"\4\0")
    case("version1_1", 3, "of version 1.1", whole, version=b"\1\1")
    case("named", 3, "whose one array has no name", whole, dataset="/a")
    case("cut", 3, "declares 96 bytes and stores 95: was it cut off?", whole, bytes(95))
    case("more", 0, "3 x 4 f64", whole, bytes(104))  # as NumPy reads it
    case("no_data", 3, "declares 96 bytes and stores 0", whole, b"")
    case("cut_header", 3, "is cut off in its header", whole, b"", length=4000)
    case("long_header", 3, "has a header of 4294967295 bytes", whole, version=b"\2\0",
         length=2**32 - 1)
    case("no_header", 3, strange, "", length=0)
    case("scalar", 3, "is a single value", words(shape="()"), bytes(8))
    case("vector", 3, "has 1 dimension; a matrix has 2", words(shape="(12,)"))
    case("nine", 3, "has 9 dimensions", words(shape="(3, 2" + ", 1" * 7 + ")"))
    case("nothing", 3, "is empty: its shape is 0 x 0", words(shape="(0, 0)"), b"")
    case("no_rows", 0, "0 x 4 f64", words(shape="(0, 4)"))  # as NumPy: what lies behind the elements is ignored
    case("huge", 3, "more bytes than 64 bits can count", words(shape=f"({2**40}, {2**40})"))
    case("overflow", 3, strange, words(shape=f"({2**64 + 3}, 4)"))
    case("negative", 3, strange, words(shape="(-3, -4)"))
    case("leading_zero", 3, strange, words(shape="(3, 04)"))
    case("deep", 3, strange, words(shape="(" + "1, " * 40 + ")"))
    for name, descr, fragment in (
        ("native", "=f8", "3 x 4 f64"), ("no_order", "f8", "3 x 4 f64"), ("irrelevant", "|f8", "3 x 4 f64"),
        ("word", "float64", "3 x 4 f64"), ("letter", "<d", "3 x 4 f64"), ("single", "single", "3 x 4 f32"),
        ("truth", "?", "3 x 4 bool"), ("long", "l", "3 x 4 i64"), ("half", ">e", "f16, contiguous in a file of NumPy, other"),
    ):
        case(name, 0, fragment, words(f"'{descr}'"))
    case("ordered_word", 3, "its elements are '<float64'", words("'<float64'"))
    case("extended", 3, "its elements are 'g'", words("'g'"))
    case("bf16", 3, "its elements are '<V2'", words("'<V2'"), bytes(24))
    case("text", 3, "its elements are '<U4'", words("'<U4'"))
    case("objects", 3, "its elements are '|O'", words("'|O'"))
    case("records", 3, "are records of NumPy", words("[('x', '<f8')]"))
    case("order", 3, strange, words(order="Falsehood"))
    case("twice", 3, strange, "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (3, 4)}")
    case("missing", 3, strange, "{'descr': '<f8', 'shape': (3, 4), }")
    case("key", 3, strange, "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), 'x': 1}")
    case("behind", 3, strange, whole + "; import os")
    case("no_end", 3, strange, whole[:-1])
    case("no_quote", 3, strange, "{'descr: <f8")
    case("zero", 3, "has a header that is not text", whole + "\0")
    case("escape", 3, "its elements are '?[2J'", words("'\x1b[2J'"))
    cases.raw("npy_no_magic.npy", b"1.5 2.5\n", 3, "is a text file, such as CSV")
    np.savez(cases.path("npy_archive.npz"), a=MATRIX)
    cases.expect("npy_archive.npz", 3, "is a zip archive, as .npz files of NumPy are")


def genotypes(cases):
    """Files of PLINK whose size is not what the lists beside them say, and lists that are none."""
    variants, samples = b"1\tv\t0\t1\tA\tG\n", b"F S 0 0 1 -9\n"

    def case(name, code, fragment, bed=b"\x6c\x1b\x01" + bytes(6), bim=3 * variants, fam=5 * samples):
        for ending, data in (("bim", bim), ("fam", fam)):
            if data is not None:
                with open(cases.path(f"plink_{name}.{ending}"), "wb") as file:
                    file.write(data)
        cases.raw(f"plink_{name}.bed", bed, code, fragment)

    case("good", 0, "3 x 5 i8, contiguous, 2 bits each, in a file of PLINK")
    case("good_last", 0, "3 x 5 i8", fam=4 * samples + samples.strip())
    case("crlf", 0, "3 x 5 i8", bim=3 * variants.replace(b"\n", b"\r\n"))
    case("by_samples", 0, "3 x 5 i8, contiguous, 2 bits each, in a file of PLINK, by columns", b"\x6c\x1b\x00" + bytes(5))
    case("short", 3, "has 5 bytes of genotypes; 3 variants (.bim) of 5 samples (.fam) take 6", b"\x6c\x1b\x01" + bytes(5))
    case("long", 3, "has 7 bytes of genotypes", b"\x6c\x1b\x01" + bytes(7))
    case("header", 3, "is cut off in its header", b"\x6c\x1b")
    case("third", 3, "its third byte is 255, not 1 or 0", b"\x6c\x1b\xff" + bytes(6))
    case("more", 3, "4 variants (.bim)", bim=4 * variants)
    case("more_samples", 3, "9 samples (.fam) take 9", fam=9 * samples)
    case("no_variants", 3, "has no variants: .bim is empty", bim=b"")
    case("no_samples", 3, "has no samples: .fam is empty", fam=b"\n\n")
    case("no_bim", 4, "plink_no_bim.bim: cannot be opened", bim=None)
    case("no_fam", 4, "plink_no_fam.fam: cannot be opened", fam=None)
    case("binary", 3, "line 1 is not text", bim=bytes(range(256)) * 8)
    case("endless", 3, "line 1 is not text, or longer than", fam=b"x" * (1 << 21))
    case("titled", 3, "begins with '#'", fam=b"#FID IID\n" + 5 * samples)
    case("pipe", 3, "is a pipe", fam=None)
    os.mkfifo(cases.path("plink_pipe.fam"))
    case("folder", 3, "is a directory", bim=None)
    os.makedirs(os.path.join(cases.folder, "plink_folder.bim"), exist_ok=True)
    cases.expect("plink_good.bed", 3, "whose one matrix has no name", "/x")
    cases.expect("plink_good.bed raw", 2, "--raw does not apply")
    cases.raw("plink_named.dat", b"\x6c\x1b\x01" + bytes(6), 3, "its name must end in .bed")


def foreign(cases):
    """Files of other formats, with the bytes that their own software writes first."""
    pad = bytes(600)
    matlab = b"MATLAB 5.0 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x01IM"
    level4 = struct.pack("<5i", 0, 3, 4, 0, 2) + b"A\0" + bytes(96)
    big4 = struct.pack(">5i", 1000, 3, 4, 0, 2) + b"A\0" + bytes(96)
    tensors = b'{"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}'
    archive = lambda name: b"PK\3\4" + bytes(26) + name + pad
    for name, data, fragment in (
        ("mat5", matlab + pad, "is a MATLAB file of version 5 to 7"),
        ("mat5_octave", b"Octave wrote this".ljust(124) + b"\x00\x01IM" + pad, "is a MATLAB file of version 5 to 7"),
        ("mat5_big", b" " * 124 + b"\x01\x00MI" + pad, "is a MATLAB file of version 5 to 7"),
        ("mat4", level4, "is a MATLAB file of version 4"), ("mat4_big", big4, "is a MATLAB file of version 4"),
        ("mat73_cut", b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512), "without its HDF5 part"),
        ("octave", b"# Created by Octave 7.3.0\n# name: A\n", "is a file of Octave"),
        ("octave_binary", b"Octave-1-L\0" + pad, "is a file of Octave"),
        ("cdf1", b"CDF\1" + pad, "netCDF file of the classic format"),
        ("cdf2", b"CDF\2" + pad, "netCDF file of the classic format"),
        ("cdf5", b"CDF\5" + pad, "netCDF file of the classic format"),
        ("hdf4", b"\x0e\x03\x13\x01" + pad, "is an HDF4 file"),
        ("gzip", b"\x1f\x8b\x08\0" + pad, "compressed with gzip"), ("zstd", b"\x28\xb5\x2f\xfd" + pad, "with zstd"),
        ("xz", b"\xfd7zXZ\0" + pad, "with xz"), ("bzip2", b"BZh91AY&SY" + pad, "with bzip2"),
        ("tar", b"a".ljust(257, b"\0") + b"ustar" + pad, "a tar archive"),
        ("lfs", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "a pointer of Git LFS"),
        ("annex", b"/annex/objects/MD5E-s8--0.h5\n", "a pointer of git-annex"),
        ("html", b"\xef\xbb\xbf\n <!DOCTYPE html><html>404</html>", "is a web page"), ("html2", b"<HTML>", "is a web page"),
        ("xml", b"<?xml version='1.0'?><Error/>", "is XML"), ("json", b'{"a": [[1, 2]]}', "is JSON"),
        ("mtx", b"%%MatrixMarket matrix array real general\n1 1\n1\n", "a text file of Matrix Market"),
        ("csv", "\ufeffx,y\n1,2\n".encode(), "a text file, such as CSV"), ("utf16", "1,2\n".encode("utf-16"), "a text file"),
        ("csv_long", b"\xc3\xa9" * 2000, "a text file"), ("csv_odd", b"1" + b"\xc3\xa9" * 2000, "a text file"),
        ("parquet", b"PAR1" + pad, "is a Parquet file"), ("arrow", b"ARROW1\0\0" + pad, "a file of Arrow"),
        ("safetensors", struct.pack("<Q", len(tensors)) + tensors + bytes(8), "a file of safetensors"),
        ("bed", b"\x6c\x1b\x01" + pad, "genotypes of PLINK"), ("fits", b"SIMPLE  =                    T".ljust(2880), "a FITS file"),
        ("pickle2", b"\x80\x02}q\0." + pad, "a pickle of Python"), ("pickle4", b"\x80\x04\x95" + pad, "a pickle of Python"),
        ("pickle0", b"cnumpy.core.multiarray\n_reconstruct\n\x8c" + pad, "a pickle of Python"),
        ("sparse_npz", archive(b"indices.npy"), "is a sparse matrix of SciPy"), ("npz", archive(b"a.npy"), "is a zip archive, as .npz"), ("torch", archive(b"archive/data.pkl"), "a file of PyTorch"),
        ("zarr_zip", archive(b".zarray"), "a Zarr store"), ("excel", archive(b"[Content_Types].xml"), "a spreadsheet"),
        ("rdata", b"RDX3\nX\n", "a file of R"), ("petsc", b"\0\x12\x7b\x50" + pad, "a binary file of PETSc"),
        ("zeros", bytes(4096), "begins with zeros"), ("unix", b"\x89HDF\n\x1a\n" + pad, "as if it were text"),
        ("recoded", b"\xc2\x89HDF\r\n\x1a\n" + pad, "as if it were text"), ("seven", b"\tHDF\r\n\x1a\n" + pad, "as if it were text"),
        ("latin1", "Gr\u00f6\u00dfe;1\n2;3\n".encode("latin-1"), "a text file, such as CSV"),
        ("xml_bare", b"<Error><Code>NoSuchKey</Code></Error>", "is XML"), ("pdf", b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n", "a PDF document"),
        ("tiff", b"II*\0" + pad, "(TIFF)"), ("zarr3_zip", archive(b"zarr.json"), "a Zarr store"), ("nifti2", b"\x1c\2\0\0n+2\0\r\n\x1a\n" + pad, "a NIfTI file"),
        ("noise", bytes(range(1, 256)) * 4, "is neither"),
        ("unknown", b"GGUF\3\0\0\0" + pad, "is neither an HDF5 nor a .npy file"),
    ):
        cases.raw(f"foreign_{name}.h5", data, 3, fragment)
    folder = os.path.join(cases.folder, "n5")
    os.makedirs(folder, exist_ok=True)
    open(os.path.join(folder, "attributes.json"), "w").close()
    cases.expect("n5", 3, "is a folder of N5")
    # HDF5 finds its signature at 512, 1024, ...; what is before it may look like anything.
    with cases.hdf5("behind_text.h5", 0, "3 x 4 f64", userblock_size=1024) as file:
        file["a"] = MATRIX
    patch(os.path.join(cases.folder, "behind_text.h5"), 0, b"MATLAB 5.0 MAT-file")


def candidates(cases):
    """Files of two matrices, of which only /other/P can be multiplied without further ado: P must not be taken."""
    def case(name, make, listed, **options):
        with cases.hdf5(f"two_{name}.h5", 3, f"holds 2 matrices: /X ({listed}), /other/P (3 x 4 f64)", **options) as file:
            make(file)
            file["other/P"] = MATRIX

    def sparse(file, **attributes):
        for part, data in (("data", np.ones(2)), ("indices", np.array([0, 1])), ("indptr", np.array([0, 1, 2, 2]))):
            file[f"X/{part}"] = data
        file["X"].attrs.update(attributes)

    def matlab(file):
        for part, data in (("data", np.ones(2)), ("ir", np.array([0, 1])), ("jc", np.array([0, 1, 2]))):
            file[f"X/{part}"] = data
        file["X"].attrs["MATLAB_sparse"] = np.uint64(3)

    def octave(file):
        file["X/type"] = np.bytes_("sparse matrix")
        for part, data in (("nr", 3), ("nc", 4), ("nz", 2), ("cidx", [0, 1, 2]), ("ridx", [0, 1]), ("data", [1.0, 2.0])):
            file[f"X/value/{part}"] = data

    def diagonal(file):
        file["X/type"] = np.bytes_("diagonal matrix")
        file["X/value"] = np.ones(4)

    def external(file):
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_external(b"raw.bin", 0, 96)
        h5py.h5d.create(file.id, b"X", h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((3, 4)), plist)

    layout = h5py.VirtualLayout((3, 4), "f8")
    layout[:] = h5py.VirtualSource("whole.h5", "a", (64, 64))[:3, :4]
    data = lambda kind: lambda file: file.__setitem__("X", MATRIX.astype(kind))
    link = lambda target: lambda file: file.__setitem__("X", target)
    for kind, listed in (("i2", "i16"), ("i8", "i64"), ("?", "bool"), ("u1", "u8")):
        case(listed, data(kind), f"3 x 4 {listed}")
    case("longdouble", data("longdouble"), "3 x 4 128-bit floats of an unknown format")
    case("compound", lambda f: f.__setitem__("X", np.zeros((3, 4), [("x", "f8"), ("y", "f8")])),
         "3 x 4 c128")
    case("opaque", lambda f: f.__setitem__("X", np.zeros((3, 4), "V2")), "3 x 4 opaque bytes")
    case("arrays", lambda f: f.create_dataset("X", (3,), "(4,)f8"), "3 arrays of 4 f64")
    case("array", lambda f: f.create_dataset("X", (), "(3,4)f8"), "single value arrays of 3 x 4 f64")
    case("sequences", lambda f: f.create_dataset("X", (3, 4), h5py.vlen_dtype("f8")), "3 x 4 sequences")
    case("cube", lambda f: f.__setitem__("X", MATRIX[None]), "1 x 3 x 4 f64")
    case("stack", lambda f: f.__setitem__("X", np.zeros((2, 3, 4, 5), "i2")), "2 x 3 x 4 x 5 i16")
    case("empty", lambda f: f.__setitem__("X", np.zeros((0, 4))), "0 x 4 f64")
    case("unwritten", lambda f: f.create_dataset("X", (3, 4), "f8"), "3 x 4 f64")
    case("virtual", lambda f: f.create_virtual_dataset("X", layout), "3 x 4 f64, virtual", libver="latest")
    case("external", external, "3 x 4 f64")
    case("link", link(h5py.ExternalLink("whole.h5", "/a")), "link into another file")
    case("lost_link", link(h5py.ExternalLink("none.h5", "/a")), "link into another file")
    case("dangling", link(h5py.SoftLink("/none")), "cannot be opened")
    case("csr", lambda f: sparse(f, **{"encoding-type": "csr_matrix", "shape": [3, 4]}), "3 x 4 sparse")
    case("tenx", lambda f: (sparse(f), f.__setitem__("X/shape", [3, 4])), "3 x 4 sparse")
    case("h5sparse", lambda f: sparse(f, h5sparse_format="csr", h5sparse_shape=[3, 4]), "3 x 4 sparse")
    case("matlab", matlab, "3 x 2 sparse")
    case("octave", octave, "3 x 4 sparse")
    case("diagonal", diagonal, "sparse")
    cases.expect("two_csr.h5", 3, "is a sparse matrix of anndata", "/X")
    cases.expect("two_tenx.h5", 3, "is a sparse matrix (data, indices, indptr)", "/X")
    cases.expect("two_matlab.h5", 3, "is a sparse matrix of MATLAB", "/X")
    cases.expect("two_octave.h5", 3, "of Octave that is not stored element by element", "/X")
    # A soft link behind a link into another file.
    with cases.hdf5("two_behind.h5", 3, "holds 3 matrices: /X (link into another file), /away", None) as file:
        file["away"] = h5py.ExternalLink("whole.h5", "/")
        file["X"] = h5py.SoftLink("/away/a")
        file["other/P"] = MATRIX
    with cases.hdf5("only_sparse.h5", 3, "is a sparse matrix of anndata") as file:
        sparse(file, **{"encoding-type": "csr_matrix", "shape": [3, 4]})
    with cases.hdf5("many.h5", 3, "holds 30 matrices: /m0 (3 x 4 f64), /m1 (3 x 4 f64), /m10") as file:
        for i in range(30):
            file[f"m{i}"] = MATRIX
    cases.expect("many.h5", 3, "there is no '/M7'", "/M7")
    # What is no candidate.
    with cases.hdf5("one_beside.h5", 0, "3 x 4 f64") as file:
        file["A"] = MATRIX
        file["lat"], file["n"] = np.arange(3.0), 7
        file["grid"] = np.zeros((2, 2))
        file["lat"].make_scale("lat")
        file["grid"].make_scale("grid")
        file["names"] = np.full((2, 2), b"ab")
        file["text"] = np.array([[72, 105]], "u2")
        file["text"].attrs["MATLAB_class"] = np.bytes_("char")
        file["alias"], file["soft"] = file["A"], h5py.SoftLink("/A")
        file["#refs#/a"] = MATRIX
        file["table"] = np.zeros(3, [("x", "f8"), ("n", "i4")])
    with cases.hdf5("frame.h5", 3, "holds no 2-D dataset") as file:
        file["df/axis0"], file["df/values"] = np.arange(3), np.arange(3.0)
        file["df"].attrs["pandas_type"] = np.bytes_("series")
    with cases.hdf5("constant.h5", 0, "3 x 4 f64", "/E/x") as file:
        file.require_group("E/x").attrs.update({"value": 2.0, "shape": np.array([3, 4], "u8"), "unitSI": 1.0})
    # Labels of rows and columns make no sparse matrix of a matrix.
    with cases.hdf5("labels.h5", 0, "3 x 4 f64") as file:
        file["g/data"], file["g/row"], file["g/col"] = MATRIX, np.arange(3), np.arange(4)


def newer(cases):
    """Messages of a later version than this HDF5 knows, as those that HDF5 2 writes."""
    path = cases.path("newer_layout.h5")
    with h5py.File(path, "w") as file:
        file["a"], file["good"] = MATRIX, MATRIX
        at = file["a"].id.get_offset()
    with open(path, "rb") as file:
        data = file.read()
    patch(path, data.find(b"\x03\x01" + struct.pack("<QQ", at, 96)), b"\x06")
    cases.expect("newer_layout.h5", 3, "was written by a newer HDF5", "/a")
    cases.expect("newer_layout.h5", 3, "holds 2 matrices: /a (cannot be opened), /good (3 x 4 f64)")
    cases.expect("newer_layout.h5", 0, "3 x 4 f64", "/good")
    path = cases.path("newer_type.h5")
    with h5py.File(path, "w") as file:
        file["a"], file["good"] = MATRIX, MATRIX.astype("f4")
    with open(path, "rb") as file:
        data = file.read()
    patch(path, data.find(b"\x11\x20\x3f\x00\x08\x00\x00\x00"), b"\x5b")
    cases.expect("newer_type.h5", 3, "was written by a newer HDF5", "/a")
    cases.expect("newer_type.h5", 3, "holds 2 matrices: /a (cannot be opened), /good (3 x 4 f32)")
    path = cases.path("newer_attribute.h5")
    with h5py.File(path, "w") as file:
        file["a"] = MATRIX.astype("f4")
        file["a"].attrs["z"] = 1.5
    with open(path, "rb") as file:
        data = file.read()
    patch(path, data.find(b"\x11\x20\x3f\x00\x08\x00\x00\x00"), b"\x5b")
    # z hides whether there is a scale_factor: HDF5 looks at one attribute after the other.
    cases.expect("newer_attribute.h5", 4, "its attributes cannot be read, in search of '")
    cases.expect("newer_attribute.h5", 4, "was written by a newer HDF5")
    cases.expect("newer_attribute.h5", 4, "--raw takes the stored numbers")
    path = cases.path("newer_file.h5")
    with h5py.File(path, "w") as file:
        file["a"] = MATRIX
    patch(path, 8, b"\x09")
    cases.expect("newer_file.h5", 3, "was written by a newer HDF5")
    path = cases.path("in_use.h5")  # as a writer in SWMR mode leaves it when it is killed
    with h5py.File(path, "w", libver="latest") as file:
        file.create_dataset("a", data=MATRIX, chunks=(3, 4))
        file.swmr_mode = True
        file.flush()
        with open(path, "rb") as still:
            data = still.read()
    cases.raw("in_use.h5", data, 4, "is in use: it is marked as open for writing", "/a")


def good(cases):
    """Files written by other software that damier reads."""
    for name, kind, fragment in (
        ("f16", "<f2", "2 x 2 f16"), ("f16_big", ">f2", "f16, contiguous, other byte order"),
        ("f32_big", ">f4", "f32, contiguous, other byte order"), ("f64_big", ">f8", "f64"),
        ("i8", "i1", "2 x 2 i8"), ("i32_big", ">i4", "i32"), ("c64", "c8", "c64"),
        ("c128_big", ">c16", "c128"), ("re_im", [("re", "f4"), ("im", "f4")], "c64"),
        ("real_imag", [("real", "f8"), ("imag", "f8")], "c128"),
        ("Real_Imaginary", [("Real", "<f8"), ("Imaginary", "<f8")], "c128"),
    ):
        with cases.hdf5(f"good_{name}.h5", 0, fragment, libver="latest") as file:
            file["a"] = np.zeros((2, 2), dtype=kind)
    with cases.hdf5("good_bf16.h5", 0, "3 x 4 bf16") as file:
        kind = float_type(2, 15, 7, 8, 7, 127)
        low_level(file, kind).write(h5py.h5s.ALL, h5py.h5s.ALL, np.zeros(12, "u2"), kind)
    with cases.hdf5("good_bf16_words.h5", 0, "2 x 2 bf16") as file:
        file["a"] = np.zeros((2, 2), dtype="u2")
        file["a"].attrs["dtype"] = "bfloat16"
    with cases.hdf5("good_matlab.h5", 0, "3 x 4 f64, contiguous, offset", userblock_size=512) as file:
        file["a"] = MATRIX
        file["label"] = np.array([[72, 105]], dtype="u2")
        file["label"].attrs["MATLAB_class"] = np.bytes_("char")
    with cases.hdf5("good_filters.h5", 0, "chunked 16 x 32, shuffle, deflate, fletcher32") as file:
        file.create_dataset("a", data=np.ones((70, 80)), chunks=(16, 32), compression="gzip",
                            shuffle=True, fletcher32=True)
    with cases.hdf5("good_lzf.h5", 0, "chunked 16 x 32, shuffle, lzf") as file:
        file.create_dataset("a", data=np.ones((70, 80)), chunks=(16, 32), compression="lzf",
                            shuffle=True)
    for kind in ("i2", "i8", "u1", "u2", ">u4", "u8", "?"):
        name = np.dtype(kind).name
        short = name.replace("uint", "u").replace("int", "i")
        with cases.hdf5(f"good_{name}.h5", 0, f"2 x 2 {short}, contiguous", "/a") as file:
            file["a"] = np.zeros((2, 2), dtype=kind)
    for mark in ("tag", "attribute"):
        with cases.hdf5(f"good_opaque_{mark}.h5", 0, "3 x 4 bf16", "/a") as file:
            kind = h5py.h5t.create(h5py.h5t.OPAQUE, 2)
            kind.set_tag(b"bfloat16" if mark == "tag" else b"")
            low_level(file, kind).write(h5py.h5s.ALL, h5py.h5s.ALL, np.zeros(12, "V2"), kind)
            if mark == "attribute":
                file["a"].attrs["dtype"] = "bfloat16"
    with cases.hdf5("good_bits.h5", 0, "3 x 4 u8", "/a") as file:  # as PyTables stores booleans
        low_level(file, h5py.h5t.STD_B8LE).write(h5py.h5s.ALL, h5py.h5s.ALL, np.ones(12, "u1"),
                                                 h5py.h5t.STD_B8LE)
    with cases.hdf5("good_committed.h5", 0, "2 x 2 f64", "/a") as file:
        file["type"] = np.dtype("f8")
        file.create_dataset("a", data=np.ones((2, 2)), dtype=file["type"])
    with cases.hdf5("good_attributes.h5", 0, "2 x 2 f64") as file:
        file["a"] = np.ones((2, 2))
        for i in range(200):
            file["a"].attrs[f"attribute {i} \x1b[2J"] = "x" * 300


def meaning(cases):
    """Attributes that say what the numbers mean, of odd types and sizes."""
    odd = {"many": np.arange(8000.0), "compound": np.zeros(1, [("x", "f8"), ("y", "i4")]), "array": np.arange(1.0, 5).reshape(2, 2),
           "inf": np.inf, "text": "half", "empty_text": "", "bytes": np.void(b"abc")}
    for name, value in odd.items():
        with cases.hdf5(f"scale_{name}.h5", 3, "'scale_factor' says what its numbers mean, but is not understood") as file:
            file["a"] = MATRIX
            file["a"].attrs["scale_factor"] = value
        if isinstance(value, str):
            continue
        with cases.hdf5(f"range_{name}.h5", 0, "3 x 4 f64") as file:
            file["a"] = MATRIX
            file["a"].attrs["valid_range"] = value
    for name in ("many", "compound", "bytes"):
        with cases.hdf5(f"fill_{name}.h5", 3, "'_FillValue' says what its numbers mean") as file:
            file["a"] = MATRIX
            file["a"].attrs["_FillValue"] = odd[name]
    kind = h5py.h5t.IEEE_F64LE.copy()
    kind.set_ebias(1000)  # floats of another exponent than machines have
    for name in ("scale_factor", "_FillValue", "valid_range"):
        with cases.hdf5(f"unusual_{name}.h5", 3, f"refused: its attribute '{name}' has numbers of an unusual type") as file:
            file["a"] = MATRIX
            h5py.h5a.create(file["a"].id, name.encode(), kind, h5py.h5s.create_simple((2,))).write(np.array([1.0, 2.0]))
    wide = h5py.h5t.enum_create(h5py.h5t.STD_U8LE)
    wide.set_size(16)  # and so is its integer, of 8 bits
    wide.enum_insert(b"a", 1)
    with cases.hdf5("unusual_enum.h5", 3, "refused: its attribute 'scale_factor' has numbers of an unusual type") as file:
        file["a"] = MATRIX
        h5py.h5a.create(file["a"].id, b"scale_factor", wide, h5py.h5s.create(h5py.h5s.SCALAR))
    for name, value in (("number", 16.0), ("bytes", np.void(b"bfloat16"))):
        with cases.hdf5(f"mark_{name}.h5", 3, "refused: its attribute 'dtype' is not text") as file:
            file["a"] = MATRIX.astype("u2")
            file["a"].attrs["dtype"] = value
    for name, chunk, said in (("whole", None, "nothing was ever written"), ("chunks", (2, 2), "has no data in 2 of its 4 chunks")):
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        creation.set_fill_value(np.array(-5.0))
        if chunk:
            creation.set_chunk(chunk)
        with cases.hdf5(f"never_filled_{name}.h5", 3, said, "/a no-data") as file:
            h5py.h5d.create(file.id, b"a", h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((3, 4)), creation)
            if chunk:
                file["a"][:2] = 1.0
    with cases.hdf5("fill_too_many.h5", 3, "more than 16 missing values") as file:
        file["a"] = MATRIX
        file["a"].attrs["_FillValue"] = np.arange(100.0, 116)
        file["a"].attrs["missing_value"] = 99.0
    with cases.hdf5("fill_complex.h5", 3, "is not understood") as file:
        file["a"] = MATRIX * 1j
        file["a"].attrs["_FillValue"] = -9.0
    with cases.hdf5("good_meaning.h5", 0, "3 x 4 i64") as file:
        file["a"] = MATRIX.astype("i8")
        for name in ("scale_factor", "_FillValue", "valid_range", "_Unsigned", "complex", "BSCALE", "levels"):
            file["a"].attrs[name] = h5py.Empty("f8")
        file["a"].attrs["missing_value"] = np.uint64(2**64 - 1)  # no number of 64 bits with a sign
        file["a"].attrs["valid_min"] = -2.0**70
        file["a"].attrs["valid_max"] = np.uint64(2**64 - 1)


def members(cases):
    """Files of HDF5's drivers, several of one matrix, and names that are only brackets."""
    with cases.hdf5("family_%02d.h5", 0, "/a: 30 x 30 f64, contiguous, offset 2048", driver="family", memb_size=2048) as file:
        file["a"] = np.ones((30, 30))
    for number in (0, 1):
        cases.expect(f"family_{number:02d}.h5", 0, "/a: 30 x 30 f64, contiguous, offset 2048")
    with h5py.File(cases.path("short_%d.h5"), "w", driver="family", memb_size=2048) as file:
        file["a"] = np.ones((30, 30))
    os.truncate(os.path.join(cases.folder, "short_1.h5"), 2047)
    cases.expect("short_0.h5", 3, "file 1 of 'short_%d.h5' has 2047 bytes, not 2048: was it cut off?")
    with h5py.File(cases.path("split"), "w", driver="split", meta_ext=b".meta.h5", raw_ext=b".raw.h5") as file:
        file["a"] = MATRIX
    for part in ("meta", "raw"):
        cases.expect(f"split.{part}.h5", 0, "/a: 3 x 4 f64, contiguous, offset 0")
    with cases.hdf5("brackets.h5", 0, "/runs/[1]: 3 x 4 f64", "/runs/[1]") as file:
        file["/runs/[1]"] = MATRIX
        file["/[0]"] = MATRIX[:2]
    cases.expect("brackets.h5", 0, "/[0]: 2 x 4 f64", "/[0]")
    cases.expect("brackets.h5", 0, "1 x 4 f64", "/runs/[1][0:1]")


def lost_attributes(cases):
    """One byte of an attribute or of its index makes it unreadable, not absent."""
    def damage(name, fragment, find, into, make=None, dataset="/a", libver=None, **options):
        path = cases.path(name)
        with h5py.File(path, "w", libver=libver) as file:
            file["g/b" if dataset == "/g/b" else "a"] = MATRIX
            (make or (lambda f: f["a"].attrs.update({"scale_factor": 0.5})))(file)
        with open(path, "rb") as file:
            data = file.read()
        patch(path, data.rfind(find) + options.get("after", 0), into)
        cases.expect(name, 4, fragment, dataset)

    double = b"\x11\x20\x3f\x00\x08\x00\x00\x00"
    damage("lost_type.h5", "its attributes cannot be read", double, b"\x41")
    damage("lost_version.h5", "its attributes cannot be read, in search of '", b"scale_factor", b"\x09", after=-8)
    damage("lost_dense.h5", "its attributes cannot be ", b"FRHP", b"XXXX", libver="latest",
           make=lambda f: [f["a"].attrs.create(f"n{i}", i) for i in range(20)] + [f["a"].attrs.create("scale_factor", 0.5)])
    damage("lost_group.h5", "the attributes of '/g' cannot be read, in search of '", double, b"\x41", dataset="/g/b",
           make=lambda f: f["g"].attrs.create("encoding-version", 0.5))
    damage("lost_root.h5", "its attributes cannot be read, in search of '", double, b"\x41", dataset="",
           make=lambda f: f.attrs.create("version", 0.5))
    for name, dataset in (("lost_type.h5", "/a"), ("lost_group.h5", "/g/b")):
        cases.expect(name, 0, "3 x 4 f64", dataset + " raw")


def beside(cases):
    """What lies beside a dataset is as hostile as the dataset."""
    def factors(file, **marks):
        file["g/data"] = MATRIX.astype("i4")
        file["g"].attrs["NX_class"] = "NXdata"
        for name, value in marks.items():
            file[f"g/{name}"] = value

    with cases.hdf5("beside_many.h5", 3, "'data_scaling_factor' has several numbers", "/g/data") as file:
        factors(file)
        file.create_dataset("g/data_scaling_factor", shape=(2**40, 2**22), dtype="f8", chunks=(64, 64))
    with cases.hdf5("beside_odd.h5", 3, "is not understood", "/g/data") as file:
        factors(file, data_scaling_factor=np.zeros(3, [("x", "f8")]))
    with cases.hdf5("beside_nan.h5", 3, "is not understood", "/g/data") as file:
        factors(file, data_scaling_factor=np.nan)
    with cases.hdf5("beside_virtual.h5", 3, "lies in other files", "/g/data") as file:
        factors(file)
        layout = h5py.VirtualLayout((3, 4), "f8")
        layout[:] = h5py.VirtualSource("/etc/passwd", "x", (3, 4))
        file.create_virtual_dataset("g/data_scaling_factor", layout)
    with cases.hdf5("beside_external.h5", 3, "lies in other files", "/g/data") as file:
        factors(file)
        file.create_dataset("g/data_scaling_factor", shape=(1,), dtype="f8", external=[("/etc/passwd", 0, 8)])
    with cases.hdf5("beside_link.h5", 3, "lies in another file", "/g/data") as file:
        factors(file, data_scaling_factor=h5py.ExternalLink("/etc/passwd", "x"))
    with cases.hdf5("beside_circle.h5", 4, "'data_offset'", "/g/data") as file:
        factors(file, data_offset=h5py.SoftLink("/g/data_offset"))
    with cases.hdf5("beside_itself.h5", 0, "3 x 4 i32", "/g/data") as file:
        factors(file, data_offset=h5py.SoftLink("/g"))
        file["g/what"] = file["g"]
        file["g/g"] = file["/"]
    with cases.hdf5("beside_deep.h5", 0, "3 x 4 i32", "/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/data") as file:
        factors(file)
        file["g/g"] = file["g"]
    def image(name, code, fragment, most, data=MATRIX.astype("i2"), least=0.0, axis=None):
        """Factors of slices, or of channels along AXIS."""
        with cases.hdf5(f"slices_{name}.h5", code, fragment, "/g/data" if axis is not None else "/g/image") as file:
            file["g/data" if axis is not None else "g/image"] = data
            file["g"].attrs["neurodata_type"] = "ElectricalSeries"
            if axis is not None:
                file["g/channel_conversion"] = most
                file["g/channel_conversion"].attrs["axis"] = axis
            else:
                file["g/image-min"] = least
                file.create_dataset("g/image-max", **most if isinstance(most, dict) else {"data": most})

    large = {"shape": (2**40, 2**22), "dtype": "f8", "chunks": (64, 64)}
    image("good", 0, "/g/image: 3 x 4 f64", np.array([1.0, 2, 3]))
    image("large", 3, "is not a list of at most 65536 numbers", large)
    image("text", 3, "is not a list of at most", np.array([b"a", b"b", b"c"]))
    image("nan", 3, "or not finite", np.array([1, 2, np.nan]))
    image("others", 3, "'image-max' has 4 numbers", np.arange(4.0))
    image("deep", 3, "'image-max' has 12 numbers", np.arange(12.0).reshape(1, 3, 4))
    image("unlike", 3, "'image-max' has 3 numbers", np.arange(3.0), least=np.arange(2.0))
    image("each", 0, "/g/image: 3 x 4 f64", np.arange(12.0).reshape(3, 4))
    image("channels", 0, "/g/data: 3 x 4 f64", np.arange(1.0, 5), axis=1)
    image("axis", 3, "'channel_conversion' has 4 numbers", np.arange(1.0, 5), axis=0)
    image("axis_none", 3, "'channel_conversion' has 4 numbers", np.arange(1.0, 5), axis=-1)
    image("axis_far", 3, "'channel_conversion' has 4 numbers", np.arange(1.0, 5), axis=2**40)
    image("axis_odd", 3, "'channel_conversion' has 4 numbers", np.arange(1.0, 5), axis="no")
    for name, mask, code, fragment in (
            ("none", MATRIX < 0, 0, "3 x 4 f64, contiguous"), ("shape", np.ones((4, 3), bool), 0, "3 x 4 f64, contiguous"),
            ("large", {"shape": (2**40, 2**22), "dtype": "?", "chunks": (2**14, 2**14)}, 0, "3 x 4 f64, contiguous")):
        with cases.hdf5(f"mask_{name}.h5", code, fragment, "/g/data") as file:
            file["g/data"] = MATRIX
            file.create_dataset("g/mask", **mask if isinstance(mask, dict) else {"data": mask})
    with cases.hdf5("mask_complex.h5", 3, "a mask lies beside it, which says that elements are missing", "/g/data") as file:
        file["g/data"] = MATRIX * 1j
        file["g/mask"] = MATRIX > 5
    chain = [f"l{i}" for i in range(40)]
    with cases.hdf5("beside_chain.h5", 3, "holds no|is a circle|leads nowhere", "/l39") as file:
        factors(file)
        for i, name in enumerate(chain):
            file[name] = h5py.SoftLink("/g/data" if i == 0 else "/" + chain[i - 1])
    with cases.hdf5("beside_10.h5", 0, "3 x 4 i32", "/l9") as file:
        factors(file)
        for i, name in enumerate(chain[:10]):
            file[name] = h5py.SoftLink("/g/data" if i == 0 else "/" + chain[i - 1])
    with cases.hdf5("beside_text.h5", 0, "3 x 4 i32", "/g/data") as file:
        factors(file)
        file["g/what"] = h5py.SoftLink("/g")
        file["g"].attrs["gain"] = 1.0
        file["g"].attrs["x"] = "y" * 60000


def patch(path, at, data):
    assert at >= 0
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(data)


def main():
    cases = Cases(sys.argv[1])
    for part in (not_hdf5, not_files, paths, shapes, types, storage, virtual, damaged, npy, genotypes, foreign,
                 zarr_cases.zarr_metadata, candidates,
                 newer, good, members, meaning, beside, lost_attributes):
        part(cases)
    with open(os.path.join(cases.folder, "cases.tsv"), "w") as file:
        file.write("\n".join(cases.rows) + "\n")
    print(f"{len(cases.rows)} cases")


if __name__ == "__main__":
    main()
