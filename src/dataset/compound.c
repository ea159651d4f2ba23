#include "dataset/compound.h"

#include <string.h>

#include "core/checked.h"
#include "core/copy.h"
#include "core/wide_vectors.h"

enum { GATHERED = 1024 /* numbers that are converted at a time */ };

static bool compound_is_same_kind(const dm_field *a, const dm_field *b) {
  return a->type == b->type && a->swapped == b->swapped;
}

bool dm_compound_add(dm_compound *r, dm_field field) {
  dm_field *last = r->count > 0 ? &r->field[r->count - 1] : NULL;
  if (field.count == 1 && last && compound_is_same_kind(last, &field)) {
    const int32_t apart = field.offset - last->offset;
    if (last->count == 1 && apart > 0) last->stride = apart;
    if (apart == last->count * last->stride) return ++last->count, true;
  }
  if (last && compound_is_same_kind(last, &field) && field.stride == last->stride &&
      field.offset == last->offset + last->count * last->stride) {
    last->count += field.count;
    return true;
  }
  if (r->count == DM_FIELDS) return false;
  r->field[r->count++] = field;
  return true;
}

int64_t dm_compound_reals(const dm_compound *r) {
  int64_t reals = 0;
  for (int i = 0; i < r->count; i++) reals += r->field[i].count;
  return reals;
}

void dm_compound_finish(dm_compound *r, dm_dtype type) {
  const dm_field *f = &r->field[0];
  const int64_t size = dm_dtype_size(type);
  r->apart = r->count != 1 || f->offset != 0 || (f->stride != size && f->count > 1) ||
             f->type != (int16_t)type || f->count * size != r->bytes;
}

bool dm_compound_is_sane(const dm_compound *r, dm_dtype type, int64_t numbers) {
  if (r->bytes == 0) return r->inner == 0 && r->count == 0 && r->path == 0;
  const int parts = dm_dtype_is_complex(type) ? 2 : 1;
  if (r->bytes < 1 || r->bytes > DM_COMPOUND_BYTES || r->count < 1 || r->count > DM_FIELDS)
    return false;
  for (int i = 0; i < r->count; i++) {
    const dm_field *f = &r->field[i];
    int64_t end;
    if (f->offset < 0 || f->stride < 1 || f->count < 1 || f->type < 0 ||
        !dm_dtype_is_known((dm_dtype)f->type) || dm_dtype_is_complex((dm_dtype)f->type) ||
        f->swapped < 0 || f->swapped > 1 || dm_mul_overflows(f->count - 1, f->stride, &end) ||
        end + f->offset + dm_dtype_size((dm_dtype)f->type) > r->bytes)
      return false;
  }
  return dm_compound_reals(r) == numbers * parts;
}

dm_dtype dm_compound_common(dm_dtype a, dm_dtype b) {
  static const dm_dtype types[] = {DM_BOOL, DM_I8,  DM_U8,  DM_I16, DM_U16, DM_F16,
                                   DM_BF16, DM_I32, DM_U32, DM_F32, DM_I64, DM_U64};
  if (a == b) return a;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (dm_dtype_holds(types[i], a) && dm_dtype_holds(types[i], b)) return types[i];
  return DM_F64;
}

/* Whether N whole numbers at AT are those of f64. */
static bool are_exact(dm_dtype type, const void *at, int64_t n) {
  const int64_t far = (int64_t)1 << 53;
  bool good = true;
  for (int64_t i = 0; i < n; i++) {
    int64_t whole;
    memcpy(&whole, (const char *)at + i * 8, sizeof whole);
    good &= whole <= far && whole >= (type == DM_I64 ? -far : 0);
  }
  return good;
}

/* Copies COUNT pieces of SIZE bytes, which a constant SIZE makes fast. */
DM_INLINE void copy_pieces(char *to, int64_t to_apart, const char *from, int64_t apart,
                           int64_t count, size_t size) {
  for (int64_t i = 0; i < count; i++) memcpy(to + i * to_apart, from + i * apart, size);
}

static void copy_apart(char *to, int64_t to_apart, const char *from, int64_t apart, int64_t count,
                       size_t size) {
  if (size == 8)
    copy_pieces(to, to_apart, from, apart, count, 8);
  else if (size == 4)
    copy_pieces(to, to_apart, from, apart, count, 4);
  else if (size == 2)
    copy_pieces(to, to_apart, from, apart, count, 2);
  else
    copy_pieces(to, to_apart, from, apart, count, size);
}

/* Converts COUNT numbers of each of RECORDS records, in memory of its own in between. */
static bool gather_converted(const dm_field *f, dm_dtype type, const dm_records *of,
                             int64_t count) {
  _Alignas(16) char between[GATHERED * 8];
  const dm_dtype stored = (dm_dtype)f->type;
  const int64_t size = dm_dtype_size(stored), to_size = dm_dtype_size(type);
  const bool wide = (stored == DM_I64 || stored == DM_U64) && !dm_dtype_is_integer(type);
  const int64_t wanted = dm_min(count, GATHERED), rows = GATHERED / wanted;
  bool exact = true;
  for (int64_t r = 0; r < of->count; r += rows)
    for (int64_t c = 0; c < count; c += wanted) {
      const int64_t tall = dm_min(rows, of->count - r), across = dm_min(wanted, count - c);
      const char *at = of->from + r * of->apart + c * f->stride;
      if (across == 1)
        copy_apart(between, size, at, of->apart, tall, (size_t)size);
      else
        for (int64_t i = 0; i < tall; i++)
          copy_apart(between + i * across * size, size, at + i * of->apart, f->stride, across,
                     (size_t)size);
      if (f->swapped) dm_swap_bytes(between, stored, tall * across);
      if (wide) exact &= are_exact(stored, between, tall * across);
      dm_view part = dm_view_row_major(of->to + r * of->to_apart + c * to_size, type, tall, across);
      part.row_stride = of->to_apart / to_size;
      dm_copy(part, dm_view_row_major(between, stored, tall, across), false);
    }
  return exact;
}

bool dm_compound_gather(const dm_compound *r, dm_dtype type, const dm_records *records,
                        int64_t first, int64_t count) {
  const int64_t size = dm_dtype_size(type);
  int64_t before = 0;
  bool exact = true;
  for (int i = 0; i < r->count; before += r->field[i++].count) {
    const dm_field *f = &r->field[i];
    const int64_t low = dm_max(first, before), high = dm_min(first + count, before + f->count);
    if (low >= high) continue;
    dm_records of = *records;
    of.from += f->offset + (low - before) * f->stride;
    of.to += (low - first) * size;
    const bool plain = f->type == (int16_t)type && !f->swapped;
    if (plain && (f->stride == size || high == low + 1))
      copy_apart(of.to, of.to_apart, of.from, of.apart, of.count, (size_t)((high - low) * size));
    else
      exact &= gather_converted(f, type, &of, high - low);
  }
  return exact;
}
