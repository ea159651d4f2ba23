#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/chunk_facts.h"
#include "dataset/codec.h"
#include "dataset/file_system.h"
#include "dataset/hdf5_compound.h"
#include "dataset/hdf5_use.h"
#include "inspect/inspect_impl.h"

enum {
  EXAMINE_STORAGE_CHUNK_LIMIT = 1 << 30,
  /* Bytes of chunks that HDF5 unpacks to look at elements. Own readers check each chunk; HDF5 keeps
   * one of this size for the second element. */
  PROBE_LIMIT = 1 << 26,
  OWN_PROBE_LIMIT = 1 << 20,
  DEFLATE_RATIO = 1100, /* deflate reaches at most 1032 */
  LZF_RATIO = 90,       /* 3 bytes become 264 */
  CODEC_RATIO = 32768,  /* zstd: a repeated byte takes 4 for 128 KiB */
};

/* ---- decides which filters a dataset may use ---- */

/* "filter 32015 (zstd)" */
static const char *examine_storage_name_of(H5Z_filter_t id, char text[48]) {
  const dm_filter *f = dm_filter_of((int)id);
  snprintf(text, 48, f ? "HDF5 filter %d (%s)" : "HDF5 filter %d", (int)id, f ? f->name : "");
  return text;
}

static dm_status check_other(H5Z_filter_t id, const dm_trust *trust, dm_dataset *find) {
  char text[48];
  find->filters |= DM_FILTER_OTHER;
  if (!trust->filters)
    return dm_hint(dm_fail_at(DM_E_INPUT, &find->at, "refused: it is stored with %s",
                              examine_storage_name_of(id, text)),
                   "--allow-filters lets HDF5 use it, from a plug-in in HDF5_PLUGIN_PATH if need "
                   "be; 'h5repack -f GZIP=4 IN OUT' writes a file that needs neither");
  if (H5Zfilter_avail(id) > 0) return DM_OK;
  return dm_hint(dm_fail_at(DM_E_INPUT, &find->at, "needs %s, which is not installed",
                            examine_storage_name_of(id, text)),
                 "HDF5_PLUGIN_PATH names the folder of its plug-in; where that is installed, "
                 "'h5repack -f GZIP=4 IN OUT' writes a file that does not need it");
}

/* OWN: a codec that the readers of chunks undo, unless another filter of the dataset needs HDF5. */
static dm_status check_filter(H5Z_filter_t id, bool own, const dm_trust *trust, dm_dataset *find) {
  const dm_filter *f = dm_filter_of((int)id);
  if (!f || !f->flag || ((f->flag & DM_FILTER_CODECS) && !own)) return check_other(id, trust, find);
  find->filters |= f->flag;
  return DM_OK;
}

/* BY_HDF5: it undoes all filters that it does not have itself by plug-ins. */
static dm_status check_all(hid_t creation, bool by_hdf5, const dm_trust *trust, dm_dataset *find) {
  int count = H5Pget_nfilters(creation);
  if (count < 0) return dm_h5_fail(DM_E_INPUT, &find->at, "its filters cannot be read");
  for (int i = 0; i < count; i++) {
    unsigned flags, config, values[DM_CODEC_VALUES] = {0};
    size_t used = DM_CODEC_VALUES;
    dm_codec codec;
    H5Z_filter_t id =
        H5Pget_filter2(creation, (unsigned)i, &flags, &used, values, 0, NULL, &config);
    if (id < 0) return dm_h5_fail(DM_E_INPUT, &find->at, "its filters cannot be read");
    used = used < DM_CODEC_VALUES ? used : DM_CODEC_VALUES;
    const bool own = !by_hdf5 && dm_codec_find((int)id, used, values, &codec);
    DM_TRY(check_filter(id, own, trust, find));
  }
  return DM_OK;
}

static dm_status check_filters(hid_t creation, const dm_trust *trust, dm_dataset *find) {
  DM_TRY(check_all(creation, false, trust, find));
  const bool mixed = (find->filters & DM_FILTER_OTHER) && (find->filters & DM_FILTER_CODECS);
  if (mixed) DM_TRY(check_all(creation, true, trust, find));
  if (!(find->filters & DM_FILTER_OTHER) || !(find->filters & DM_FILTER_LZF) ||
      H5Zfilter_avail(DM_H5_LZF) > 0)
    return DM_OK;
  return dm_fail_at(DM_E_INPUT, &find->at,
                    "needs HDF5's plug-in for LZF beside that for another filter");
}

/* ---- layouts ---- */

static dm_status check_external(hid_t creation, const dm_trust *trust, const dm_location *at) {
  int count = H5Pget_external_count(creation);
  if (count < 0) return dm_h5_fail(DM_E_INPUT, at, "its storage cannot be read");
  if (count == 0 || trust->external) return DM_OK;
  char name[200] = "";
  off_t offset;
  hsize_t size;
  if (H5Pget_external(creation, 0, sizeof name - 1, name, &offset, &size) < 0)
    return dm_h5_fail(DM_E_INPUT, at, "its storage cannot be read");
  return dm_hint(dm_fail_at(DM_E_INPUT, at, "refused: its data lie in another file ('%s')", name),
                 "--allow-external reads it");
}

static dm_status check_chunks(hid_t creation, dm_dataset *find) {
  int64_t bytes = 0;
  dm_axes axes = dm_dataset_axes(find);
  if (!dm_h5_matrix_chunks(find, creation, &axes) || !dm_dataset_lay(find, &axes, axes.of_rows))
    return dm_h5_fail(DM_E_INPUT, &find->at, "its chunks cannot be read");
  if (dm_dataset_stored(find, find->chunk_rows, find->chunk_cols, &bytes) &&
      bytes <= EXAMINE_STORAGE_CHUNK_LIMIT)
    return DM_OK;
  return dm_fail_at(DM_E_INPUT, &find->at,
                    "its chunks of %lld x %lld elements are larger than 1 GiB",
                    (long long)find->chunk_rows, (long long)find->chunk_cols);
}

/* MISSING of CHUNKS chunks, at least one, were never written. If fill values are never written
 * either, HDF5 leaves what it reads in their place undefined. */
static dm_status check_never_written(hid_t creation, const dm_trust *trust, const dm_dataset *find,
                                     int64_t missing, int64_t chunks) {
  H5D_fill_time_t written;
  if (H5Pget_fill_time(creation, &written) < 0)
    return dm_h5_fail(DM_E_INPUT, &find->at, "its fill value cannot be read");
  const bool filled = written == H5D_FILL_TIME_ALLOC || written == H5D_FILL_TIME_IFSET;
  if (trust->no_data && filled) return DM_OK;
  dm_status status =
      missing == chunks
          ? dm_fail_at(DM_E_INPUT, &find->at, "has no data: nothing was ever written to it")
          : dm_fail_at(DM_E_INPUT, &find->at, "has no data in %lld of its %lld chunks",
                       (long long)missing, (long long)chunks);
  return filled ? dm_hint(status, "--allow-no-data reads the fill value instead")
                : dm_hint(status, "its fill time is H5D_FILL_TIME_NEVER, so no value stands for "
                                  "them; write them, or name a part of it");
}

static dm_status check_contiguous(hid_t set, hid_t creation, const dm_trust *trust, int64_t bytes,
                                  bool away, dm_dataset *find) {
  H5D_space_status_t allocated;
  if (H5Dget_space_status(set, &allocated) < 0)
    return dm_h5_fail(DM_E_INPUT, &find->at, "its storage cannot be read");
  const haddr_t offset = H5Dget_offset(set);
  if (offset == HADDR_UNDEF) H5Eclear2(H5E_DEFAULT); /* not allocated, or in another file */
  if (allocated == H5D_SPACE_STATUS_NOT_ALLOCATED && offset == HADDR_UNDEF)
    return check_never_written(creation, trust, find, 1, 1);
  if (find->stored_bytes != bytes)
    return dm_fail_at(DM_E_INPUT, &find->at, "declares %lld bytes and stores %lld",
                      (long long)bytes, (long long)find->stored_bytes);
  const int64_t place = away ? -1 : dm_h5_offset(find, set, offset);
  if (place < 0) return DM_OK; /* in another, trusted file */
  if (place > find->file_bytes || bytes > find->file_bytes - place)
    return dm_fail_at(DM_E_INPUT, &find->at,
                      "its data end beyond the end of the file (%lld bytes): was it cut off?",
                      (long long)find->file_bytes);
  find->offset = place;
  return DM_OK;
}

static dm_status check_chunked(hid_t set, hid_t creation, const dm_trust *trust, int64_t bytes,
                               bool away, dm_dataset *find) {
  int64_t chunks, stored = find->stored_bytes;
  hsize_t present = 0;
  const dm_axes axes = dm_dataset_axes(find);
  const int64_t down = dm_side_chunks(dm_axes_side(&axes, 0));
  const int64_t across = dm_side_chunks(dm_axes_side(&axes, 1));
  if (down < 0 || across < 0 || dm_mul_overflows(down, across, &chunks))
    return dm_fail_at(DM_E_INPUT, &find->at, "declares more chunks than 64 bits can count");
  DM_H5_HELD hid_t space = H5Dget_space(set);
#if H5_VERSION_GE(1, 10, 5)
  bool counted = space >= 0 && H5Dget_num_chunks(set, space, &present) >= 0;
#else
  bool counted = space >= 0;
  present = (hsize_t)chunks;
#endif
  if (!counted) return dm_h5_fail(DM_E_INPUT, &find->at, "its chunks cannot be counted");
  if (stored > find->file_bytes && !away && !trust->swmr)
    return dm_fail_at(DM_E_INPUT, &find->at, "stores %lld bytes in a file of %lld",
                      (long long)stored, (long long)find->file_bytes);
  if ((int64_t)present < chunks)
    DM_TRY(check_never_written(creation, trust, find, chunks - (int64_t)present, chunks));
  if (trust->no_data) return DM_OK;
  if (find->filters & DM_FILTER_OTHER) return DM_OK; /* trusted, with any ratio */
  int64_t least = bytes / (find->filters & DM_FILTER_DEFLATE ? DEFLATE_RATIO : 1) /
                  (find->filters & DM_FILTER_LZF ? LZF_RATIO : 1) /
                  (find->filters & DM_FILTER_CODECS ? CODEC_RATIO : 1);
  if (!(find->filters & (DM_FILTER_DEFLATE | DM_FILTER_LZF | DM_FILTER_CODECS)) &&
      (!dm_dataset_stored(find, find->chunk_rows, find->chunk_cols, &least) ||
       dm_mul_overflows(chunks, least, &least)))
    least = INT64_MAX;
  if (stored == 0 || stored < least)
    return dm_fail_at(DM_E_INPUT, &find->at, "declares %lld bytes and stores %lld",
                      (long long)dm_max(bytes, least), (long long)stored);
  return DM_OK;
}

static dm_status check_compact(int64_t bytes, const dm_dataset *find) {
  return find->stored_bytes == bytes
             ? DM_OK
             : dm_fail_at(DM_E_INPUT, &find->at, "declares %lld bytes and stores %lld",
                          (long long)bytes, (long long)find->stored_bytes);
}

/* Reads the first and the last element with HDF5. */
static dm_status read_ends(hid_t set, const dm_dataset *find, unsigned char *ends) {
  hsize_t two = 2, places[2 * DM_AXES], last[DM_AXES];
  const size_t axes = (size_t)(dm_dataset_axes(find).count - find->compound.inner);
  dm_h5_place(find, 0, 0, places);
  dm_h5_place(find, find->rows - 1, find->cols - 1, last);
  memcpy(places + axes, last, axes * sizeof *last);
  DM_H5_HELD hid_t space = H5Dget_space(set), memory = H5Screate_simple(1, &two, NULL);
  DM_H5_HELD hid_t type = H5Dget_type(set);
  const bool read = space >= 0 && memory >= 0 && type >= 0 &&
                    H5Sselect_elements(space, H5S_SELECT_SET, 2, places) >= 0 &&
                    H5Dread(set, type, memory, space, H5P_DEFAULT, ends) >= 0;
  return read ? DM_OK : dm_h5_fail(DM_E_INPUT, &find->at, "its elements cannot be read");
}

/* FD: what HDF5 has open; ROOM: for SIZE bytes. */
static bool reads(const dm_dataset *find, const void *fd, const void *expected, size_t size,
                  int64_t place, void *room) {
  const dm_member_files *files = find->members ? ((const dm_h5_observer *)fd)->members : NULL;
  const bool whole =
      find->members == DM_MEMBERS_FAMILY
          ? dm_members_read(files, room, (int64_t)size, (uint64_t)place)
          : dm_file_read_at(*(const int *)fd, room, (int64_t)size, place) == (int64_t)size;
  return whole && memcmp(room, expected, size) == 0;
}

/* Reads elements with HDF5 and, if their offset in FILE is known, from there. */
static dm_status examine_storage_probe(hid_t file, hid_t set, dm_h5_log *log, dm_dataset *find) {
  const size_t size =
      find->compound.bytes > 0 ? (size_t)find->compound.bytes : (size_t)dm_dtype_size(find->dtype);
  const int64_t last = find->rows * find->cols / dm_dataset_each(find) - 1;
  DM_FREED unsigned char *ends = NULL;
  void *fd = NULL;
  DM_TRY(dm_buffer_table(3 * (int64_t)size, &ends));
  if (log && find->offset >= 0) {
    log->elements = find->offset;
    log->elements_bytes = (last + 1) * (int64_t)size;
  }
  dm_status status = read_ends(set, find, ends);
  if (log) log->elements_bytes = 0;
  DM_TRY(status);
  DM_H5_HELD const hid_t type = H5Dget_type(set);
  if (find->offset < 0 || dm_h5_compound_is_loose(find, type)) return DM_OK; /* not comparable */
  /* If other data are there, HDF5 has to read them. */
  if (H5Fget_vfd_handle(file, H5P_DEFAULT, &fd) < 0 || !fd ||
      !reads(find, fd, ends, size, find->offset, ends + 2 * size) ||
      !reads(find, fd, ends + size, size, find->offset + last * (int64_t)size, ends + 2 * size))
    find->offset = -1;
  return DM_OK;
}

/* Whether links led to another file than the opened one. */
static dm_status is_in_other_file(const dm_location *at, hid_t file, hid_t set, bool *is) {
  H5O_info_t here, there;
  if (H5Oget_info(file, &here) < 0 || H5Oget_info(set, &there) < 0)
    return dm_h5_fail(DM_E_INPUT, at, "its file cannot be identified");
  *is = here.fileno != there.fileno;
  return DM_OK;
}

static dm_status check_layout(hid_t set, hid_t creation, H5D_layout_t layout, const dm_trust *trust,
                              bool away, dm_dataset *find) {
  int64_t bytes = 0;
  if (!dm_dataset_stored(find, find->rows, find->cols, &bytes))
    return dm_fail_at(DM_E_INPUT, &find->at, "declares more bytes than 64 bits can count");
  hsize_t stored = H5Dget_storage_size(set);
  find->stored_bytes = stored > INT64_MAX ? INT64_MAX : (int64_t)stored;
  switch (layout) {
  case H5D_CONTIGUOUS:
    find->layout = DM_CONTIGUOUS;
    return check_contiguous(set, creation, trust, bytes, away, find);
  case H5D_COMPACT:
    find->layout = DM_COMPACT;
    return check_compact(bytes, find);
  case H5D_CHUNKED:
    find->layout = DM_CHUNKED;
    DM_TRY(check_chunks(creation, find));
    DM_TRY(check_filters(creation, trust, find));
    return check_chunked(set, creation, trust, bytes, away, find);
  default:
    return dm_fail_at(DM_E_INPUT, &find->at, "has an unknown layout");
  }
}

/* The storage of the open dataset SET, whose shape and type FIND has. */
static dm_status examine_laid(hid_t file, hid_t set, hid_t creation, H5D_layout_t layout,
                              const dm_trust *trust, dm_dataset *find) {
  if (dm_dataset_is_empty(find)) {
    find->layout = DM_CONTIGUOUS;
    return DM_OK;
  }
  bool away = false;
  if (trust->external) DM_TRY(is_in_other_file(&find->at, file, set, &away));
  DM_TRY(check_layout(set, creation, layout, trust, away, find));
  if (trust->log && find->layout == DM_CHUNKED && !(find->filters & DM_FILTER_OTHER) &&
      !trust->external && !trust->swmr && !trust->no_data)
    dm_few_chunks_find(find, set, creation, trust->log->observer);
  /* HDF5 may lack LZF and codecs; the reader of chunks checks them. Of many sources, each would be
   * unpacked for two elements. */
  const bool own_chunks = find->layout == DM_CHUNKED && !(find->filters & DM_FILTER_OTHER);
  if ((find->filters & (DM_FILTER_LZF | DM_FILTER_CODECS)) || (trust->known && own_chunks))
    return DM_OK;
  int64_t chunk = 0;
  if (!dm_dataset_stored(find, find->chunk_rows, find->chunk_cols, &chunk) ||
      chunk > (own_chunks ? OWN_PROBE_LIMIT : PROBE_LIMIT))
    return DM_OK;
  return examine_storage_probe(file, set, trust->log, find);
}

dm_status dm_examine_storage(int64_t file, int64_t set, const dm_trust *trust, dm_dataset *find) {
  const dm_location *at = &find->at;
  find->offset = -1;
  DM_H5_HELD hid_t creation = H5Dget_create_plist(set);
  H5D_layout_t layout = creation < 0 ? H5D_LAYOUT_ERROR : H5Pget_layout(creation);
  if (layout == H5D_LAYOUT_ERROR) return dm_h5_fail(DM_E_INPUT, at, "its layout cannot be read");
  H5D_fill_value_t fill;
  if (H5Pfill_value_defined(creation, &fill) < 0)
    return dm_h5_fail(DM_E_IO, at, "its fill value cannot be read");
  /* Before HDF5 reads anything of it, which may open other files. */
  if (layout == H5D_VIRTUAL) {
    if (find->compound.bytes > 0)
      return dm_hint(dm_fail_at(DM_E_INPUT, at, "is a virtual dataset of compounds or arrays"),
                     "name the datasets of its sources, as in 'FOLDER/*.h5:/DATASET', which are "
                     "read as one");
    DM_TRY(dm_complex_refuse_virtual(trust, set, at));
    return dm_examine_virtual(set, creation, trust, find);
  }
  DM_TRY(check_external(creation, trust, at));
  dm_axes axes;
  dm_complex_axis axis;
  DM_TRY(dm_h5_matrix_extents(find, set, &axes));
  DM_TRY(dm_complex_find(trust, set, &axes, find, &axis));
  if (axis == DM_COMPLEX_NONE) {
    DM_TRY(dm_examine_lay(trust, &axes, find));
    return examine_laid(file, set, creation, layout, trust, find);
  }
  dm_trust reals = *trust;
  reals.any_shape = true;
  DM_TRY(dm_examine_lay(&reals, &axes, find));
  DM_TRY(examine_laid(file, set, creation, layout, &reals, find));
  axes = dm_dataset_axes(find); /* with chunks */
  return dm_complex_lay(trust, &axes, axis, find);
}
