/* Decides which filters a dataset may use. */
#include <stdio.h>

#include "file/codec.h"
#include "file/hdf5_use.h"
#include "file/inspect_impl.h"

/* Common filters from HDF5's list of registered filters. */
static const struct {
  int id;
  const char *name;
} names[] = {
    {H5Z_FILTER_SZIP, "szip"},
    {H5Z_FILTER_NBIT, "n-bit"},
    {H5Z_FILTER_SCALEOFFSET, "scale-offset"},
    {305, "LZO"},
    {307, "bzip2"},
    {32001, "blosc"},
    {32004, "lz4"},
    {32008, "bitshuffle"},
    {32013, "zfp"},
    {32015, "zstd"},
    {32017, "SZ"},
    {32018, "fcidecomp"},
    {32019, "jpeg"},
    {32024, "SZ3"},
    {32026, "blosc2"},
};

/* "filter 32015 (zstd)" */
static const char *name_of(H5Z_filter_t id, char text[48]) {
  const char *name = NULL;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (names[i].id == (int)id) name = names[i].name;
  snprintf(text, 48, "HDF5 filter %d%s%s%s", (int)id, name ? " (" : "", name ? name : "",
           name ? ")" : "");
  return text;
}

static dm_status check_other(H5Z_filter_t id, const dm_trust *trust, dm_dataset *find) {
  char text[48];
  find->filters |= DM_FILTER_OTHER;
  if (!trust->filters)
    return dm_hint(
        dm_fail_at(DM_E_INPUT, &find->at, "refused: it is stored with %s", name_of(id, text)),
        "--allow-filters lets HDF5 use it, from a plug-in in HDF5_PLUGIN_PATH if need "
        "be; 'h5repack -f GZIP=4 IN OUT' writes a file that needs neither");
  if (H5Zfilter_avail(id) > 0) return DM_OK;
  return dm_hint(
      dm_fail_at(DM_E_INPUT, &find->at, "needs %s, which is not installed", name_of(id, text)),
      "HDF5_PLUGIN_PATH names the folder of its plug-in; where that is installed, "
      "'h5repack -f GZIP=4 IN OUT' writes a file that does not need it");
}

/* A filter that the readers of chunks undo, unless another one of the dataset needs HDF5. */
static dm_status check_codec(const dm_codec *codec, dm_dataset *find) {
  static const unsigned flags[] = {[DM_CODEC_ZSTD] = DM_FILTER_ZSTD,
                                   [DM_CODEC_LZ4] = DM_FILTER_LZ4,
                                   [DM_CODEC_BITSHUFFLE] = DM_FILTER_BITSHUFFLE,
                                   [DM_CODEC_BLOSC] = DM_FILTER_BLOSC,
                                   [DM_CODEC_BLOSC2] = DM_FILTER_BLOSC2};
  find->filters |= flags[codec->kind];
  return DM_OK;
}

static dm_status check_filter(H5Z_filter_t id, const dm_codec *codec, const dm_trust *trust,
                              dm_dataset *find) {
  switch (id) {
  case H5Z_FILTER_DEFLATE:
    find->filters |= DM_FILTER_DEFLATE;
    return DM_OK;
  case H5Z_FILTER_SHUFFLE:
    find->filters |= DM_FILTER_SHUFFLE;
    return DM_OK;
  case H5Z_FILTER_FLETCHER32:
    find->filters |= DM_FILTER_FLETCHER32;
    return DM_OK;
  case DM_H5_LZF:
    find->filters |= DM_FILTER_LZF;
    return DM_OK;
  default:
    return codec ? check_codec(codec, find) : check_other(id, trust, find);
  }
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
    DM_TRY(check_filter(id, own ? &codec : NULL, trust, find));
  }
  return DM_OK;
}

dm_status dm_examine_filters(int64_t creation, const dm_trust *trust, dm_dataset *find) {
  DM_TRY(check_all(creation, false, trust, find));
  const bool mixed = (find->filters & DM_FILTER_OTHER) && (find->filters & DM_FILTER_CODECS);
  if (mixed) DM_TRY(check_all(creation, true, trust, find));
  if (!(find->filters & DM_FILTER_OTHER) || !(find->filters & DM_FILTER_LZF) ||
      H5Zfilter_avail(DM_H5_LZF) > 0)
    return DM_OK;
  return dm_fail_at(DM_E_INPUT, &find->at,
                    "needs HDF5's plug-in for LZF beside that for another filter");
}
