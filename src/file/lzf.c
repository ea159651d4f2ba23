/* LZF, h5py's fast compression filter. Packed data is a sequence of
 *
 *   000lllll              l + 1 literal bytes follow
 *   lllooooo oooooooo     copy l + 2 bytes, l from 1 to 6, from o + 1 bytes back in the output
 *   111ooooo llllllll oooooooo     the same with l + 9 bytes
 *
 * A copy may overlap its own output. */
#include <string.h>

#include "file/chunk_filter.h"

enum { LITERALS = 32, LONG_COPY = 7, LEAST_COPY = 2 };

static dm_status damaged(void) {
  return dm_fail(DM_E_INPUT, "a chunk cannot be unpacked: it is not valid LZF data");
}

dm_status dm_chunk_lzf(const void *data, int64_t *length, void *out, int64_t room) {
  const unsigned char *from = data, *const end = from + *length;
  unsigned char *const first = out, *to = out, *const limit = to + room;
  while (from < end) {
    const int control = *from++;
    if (control < LITERALS) {
      if (control + 1 > end - from || control + 1 > limit - to) return damaged();
      memcpy(to, from, (size_t)control + 1);
      from += control + 1;
      to += control + 1;
      continue;
    }
    int64_t count = control >> 5;
    if (count == LONG_COPY && from < end) count += *from++;
    count += LEAST_COPY;
    if (from == end) return damaged();
    const int64_t back = ((int64_t)(control & 31) << 8) + *from++ + 1;
    if (back > to - first || count > limit - to) return damaged();
    for (const unsigned char *old = to - back; count > 0; count--) *to++ = *old++;
  }
  *length = to - first;
  return DM_OK;
}
