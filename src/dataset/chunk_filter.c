#include "dataset/chunk_filter.h"

#include <stdbool.h>
#include <string.h>
#ifdef DAMIER_HAVE_DEFLATE
#include <libdeflate.h>
#endif
#include <zlib.h>

#include "dataset/codec.h"

/* ---- LZF ---- */

/* LZF, h5py's fast compression filter. Packed data is a sequence of
 *
 *   000lllll              l + 1 literal bytes follow
 *   lllooooo oooooooo     copy l + 2 bytes, l from 1 to 6, from o + 1 bytes back in the output
 *   111ooooo llllllll oooooooo     the same with l + 9 bytes
 *
 * A copy may overlap its own output. */
enum { LITERALS = 32, LONG_COPY = 7, LEAST_COPY = 2 };

static dm_status lzf_damaged(void) {
  return dm_fail(DM_E_INPUT, "it is not valid LZF data");
}

dm_status dm_chunk_lzf(const void *data, int64_t *length, void *out, int64_t room) {
  const unsigned char *from = data, *const end = from + *length;
  unsigned char *const first = out, *to = out, *const limit = to + room;
  while (from < end) {
    const int control = *from++;
    if (control < LITERALS) {
      if (control + 1 > end - from || control + 1 > limit - to) return lzf_damaged();
      memcpy(to, from, (size_t)control + 1);
      from += control + 1;
      to += control + 1;
      continue;
    }
    int64_t count = control >> 5;
    if (count == LONG_COPY && from < end) count += *from++;
    count += LEAST_COPY;
    if (from == end) return lzf_damaged();
    const int64_t back = ((int64_t)(control & 31) << 8) + *from++ + 1;
    if (back > to - first || count > limit - to) return lzf_damaged();
    for (const unsigned char *old = to - back; count > 0; count--) *to++ = *old++;
  }
  *length = to - first;
  return DM_OK;
}

/* ---- all filters ---- */

enum { CHECKSUM_BYTES = 4, SUMS_PER_FOLD = 360 /* before 32 bits overflow */ };

int64_t dm_chunk_filter_room(const dm_chunk_filter *filter, int64_t bytes) {
  int64_t room = bytes + bytes / 128 + 1024; /* deflate adds less; one checksum per filter */
  for (int i = 0; i < filter->count; i++)
    if (filter->step[i] == DM_STEP_CODEC) room += dm_codec_growth(&filter->codec[i], room);
  return room;
}

static uint32_t chunk_filter_fold(uint32_t sum) {
  return (sum & 0xffff) + (sum >> 16);
}

/* Sums pairs of bytes, the first the higher, as HDF5 does. */
static uint32_t fletcher32(const unsigned char *data, int64_t bytes) {
  uint32_t low = 0, high = 0;
  int64_t pairs = bytes / 2;
  while (pairs > 0) {
    int64_t now = pairs < SUMS_PER_FOLD ? pairs : SUMS_PER_FOLD;
    pairs -= now;
    for (; now > 0; now--, data += 2) {
      low += (uint32_t)data[0] << 8 | data[1];
      high += low;
    }
    low = chunk_filter_fold(low);
    high = chunk_filter_fold(high);
  }
  if (bytes % 2) {
    low += (uint32_t)data[0] << 8;
    high += low;
    low = chunk_filter_fold(low);
    high = chunk_filter_fold(high);
  }
  return chunk_filter_fold(high) << 16 | chunk_filter_fold(low);
}

/* Takes the checksum behind *length bytes of DATA from them. */
static dm_status take_sum(const unsigned char *data, int64_t *length, uint32_t *stored) {
  if (*length < CHECKSUM_BYTES) return dm_fail(DM_E_INPUT, "it is shorter than its checksum");
  *length -= CHECKSUM_BYTES;
  const unsigned char *end = data + *length;
  *stored =
      (uint32_t)end[0] | (uint32_t)end[1] << 8 | (uint32_t)end[2] << 16 | (uint32_t)end[3] << 24;
  return DM_OK;
}

static dm_status check_sum(const unsigned char *data, int64_t *length) {
  uint32_t stored;
  DM_TRY(take_sum(data, length, &stored));
  uint32_t sum = fletcher32(data, *length);
  /* HDF5 before 1.6.3 swapped the bytes of each pair on little-endian machines. */
  uint32_t old = (sum & 0x00ff00ff) << 8 | (sum & 0xff00ff00) >> 8;
  return stored == sum || stored == old ? DM_OK
                                        : dm_fail(DM_E_INPUT, "it does not match its checksum");
}

static dm_status check_crc32c(const unsigned char *data, int64_t *length) {
  uint32_t stored;
  DM_TRY(take_sum(data, length, &stored));
  return stored == dm_crc32c(data, *length) ? DM_OK
                                            : dm_fail(DM_E_INPUT, "it does not match its checksum");
}

static dm_status too_long(void) {
  return dm_fail(DM_E_INPUT, "it inflates to more than its size, or is cut off");
}

/* Inflates one stream of zlib or GZIP; *used are its bytes. */
#ifdef DAMIER_HAVE_DEFLATE
static dm_status filter_inflate_one(bool gzip, const void *data, int64_t length, void *out,
                                    int64_t room, int64_t *used, int64_t *made) {
  struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
  size_t took = 0, gave = 0;
  if (!inflater) return dm_fail(DM_E_FIT, "no memory to inflate a chunk");
  const enum libdeflate_result result =
      gzip ? libdeflate_gzip_decompress_ex(inflater, data, (size_t)length, out, (size_t)room, &took,
                                           &gave)
           : libdeflate_zlib_decompress_ex(inflater, data, (size_t)length, out, (size_t)room, &took,
                                           &gave);
  libdeflate_free_decompressor(inflater);
  if (result == LIBDEFLATE_INSUFFICIENT_SPACE) return too_long();
  if (result != LIBDEFLATE_SUCCESS) return dm_fail(DM_E_INPUT, "it is not valid deflated data");
  *used = (int64_t)took;
  *made = (int64_t)gave;
  return DM_OK;
}
#else
static dm_status filter_inflate_one(bool gzip, const void *data, int64_t length, void *out,
                                    int64_t room, int64_t *used, int64_t *made) {
  enum { GZIP = 16 + MAX_WBITS };
  z_stream stream = {
      .next_in = (Bytef *)data, .avail_in = (uInt)length, .next_out = out, .avail_out = (uInt)room};
  if (inflateInit2(&stream, gzip ? GZIP : MAX_WBITS) != Z_OK)
    return dm_fail(DM_E_FIT, "no memory to inflate a chunk");
  const int result = inflate(&stream, Z_FINISH);
  *used = (int64_t)stream.total_in;
  *made = (int64_t)stream.total_out;
  (void)inflateEnd(&stream);
  if (result == Z_BUF_ERROR) return too_long();
  return result == Z_STREAM_END ? DM_OK : dm_fail(DM_E_INPUT, "it is not valid deflated data");
}
#endif

/* What follows a stream of zlib is ignored, as HDF5 does; GZIP may be several. */
static dm_status inflate_all(bool gzip, const void *data, int64_t *length, void *out,
                             int64_t room) {
  int64_t at = 0, made = 0, used, more;
  do {
    DM_TRY(filter_inflate_one(gzip, (const char *)data + at, *length - at, (char *)out + made,
                              room - made, &used, &more));
    at += used;
    made += more;
  } while (gzip && at < *length);
  *length = made;
  return DM_OK;
}

static void chunk_filter_exchange(void **a, void **b) {
  void *kept = *a;
  *a = *b;
  *b = kept;
}

static dm_status check_length(int64_t length, int64_t bytes) {
  return length == bytes ? DM_OK
                         : dm_fail(DM_E_INPUT, "it has %lld bytes where it should have %lld",
                                   (long long)length, (long long)bytes);
}

dm_status dm_chunk_filter_undo(const dm_chunk_filter *filter, uint32_t skipped, int64_t stored,
                               int64_t bytes, void **data, void **spare) {
  int64_t length = stored, room = dm_chunk_filter_room(filter, bytes);
  for (int i = filter->count - 1; i >= 0; i--) {
    if (skipped >> i & 1) continue;
    switch (filter->step[i]) {
    case DM_STEP_FLETCHER32:
      DM_TRY(check_sum(*data, &length));
      break;
    case DM_STEP_DEFLATE:
    case DM_STEP_GZIP:
      DM_TRY(inflate_all(filter->step[i] == DM_STEP_GZIP, *data, &length, *spare, room));
      chunk_filter_exchange(data, spare);
      break;
    case DM_STEP_CRC32C:
      DM_TRY(check_crc32c(*data, &length));
      break;
    case DM_STEP_TRANSPOSE:
      DM_TRY(check_length(length, bytes));
      dm_chunk_turn_back(&filter->order[i], *data, *spare);
      chunk_filter_exchange(data, spare);
      break;
    case DM_STEP_LZF:
      DM_TRY(dm_chunk_lzf(*data, &length, *spare, room));
      chunk_filter_exchange(data, spare);
      break;
    case DM_STEP_CODEC:
      DM_TRY(dm_codec_undo(&filter->codec[i], *data, &length, *spare, room));
      chunk_filter_exchange(data, spare);
      break;
    case DM_STEP_SHUFFLE:
      if (filter->shuffled_size[i] <= 1) break;
      dm_chunk_unshuffle(*data, length, filter->shuffled_size[i], *spare);
      chunk_filter_exchange(data, spare);
      break;
    }
  }
  return check_length(length, bytes);
}

/* *length stays unchanged if deflate gains nothing. */
static dm_status deflate_all(const void *data, int64_t *length, int level, void *out,
                             bool *gained) {
  uLongf made = (uLongf)*length;
  int result = compress2(out, &made, data, (uLong)*length, level);
  *gained = result == Z_OK && (int64_t)made < *length;
  if (result == Z_MEM_ERROR) return dm_fail(DM_E_FIT, "no memory to deflate a chunk");
  if (result != Z_OK && result != Z_BUF_ERROR) return dm_fail(DM_E_BUG, "deflate: %d", result);
  if (*gained) *length = (int64_t)made;
  return DM_OK;
}

dm_status dm_chunk_filter_apply(const dm_chunk_filter *filter, int level, const void *raw,
                                int64_t bytes, void *spare, void *packed, int64_t *stored,
                                uint32_t *skipped) {
  const void *from = raw;
  *stored = bytes;
  *skipped = 0;
  for (int i = 0; i < filter->count; i++) {
    void *to = from == packed ? spare : packed;
    bool done = true;
    if (filter->step[i] == DM_STEP_SHUFFLE)
      dm_chunk_shuffle(from, *stored, filter->shuffled_size[i], to);
    else if (filter->step[i] == DM_STEP_CODEC)
      DM_TRY(dm_codec_pack(from, stored, level, to, &done));
    else
      DM_TRY(deflate_all(from, stored, level, to, &done));
    if (done)
      from = to;
    else
      *skipped |= 1u << i;
  }
  if (from != packed) memcpy(packed, from, (size_t)*stored);
  return DM_OK;
}
