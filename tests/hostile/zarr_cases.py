"""Metadata and files of Zarr that must be rejected, and a few that must not (make_cases.py)."""
import json
import os
import shutil
import struct

import numpy as np

MATRIX = np.arange(12.0).reshape(3, 4)
ARRAY_3 = {"zarr_format": 3, "node_type": "array", "shape": [3, 4], "data_type": "float64", "fill_value": 0,
           "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3, 4]}},
           "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}
ARRAY_2 = {"zarr_format": 2, "shape": [3, 4], "chunks": [3, 4], "dtype": "<f8", "fill_value": 0, "order": "C", "compressor": None,
           "filters": None}


def zarr_folder(cases, name, text, entry, chunk=None):
    folder = os.path.join(cases.folder, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "c/0"))
    with open(os.path.join(folder, entry), "w", encoding="utf-8") as file:
        file.write(text)
    for key in ("c/0/0", "0.0"):
        with open(os.path.join(folder, key), "wb") as file:
            file.write(MATRIX.tobytes() if chunk is None else chunk)
    return folder


def zarr_metadata(cases):
    """Metadata of Zarr, which anyone can write: each is refused, with its reason, in little time and memory."""
    def third(name, code, fragment, chunk=None, **changes):
        text = json.dumps({key: value for key, value in (ARRAY_3 | changes).items() if value is not KeyError})
        cases.expect(f"zarr3_{name}", code, fragment)
        return zarr_folder(cases, f"zarr3_{name}", text, "zarr.json", chunk)

    def second(name, code, fragment, **changes):
        cases.expect(f"zarr2_{name}", code, fragment)
        zarr_folder(cases, f"zarr2_{name}", json.dumps(ARRAY_2 | changes), ".zarray")

    def text(name, fragment, data):
        cases.expect(f"zarr_{name}", 3, fragment)
        zarr_folder(cases, f"zarr_{name}", data, "zarr.json")

    def codec(*names):
        return [{"name": "bytes", "configuration": {"endian": "little"}}, *({"name": name} for name in names)]

    def shards(**changes):
        inner = {"chunk_shape": [3, 4], "codecs": codec(), "index_codecs": codec("crc32c")} | changes
        return [{"name": "sharding_indexed", "configuration": inner}]

    third("good", 0, "3 x 4 f64, chunked")
    second("good", 0, "3 x 4 f64, chunked")
    third("nan", 0, "3 x 4 f64", fill_value="NaN", attributes={"x": float("nan"), "y": float("-inf"), "big": 2**64 - 1})
    text("empty", "is not valid JSON", "")
    text("list", "is not an object of JSON", "[1, 2]")
    text("deep", "levels deep", "[" * 1000000)
    text("deep_objects", "levels deep", '{"a":' * 100000)
    text("twice", "is not valid JSON", '{"zarr_format": 3, "zarr_format": 2}')
    text("zero", "is not valid JSON", '{"a\\u0000b": 1}')
    text("node", "states neither an array nor a group", '{"zarr_format": 3, "node_type": "link"}')
    text("format", "is not of version 3", '{"zarr_format": 4, "node_type": "array"}')
    third("huge", 3, "more elements than 64 bits can count", shape=[2**62, 2**62])
    third("huge_files", 3, "files of chunks", shape=[2**40, 4])
    third("huge_long", 3, "invalid shape", shape=[2**70, 4])
    third("huge_chunk", 3, "more elements than 64 bits|larger than 1 GiB", chunk_grid={
        "name": "regular", "configuration": {"chunk_shape": [2**40, 2**40]}})
    third("large_chunk", 3, "larger than 1 GiB", chunk_grid={"name": "regular", "configuration": {"chunk_shape": [2**20, 2**20]}})
    third("negative", 3, "invalid shape", shape=[-3, 4])
    third("fraction", 3, "invalid shape", shape=[3.5, 4])
    third("text", 3, "invalid shape", shape=["3", 4])
    third("axes", 3, "dimensions; at most 8", shape=[1] * 40)
    third("scalar", 3, "is a single value", shape=[], chunk_grid={"name": "regular", "configuration": {"chunk_shape": []}})
    third("chunk_axes", 3, "and chunks of 1", chunk_grid={"name": "regular", "configuration": {"chunk_shape": [3]}})
    third("chunk_zero", 3, "invalid shape of its chunks", chunk_grid={"name": "regular", "configuration": {"chunk_shape": [0, 4]}})
    third("grid", 3, "rectilinear", chunk_grid={"name": "rectilinear", "configuration": {"chunk_shapes": [[3], [4]]}})
    third("keys", 3, "names its chunks by '../../x'", chunk_key_encoding={"name": "../../x"})
    third("separator", 3, "with the separator '../'", chunk_key_encoding={"name": "default", "configuration": {"separator": "../"}})
    third("codec", 3, "uses the codec 'vlen-utf8'", codecs=[{"name": "vlen-utf8"}])
    third("no bytes", 3, "has no codec 'bytes' before 'gzip'", codecs=[{"name": "gzip", "configuration": {"level": 5}}])
    third("packing", 3, "uses the codec 'numcodecs.bz2'", codecs=codec("numcodecs.bz2"))
    third("no_codecs", 3, "make no bytes", codecs=[])
    third("codecs_missing", 3, "state no codecs", codecs=KeyError)
    third("many_codecs", 3, "more than 8 codecs", codecs=codec(*["crc32c"] * 9))
    third("endian", 3, "states no byte order", codecs=[{"name": "bytes"}])
    third("order", 3, "states no order", codecs=[{"name": "transpose", "configuration": {"order": [0, 0]}}, *codec()])
    third("order_far", 3, "states no order", codecs=[{"name": "transpose", "configuration": {"order": [0, 9]}}, *codec()])
    third("strings", 3, "'string' of Zarr", data_type="string", fill_value="")
    third("float8", 3, "'float8_e4m3fn' of Zarr", data_type="float8_e4m3fn")
    third("extension", 3, "its metadata have the key 'mask'", mask={"name": "x"})
    third("ignored", 0, "3 x 4 f64", mask={"must_understand": False})
    third("transformer", 3, "storage transformer 'x'", storage_transformers=[{"name": "x"}])
    third("fill_text", 3, "fill_value is not a number", fill_value="zero")
    third("fill_large", 3, "fill_value is not a number", fill_value=300, data_type="uint8")
    third("fill_none", 3, "fill_value is not a number", fill_value=KeyError)
    third("no_bytes", 3, "is empty", chunk=b"")
    third("shard_part", 3, "do not hold whole chunks", codecs=shards(chunk_shape=[2, 4]))
    third("shard_short", 3, "shorter than its index", codecs=shards(), chunk=b"123")
    third("shard_sum", 3, "does not match its checksum", codecs=shards())
    third("shard_far", 3, "leads out of it", codecs=shards(index_codecs=codec()), chunk=struct.pack("<QQ", 8, 2**63))
    third("shard_back", 3, "leads out of it", codecs=shards(index_codecs=codec()), chunk=struct.pack("<QQ", 2**64 - 8, 16))
    third("shard_nested", 3, "'sharding_indexed', which is not supported", codecs=shards(codecs=shards()))
    third("shard_zstd", 3, "'sharding_indexed', which is not supported", codecs=[*shards(), {"name": "zstd"}])
    third("shard_index", 3, "stores the index of its shards by 'gzip'", codecs=shards(index_codecs=codec("gzip")))
    third("shard_many", 3, "more than|shorter than", codecs=shards(chunk_shape=[1, 1]), shape=[2**15, 2**15],
          chunk_grid={"name": "regular", "configuration": {"chunk_shape": [2**13, 2**13]}})
    second("records", 3, "are records", dtype=[["a", "<f8"]])
    second("objects", 3, "'|O' of NumPy", dtype="|O")
    second("times", 3, "'<M8[ns]' of NumPy", dtype="<M8[ns]")
    second("filters", 3, "uses the filter 'delta'", filters=[{"id": "delta", "dtype": "<f8"}])
    second("compressor", 3, "uses the compressor 'bz2'", compressor={"id": "bz2"})
    second("compressor_text", 3, "uses the compressor", compressor="zlib")
    second("order", 3, "state no order", order="K")
    second("format", 3, "is not of version 2", zarr_format=3)
    folder = third("link", 3, "symbolic link")
    os.unlink(os.path.join(folder, "c/0/0"))
    os.symlink("/etc/hostname", os.path.join(folder, "c/0/0"))
    folder = third("link_folder", 3, "symbolic link")
    shutil.rmtree(os.path.join(folder, "c/0"))
    os.symlink("/etc", os.path.join(folder, "c/0"))
    folder = third("pipe", 3, "is no file")
    os.unlink(os.path.join(folder, "c/0/0"))
    os.mkfifo(os.path.join(folder, "c/0/0"))
    folder = third("metadata_link", 3, "symbolic link")
    os.rename(os.path.join(folder, "zarr.json"), os.path.join(folder, "other"))
    os.symlink("other", os.path.join(folder, "zarr.json"))
    group = zarr_folder(cases, "zarr_group", json.dumps({"zarr_format": 3, "node_type": "group", "consolidated_metadata": {
        "kind": "inline", "must_understand": False, "metadata": {"old": ARRAY_3 | {"shape": [2, 4]}, "same": ARRAY_3}}}), "zarr.json")
    for name in ("old", "same"):
        zarr_folder(cases, f"zarr_group/{name}", json.dumps(ARRAY_3), "zarr.json")
    cases.expect("zarr_group", 0, "3 x 4 f64", "/old")
    cases.expect("zarr_group", 0, "3 x 4 f64", "/same")
    cases.expect("zarr_group", 3, "leads out of a store|there is no '/..'", "/../zarr3_good")
    cases.expect("zarr_group", 3, "there is no '/none'", "/none")
    cases.expect("zarr3_good", 3, "which has no name", "/x")
    assert os.path.isdir(group)
