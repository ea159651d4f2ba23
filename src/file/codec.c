#include "file/codec.h"

#include <stdio.h>
#include <string.h>
#ifdef DAMIER_HAVE_ZSTD
#include <zstd.h>
#endif
#ifdef DAMIER_HAVE_LZ4
#include <lz4.h>
#endif
#ifdef DAMIER_HAVE_BLOSC
#include <blosc.h>
#endif

#include "core/checked.h"
#include "file/bitshuffle.h"
#include "file/blosc2.h"

enum {
  ZSTD = DM_ZSTD_FILTER,
  LZ4 = 32004,
  BITSHUFFLE = 32008,
  BLOSC = 32001,
  MOST_BYTES = 1 << 30, /* of a block: HDF5's chunks are smaller than 4 GiB, LZ4 counts in int */
  LZ4_HEADER = 12,
  DEFAULT_BLOCK = 1 << 13 /* bytes, of bitshuffle; of LZ4 far more */
};

static const bool has_zstd =
#ifdef DAMIER_HAVE_ZSTD
    true;
#else
    false;
#endif
static const bool has_lz4 =
#ifdef DAMIER_HAVE_LZ4
    true;
#else
    false;
#endif

const char *dm_codec_names(void) {
  return
#ifdef DAMIER_HAVE_DEFLATE
      "deflate (libdeflate), "
#else
      "deflate (zlib), "
#endif
      "bitshuffle"
#ifdef DAMIER_HAVE_ZSTD
      ", zstd"
#endif
#ifdef DAMIER_HAVE_LZ4
      ", lz4"
#endif
#ifdef DAMIER_HAVE_BLOSC
      ", blosc"
#endif
#ifdef DAMIER_HAVE_BLOSC2
      ", blosc2"
#endif
      ;
}

static bool find_bitshuffle(size_t count, const unsigned *values, dm_codec *codec) {
  const unsigned inner = count > 4 ? values[4] : 0;
  codec->size = count > 2 ? values[2] : 0;
  codec->block = count > 3 ? values[3] : 0;
  if (codec->size <= 0 || codec->block > MOST_BYTES / codec->size ||
      codec->block % DM_BITS_TOGETHER != 0)
    return false;
  codec->inner = inner == DM_BITS_LZ4    ? DM_BITS_LZ4
                 : inner == DM_BITS_ZSTD ? DM_BITS_ZSTD
                                         : DM_BITS_ONLY;
  return inner == 0 || (inner == DM_BITS_LZ4 && has_lz4) || (inner == DM_BITS_ZSTD && has_zstd);
}

bool dm_codec_find(int id, size_t count, const unsigned *values, dm_codec *codec) {
  *codec = (dm_codec){0};
  switch (id) {
  case ZSTD:
    codec->kind = DM_CODEC_ZSTD;
    return has_zstd;
  case LZ4:
    codec->kind = DM_CODEC_LZ4;
    codec->size = 1;
    codec->block = count > 0 ? values[0] : 0;
    return has_lz4;
  case BITSHUFFLE:
    codec->kind = DM_CODEC_BITSHUFFLE;
    return find_bitshuffle(count, values, codec);
#ifdef DAMIER_HAVE_BLOSC
  case BLOSC:
    codec->kind = DM_CODEC_BLOSC;
    return true;
#endif
#ifdef DAMIER_HAVE_BLOSC2
  case DM_BLOSC2_FILTER:
    codec->kind = DM_CODEC_BLOSC2;
    dm_blosc2_start();
    return true;
#endif
  default:
    return false;
  }
}

int64_t dm_codec_growth(const dm_codec *codec, int64_t bytes) {
  enum { PER_BLOCK = 32 }; /* its length, and the header of zstd or what LZ4 adds to it */
  const int64_t block = codec->block > 0 ? codec->size * codec->block : DEFAULT_BLOCK;
  const bool in_blocks = codec->kind == DM_CODEC_LZ4 || codec->inner != DM_BITS_ONLY;
  return in_blocks ? bytes / block * PER_BLOCK : 0;
}

static dm_status damaged(const char *name) {
  return dm_fail(DM_E_INPUT, "it is not valid %s data", name);
}

/* Each unpacks LENGTH bytes of DATA to OUT and returns the bytes written, at most ROOM; -1: the
 * data are damaged. */
static int64_t undo_zstd(const void *data, int64_t length, void *out, int64_t room) {
#ifdef DAMIER_HAVE_ZSTD
  const size_t made = ZSTD_decompress(out, (size_t)room, data, (size_t)length);
  return ZSTD_isError(made) ? -1 : (int64_t)made;
#else
  return (void)data, (void)length, (void)out, (void)room, -1;
#endif
}

static int64_t undo_zstd_block(void *context, const void *data, int64_t length, void *out,
                               int64_t room) {
#ifdef DAMIER_HAVE_ZSTD
  const size_t made = ZSTD_decompressDCtx(context, out, (size_t)room, data, (size_t)length);
  return ZSTD_isError(made) ? -1 : (int64_t)made;
#else
  return (void)context, (void)data, (void)length, (void)out, (void)room, -1;
#endif
}

static int64_t undo_lz4_block(void *context, const void *data, int64_t length, void *out,
                              int64_t room) {
  (void)context;
#ifdef DAMIER_HAVE_LZ4
  if (length > MOST_BYTES) return -1;
  return LZ4_decompress_safe(data, out, (int)length, (int)dm_min(room, MOST_BYTES));
#else
  return (void)data, (void)length, (void)out, (void)room, -1;
#endif
}

static int64_t undo_blosc(const void *data, int64_t length, void *out, int64_t room) {
#ifdef DAMIER_HAVE_BLOSC
  size_t made = 0;
  if (length < BLOSC_MIN_HEADER_LENGTH ||
      blosc_cbuffer_validate(data, (size_t)length, &made) != 0 || made > (size_t)room)
    return -1;
  return blosc_decompress_ctx(data, out, made, 1);
#else
  return (void)data, (void)length, (void)out, (void)room, -1;
#endif
}

/* A header (bytes of all data, bytes of a block), then blocks, each after its packed size; a block
 * that was not reduced is stored as it is. */
static int64_t undo_lz4(const unsigned char *data, int64_t length, unsigned char *out,
                        int64_t room) {
  if (length < LZ4_HEADER) return -1;
  const uint64_t all = dm_big_endian(data, 8), each = dm_big_endian(data + 8, 4);
  int64_t at = LZ4_HEADER, made = 0;
  if (all > (uint64_t)room || (each == 0 && all > 0)) return -1;
  while (made < (int64_t)all) {
    const int64_t block = dm_min((int64_t)each, (int64_t)all - made);
    if (length - at < 4) return -1;
    const int64_t packed = (int64_t)dm_big_endian(data + at, 4);
    at += 4;
    if (packed > length - at) return -1;
    if (packed == block)
      memcpy(out + made, data + at, (size_t)block);
    else if (undo_lz4_block(NULL, data + at, packed, out + made, block) != block)
      return -1;
    at += packed;
    made += block;
  }
  return made;
}

static dm_status undo_bitshuffle(const dm_codec *codec, const void *data, int64_t length, void *out,
                                 int64_t room, int64_t *made) {
  dm_unpack_block *unpack = NULL;
  void *context = NULL;
  if (codec->inner == DM_BITS_LZ4) unpack = undo_lz4_block;
#ifdef DAMIER_HAVE_ZSTD
  if (codec->inner == DM_BITS_ZSTD) {
    unpack = undo_zstd_block;
    context = ZSTD_createDCtx(); /* larger than a block */
    if (!context) return dm_fail(DM_E_FIT, "no memory to unpack a chunk of zstd");
  }
#endif
  dm_status status =
      dm_bitshuffle_undo(unpack, context, codec->size, codec->block, data, length, out, room, made);
#ifdef DAMIER_HAVE_ZSTD
  ZSTD_freeDCtx(context);
#endif
  return status;
}

dm_status dm_codec_undo(const dm_codec *codec, const void *data, int64_t *length, void *out,
                        int64_t room) {
  static const char *const names[] = {"zstd", "LZ4", "bitshuffle", "blosc", "blosc2"};
  int64_t made = -1;
  switch (codec->kind) {
  case DM_CODEC_ZSTD:
    made = undo_zstd(data, *length, out, room);
    break;
  case DM_CODEC_LZ4:
    made = undo_lz4(data, *length, out, room);
    break;
  case DM_CODEC_BLOSC:
    made = undo_blosc(data, *length, out, room);
    break;
  case DM_CODEC_BLOSC2:
    made = dm_blosc2_undo(data, *length, out, room);
    break;
  case DM_CODEC_BITSHUFFLE:
    DM_TRY(undo_bitshuffle(codec, data, *length, out, room, &made));
    break;
  }
  if (made < 0) return damaged(names[codec->kind]);
  *length = made;
  return DM_OK;
}

dm_status dm_codec_pack(const void *data, int64_t *length, int level, void *out, bool *gained) {
  *gained = false;
#ifdef DAMIER_HAVE_ZSTD
  /* Fails if the room is too small: the chunk is stored as it is. */
  const size_t made = ZSTD_compress(out, (size_t)*length, data, (size_t)*length, level);
  *gained = !ZSTD_isError(made) && (int64_t)made < *length;
  if (*gained) *length = (int64_t)made;
  return DM_OK;
#else
  (void)data, (void)length, (void)level, (void)out;
  return dm_hint(dm_fail(DM_E_USAGE, "this build has no zstd"), "--deflate compresses C, too");
#endif
}
