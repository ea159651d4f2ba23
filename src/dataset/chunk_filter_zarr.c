/* What Zarr's codecs need beside HDF5's filters: another order of the axes, and CRC-32C. */
#include "core/copy.h"
#include "dataset/chunk_filter.h"

/* ---- the order of axes ---- */

/* Elements of SIZE bytes, copied as they are; NONE: no type has as many. */
static dm_dtype order_type(int64_t size) {
  static const dm_dtype types[] = {DM_U8, DM_U16, DM_U32, DM_U64, DM_C128};
  for (int i = 0; i < 5; i++)
    if (dm_dtype_size(types[i]) == size) return types[i];
  return DM_DTYPE_NONE;
}

/* Copies the plane of axes DOWN and RIGHT (of the chunk; one axis: the same) at FROM to TO; the
 * strides are those of what is stored. */
static void order_copy_plane(const dm_axis_order *o, int down, int right, const int64_t *stored,
                             const int64_t *made, const char *from, char *to) {
  const dm_dtype type = order_type(o->size);
  const int64_t rows = down == right ? 1 : o->shape[down];
  dm_view source = {.base = (void *)from,
                    .dtype = type,
                    .space = DM_HOST,
                    .rows = rows,
                    .cols = o->shape[right],
                    .row_stride = stored[down],
                    .col_stride = stored[right]};
  dm_view target = source;
  target.base = to;
  target.row_stride = made[down];
  target.col_stride = made[right];
  dm_copy(target, source, false);
}

void dm_chunk_turn_back(const dm_axis_order *o, const void *data, void *out) {
  int64_t stored[DM_AXES], made[DM_AXES], index[DM_AXES] = {0}, before = 1, after = 1;
  for (int i = o->count - 1; i >= 0; i--) {
    stored[o->of[i]] = before;
    made[i] = after;
    before *= o->shape[o->of[i]];
    after *= o->shape[i];
  }
  const int right = o->count - 1,
            down = o->of[o->count - 1]; /* each is contiguous in one of them */
  for (;;) {
    int64_t from = 0, to = 0;
    for (int i = 0; i < o->count; i++) {
      from += index[i] * stored[i];
      to += index[i] * made[i];
    }
    order_copy_plane(o, down, right, stored, made, (const char *)data + from * o->size,
                     (char *)out + to * o->size);
    int axis = o->count - 1;
    while (axis >= 0 && (axis == down || axis == right || ++index[axis] == o->shape[axis]))
      index[axis--] = 0;
    if (axis < 0) return;
  }
}

/* ---- CRC-32C ---- */

enum { POLYNOMIAL = (int)0x82f63b78u, TABLES = 8 };

static void crc_tables(uint32_t table[TABLES][256]) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? (uint32_t)POLYNOMIAL : 0);
    table[0][i] = crc;
  }
  for (uint32_t i = 0; i < 256; i++)
    for (int t = 1; t < TABLES; t++)
      table[t][i] = table[t - 1][i] >> 8 ^ table[0][table[t - 1][i] & 0xff];
}

/* Eight bytes at a time, by a table for each place of a byte (Kounavis and Berry 2005). */
uint32_t dm_crc32c(const void *from, int64_t bytes) {
  const unsigned char *data = from;
  uint32_t table[TABLES][256], crc = ~0u;
  crc_tables(table);
  for (; bytes >= 8; bytes -= 8, data += 8) {
    const uint32_t low = crc ^ ((uint32_t)data[0] | (uint32_t)data[1] << 8 |
                                (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24);
    crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^
          table[4][low >> 24] ^ table[3][data[4]] ^ table[2][data[5]] ^ table[1][data[6]] ^
          table[0][data[7]];
  }
  for (; bytes > 0; bytes--) crc = crc >> 8 ^ table[0][(crc ^ *data++) & 0xff];
  return ~crc;
}
