/* What the metadata of both versions of Zarr have. */
#include "core/checked.h"
#include "dataset/json_file.h"
#include "dataset/naming.h"
#include "dataset/zarr_impl.h"

dm_status dm_zarr_unsupported(const dm_location *at, const char *what, const char *name) {
  return dm_hint(dm_fail_at(DM_E_INPUT, at, "%s '%.60s', which is not supported", what, name),
                 "in Python: zarr.create_array(NAME, data=zarr.open(FOLDER)[...]) writes one with "
                 "zstd");
}

const char *dm_zarr_name(const json_t *named) {
  const char *name =
      json_string_value(json_is_object(named) ? json_object_get(named, "name") : named);
  return name ? name : "";
}

dm_status dm_zarr_take_extents(const dm_location *at, const json_t *list, const char *what,
                               int64_t least, int *rank, int64_t extent[DM_AXES]) {
  if (!json_is_array(list)) return dm_fail_at(DM_E_INPUT, at, "its metadata state no %s", what);
  const size_t count = json_array_size(list);
  if (count > DM_AXES)
    return dm_fail_at(DM_E_INPUT, at, "has %zu dimensions; at most %d are read", count, DM_AXES);
  for (size_t i = 0; i < count; i++)
    if (!dm_json_integer(json_array_get(list, i), &extent[i]) || extent[i] < least ||
        extent[i] == INT64_MAX)
      return dm_fail_at(DM_E_INPUT, at, "its metadata state an invalid %s", what);
  *rank = (int)count;
  return DM_OK;
}

dm_status dm_zarr_take_chunks(const dm_location *at, const json_t *list, const dm_zarr *zarr,
                              int64_t chunk[DM_AXES]) {
  int rank;
  int64_t elements = 1;
  DM_TRY(dm_zarr_take_extents(at, list, "shape of its chunks", 1, &rank, chunk));
  if (rank != zarr->rank)
    return dm_fail_at(DM_E_INPUT, at, "has %d dimensions, and chunks of %d", zarr->rank, rank);
  for (int i = 0; i < rank; i++)
    if (dm_mul_overflows(elements, chunk[i], &elements))
      return dm_fail_at(DM_E_INPUT, at, "has chunks of more elements than 64 bits can count");
  return DM_OK;
}

dm_status dm_zarr_add_step(const dm_location *at, dm_zarr *zarr, dm_chunk_step step, int id,
                           unsigned flag) {
  static const unsigned none[DM_CODEC_VALUES];
  dm_chunk_filter *f = &zarr->filter;
  if (f->count == DM_CHUNK_FILTERS)
    return dm_fail_at(DM_E_INPUT, at, "has more than %d codecs", DM_CHUNK_FILTERS);
  if (step == DM_STEP_CODEC && !dm_codec_find(id, 0, none, &f->codec[f->count]))
    return dm_hint(dm_fail_at(DM_E_INPUT, at, "needs a codec that this build lacks"),
                   "'damier --version' lists those that it has");
  f->step[f->count++] = step;
  zarr->filters |= flag;
  return DM_OK;
}

dm_status dm_zarr_add_order(const dm_location *at, dm_zarr *zarr, const int *of) {
  dm_axis_order *order = &zarr->filter.order[zarr->filter.count];
  bool same = true;
  *order = (dm_axis_order){.count = zarr->rank, .size = dm_dtype_size(zarr->dtype)};
  for (int i = 0; i < zarr->rank; i++) {
    order->of[i] = of[i];
    order->shape[i] = zarr->chunk[i];
    same &= of[i] == i;
  }
  return same ? DM_OK : dm_zarr_add_step(at, zarr, DM_STEP_TRANSPOSE, 0, DM_FILTER_TRANSPOSE);
}
