/* The metadata of arrays of version 3. */
#include <string.h>

#include "dataset/json_file.h"
#include "dataset/naming.h"
#include "dataset/zarr_impl.h"

static const bool third_big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

static const char *third_text(const json_t *object, const char *key, const char *absent) {
  const json_t *value = json_object_get(object, key);
  if (!value) return absent;
  return json_is_string(value) ? json_string_value(value) : "";
}

static dm_status third_type(const dm_location *at, const json_t *type, dm_zarr *zarr) {
  static const struct {
    const char *name;
    dm_dtype dtype;
  } types[] = {{"float64", DM_F64},   {"float32", DM_F32},   {"float16", DM_F16},
               {"bfloat16", DM_BF16}, {"complex64", DM_C64}, {"complex128", DM_C128},
               {"int8", DM_I8},       {"int16", DM_I16},     {"int32", DM_I32},
               {"int64", DM_I64},     {"uint8", DM_U8},      {"uint16", DM_U16},
               {"uint32", DM_U32},    {"uint64", DM_U64},    {"bool", DM_BOOL}};
  static const char *const texts[] = {"string", "fixed_length_utf32", "null_terminated_bytes"};
  const char *name = dm_zarr_name(type);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strcmp(name, types[i].name) == 0) zarr->dtype = types[i].dtype;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    zarr->text |= strcmp(name, texts[i]) == 0;
  return zarr->dtype != DM_DTYPE_NONE
             ? DM_OK
             : dm_hint(dm_fail_at(DM_E_INPUT, at, "its elements are '%.60s' of Zarr", name),
                       "supported: floats of 64, 32 and 16 bits, bfloat16, complex numbers, "
                       "integers and booleans");
}

/* ---- codecs ---- */

static dm_status third_order(const dm_location *at, const json_t *configuration, dm_zarr *zarr) {
  int64_t list[DM_AXES];
  int of[DM_AXES], rank = 0;
  unsigned seen = 0;
  DM_TRY(dm_zarr_take_extents(at, json_object_get(configuration, "order"), "order of its axes", 0,
                              &rank, list));
  for (int i = 0; i < rank && list[i] < rank; i++) {
    of[i] = (int)list[i];
    seen |= 1u << of[i];
  }
  if (rank != zarr->rank || seen != (1u << rank) - 1)
    return dm_fail_at(DM_E_INPUT, at, "its codec 'transpose' states no order of its axes");
  /* Of several, the second is of what the first has made. */
  if (zarr->filter.count > 0) return dm_zarr_unsupported(at, "has a second codec", "transpose");
  return dm_zarr_add_order(at, zarr, of);
}

static dm_status third_endian(const dm_location *at, const json_t *configuration, int64_t size,
                              bool *swapped) {
  const char *endian = third_text(configuration, "endian", size == 1 ? "little" : "");
  const bool big = strcmp(endian, "big") == 0;
  if (!big && strcmp(endian, "little") != 0)
    return dm_fail_at(DM_E_INPUT, at, "its codec 'bytes' states no byte order");
  *swapped = size > 1 && big != third_big_endian;
  return DM_OK;
}

/* Codecs of bytes. */
static dm_status third_packing(const dm_location *at, const char *name, dm_zarr *zarr) {
  if (strcmp(name, "zstd") == 0)
    return dm_zarr_add_step(at, zarr, DM_STEP_CODEC, DM_ZSTD_FILTER, DM_FILTER_ZSTD);
  if (strcmp(name, "blosc") == 0)
    return dm_zarr_add_step(at, zarr, DM_STEP_CODEC, DM_BLOSC_FILTER, DM_FILTER_BLOSC);
  if (strcmp(name, "gzip") == 0)
    return dm_zarr_add_step(at, zarr, DM_STEP_GZIP, 0, DM_FILTER_DEFLATE);
  if (strcmp(name, "crc32c") == 0)
    return dm_zarr_add_step(at, zarr, DM_STEP_CRC32C, 0, DM_FILTER_CRC32C);
  return dm_zarr_unsupported(at, "uses the codec", name);
}

static dm_status third_shards(const dm_location *at, const json_t *configuration, dm_zarr *zarr);

/* INNER: those of chunks in a shard. */
static dm_status third_codecs(const dm_location *at, const json_t *list, bool inner,
                              dm_zarr *zarr) {
  bool bytes = false;
  if (!json_is_array(list)) return dm_fail_at(DM_E_INPUT, at, "its metadata state no codecs");
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *codec = json_array_get(list, i);
    const char *name = dm_zarr_name(codec);
    const json_t *configuration = json_object_get(codec, "configuration");
    if (!bytes && strcmp(name, "transpose") == 0) {
      DM_TRY(third_order(at, configuration, zarr));
    } else if (!bytes && strcmp(name, "bytes") == 0) {
      bytes = true;
      DM_TRY(third_endian(at, configuration, dm_dtype_size(zarr->dtype), &zarr->swapped));
    } else if (strcmp(name, "sharding_indexed") == 0) {
      if (inner || json_array_size(list) != 1)
        return dm_zarr_unsupported(at, "has, beside other codecs,", name);
      return third_shards(at, configuration, zarr);
    } else if (bytes) {
      DM_TRY(third_packing(at, name, zarr));
    } else {
      DM_TRY(third_packing(at, name, zarr)); /* names those that are not known */
      return dm_fail_at(DM_E_INPUT, at, "has no codec 'bytes' before '%.60s'", name);
    }
  }
  return bytes ? DM_OK : dm_fail_at(DM_E_INPUT, at, "its codecs make no bytes");
}

/* The index of a shard: numbers of 64 bits, and their checksum. */
static dm_status third_index(const dm_location *at, const json_t *configuration, dm_zarr *zarr) {
  const char *location = third_text(configuration, "index_location", NULL);
  const json_t *list = json_object_get(configuration, "index_codecs");
  const size_t count = json_array_size(list);
  zarr->index_first = location && strcmp(location, "start") == 0;
  if (location && !zarr->index_first && strcmp(location, "end") != 0)
    return dm_zarr_unsupported(at, "has the index of its shards at", location);
  for (size_t i = 0; i < count; i++) {
    const json_t *codec = json_array_get(list, i);
    const char *name = dm_zarr_name(codec);
    const bool sum = i == 1 && strcmp(name, "crc32c") == 0;
    if (!sum && (i > 0 || strcmp(name, "bytes") != 0))
      return dm_zarr_unsupported(at, "stores the index of its shards by", name);
    if (i == 0)
      DM_TRY(third_endian(at, json_object_get(codec, "configuration"), 8, &zarr->index_swapped));
    zarr->index_summed |= sum;
  }
  return count > 0 ? DM_OK : dm_fail_at(DM_E_INPUT, at, "states no codecs of its shards' index");
}

static dm_status third_shards(const dm_location *at, const json_t *configuration, dm_zarr *zarr) {
  DM_TRY(dm_zarr_take_chunks(at, json_object_get(configuration, "chunk_shape"), zarr, zarr->chunk));
  for (int i = 0; i < zarr->rank; i++)
    if (zarr->file[i] % zarr->chunk[i] != 0)
      return dm_fail_at(DM_E_INPUT, at, "its shards do not hold whole chunks");
  zarr->sharded = true;
  zarr->filters |= DM_FILTER_SHARDS;
  DM_TRY(third_index(at, configuration, zarr));
  return third_codecs(at, json_object_get(configuration, "codecs"), true, zarr);
}

/* ---- the rest ---- */

static dm_status third_grid(const dm_location *at, const json_t *grid, dm_zarr *zarr) {
  const char *name = dm_zarr_name(grid);
  if (strcmp(name, "regular") != 0) return dm_zarr_unsupported(at, "has chunks in the grid", name);
  const json_t *shape = json_object_get(json_object_get(grid, "configuration"), "chunk_shape");
  DM_TRY(dm_zarr_take_chunks(at, shape, zarr, zarr->file));
  memcpy(zarr->chunk, zarr->file, sizeof zarr->chunk);
  return DM_OK;
}

static dm_status third_names(const dm_location *at, const json_t *encoding, dm_zarr *zarr) {
  const char *name = dm_zarr_name(encoding);
  const bool plain = strcmp(name, "v2") == 0;
  if (!plain && strcmp(name, "default") != 0)
    return dm_zarr_unsupported(at, "names its chunks by", name);
  const char *separator =
      third_text(json_object_get(encoding, "configuration"), "separator", plain ? "." : "/");
  if (strcmp(separator, "/") != 0 && strcmp(separator, ".") != 0)
    return dm_zarr_unsupported(at, "names its chunks with the separator", separator);
  zarr->prefixed = !plain;
  zarr->separator = separator[0];
  return DM_OK;
}

/* Keys that are not known may change what the array is, unless they say that they do not. */
static dm_status third_keys(const dm_location *at, const json_t *document) {
  static const char *const known[] = {"zarr_format",
                                      "node_type",
                                      "shape",
                                      "data_type",
                                      "chunk_grid",
                                      "chunk_key_encoding",
                                      "fill_value",
                                      "codecs",
                                      "attributes",
                                      "dimension_names",
                                      "storage_transformers",
                                      "consolidated_metadata"};
  const json_t *transformers = json_object_get(document, "storage_transformers");
  const char *key;
  json_t *value;
  if (json_array_size(transformers) > 0)
    return dm_zarr_unsupported(at, "uses the storage transformer",
                               dm_zarr_name(json_array_get(transformers, 0)));
  json_object_foreach((json_t *)document, key, value) {
    bool is = json_is_false(json_object_get(value, "must_understand"));
    for (size_t i = 0; i < sizeof known / sizeof *known && !is; i++)
      is = strcmp(key, known[i]) == 0;
    if (!is) return dm_zarr_unsupported(at, "its metadata have the key", key);
  }
  return DM_OK;
}

dm_status dm_zarr_third(const dm_location *at, const json_t *document, dm_zarr *zarr) {
  DM_TRY(third_type(at, json_object_get(document, "data_type"), zarr));
  DM_TRY(third_keys(at, document));
  DM_TRY(third_grid(at, json_object_get(document, "chunk_grid"), zarr));
  DM_TRY(third_names(at, json_object_get(document, "chunk_key_encoding"), zarr));
  return third_codecs(at, json_object_get(document, "codecs"), false, zarr);
}
