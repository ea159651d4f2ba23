/* The metadata of arrays of version 2. */
#include <stdio.h>
#include <string.h>

#include "dataset/json_file.h"
#include "dataset/naming.h"
#include "dataset/zarr_impl.h"

/* "<f8"; tensorstore writes "bfloat16". */
static dm_status second_type(const dm_location *at, const json_t *type, dm_zarr *zarr) {
  static const struct {
    const char *name;
    dm_dtype dtype;
  } types[] = {{"f8", DM_F64}, {"f4", DM_F32}, {"f2", DM_F16}, {"c8", DM_C64}, {"c16", DM_C128},
               {"i1", DM_I8},  {"i2", DM_I16}, {"i4", DM_I32}, {"i8", DM_I64}, {"u1", DM_U8},
               {"u2", DM_U16}, {"u4", DM_U32}, {"u8", DM_U64}, {"b1", DM_BOOL}};
  const char *text = json_string_value(type);
  if (!text) return dm_fail_at(DM_E_INPUT, at, "its elements are records, not numbers");
  if (strcmp(text, "bfloat16") == 0) zarr->dtype = DM_BF16;
  zarr->text = text[0] && text[1] && strchr("SUO", text[1]); /* objects are texts, mostly */
  for (size_t i = 0; i < sizeof types / sizeof *types && text[0]; i++)
    if (strchr("<>|", text[0]) && strcmp(text + 1, types[i].name) == 0)
      zarr->dtype = types[i].dtype;
  if (zarr->dtype == DM_DTYPE_NONE)
    return dm_hint(dm_fail_at(DM_E_INPUT, at, "its elements are '%.60s' of NumPy", text),
                   "supported: f2, f4, f8, c8, c16, i1 to i8, u1 to u8 and b1");
  const int64_t size = dm_dtype_size(zarr->dtype);
  if (size > 1 && text[0] == '|')
    return dm_fail_at(DM_E_INPUT, at, "its elements, '%.60s', have no byte order", text);
  zarr->swapped = size > 1 && text[0] == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? '<' : '>');
  return DM_OK;
}

static dm_status second_order(const dm_location *at, const json_t *order, dm_zarr *zarr) {
  const char *text = json_string_value(order);
  int of[DM_AXES];
  if (text && strcmp(text, "C") == 0) return DM_OK;
  if (!text || strcmp(text, "F") != 0)
    return dm_fail_at(DM_E_INPUT, at, "its metadata state no order of elements");
  for (int i = 0; i < zarr->rank; i++) of[i] = zarr->rank - 1 - i;
  return dm_zarr_add_order(at, zarr, of);
}

static dm_status second_filters(const dm_location *at, const json_t *filters) {
  const json_t *first = json_array_get(filters, 0);
  const char *id = json_string_value(json_object_get(first, "id"));
  if (!filters || json_is_null(filters) || (json_is_array(filters) && !first)) return DM_OK;
  return dm_zarr_unsupported(at, "uses the filter", id ? id : "");
}

static dm_status second_packing(const dm_location *at, const json_t *packing, dm_zarr *zarr) {
  static const struct {
    const char *id;
    dm_chunk_step step;
    int codec;
    unsigned flag;
  } known[] = {{"zlib", DM_STEP_DEFLATE, 0, DM_FILTER_DEFLATE},
               {"gzip", DM_STEP_GZIP, 0, DM_FILTER_DEFLATE},
               {"zstd", DM_STEP_CODEC, DM_ZSTD_FILTER, DM_FILTER_ZSTD},
               {"blosc", DM_STEP_CODEC, DM_BLOSC_FILTER, DM_FILTER_BLOSC},
               {"lz4", DM_STEP_CODEC, DM_LZ4_SIZED, DM_FILTER_LZ4}};
  if (!packing || json_is_null(packing)) return DM_OK;
  const char *id = json_string_value(json_object_get(packing, "id"));
  for (size_t i = 0; i < sizeof known / sizeof *known && id; i++)
    if (strcmp(id, known[i].id) == 0)
      return dm_zarr_add_step(at, zarr, known[i].step, known[i].codec, known[i].flag);
  return dm_zarr_unsupported(at, "uses the compressor", id ? id : "");
}

dm_status dm_zarr_second(const dm_location *at, const json_t *document, dm_zarr *zarr) {
  const json_t *separator = json_object_get(document, "dimension_separator");
  const char *text = separator ? json_string_value(separator) : ".";
  int64_t format = 0;
  if (!dm_json_integer(json_object_get(document, "zarr_format"), &format) || format != 2)
    return dm_fail_at(DM_E_INPUT, at, "'.zarray' is not of version 2 of Zarr");
  DM_TRY(second_type(at, json_object_get(document, "dtype"), zarr));
  DM_TRY(dm_zarr_take_chunks(at, json_object_get(document, "chunks"), zarr, zarr->file));
  memcpy(zarr->chunk, zarr->file, sizeof zarr->chunk);
  if (!text || (strcmp(text, ".") != 0 && strcmp(text, "/") != 0))
    return dm_fail_at(DM_E_INPUT, at, "names its chunks with an unknown separator");
  zarr->separator = text[0];
  DM_TRY(second_filters(at, json_object_get(document, "filters")));
  DM_TRY(second_order(at, json_object_get(document, "order"), zarr));
  return second_packing(at, json_object_get(document, "compressor"), zarr);
}
