/* Bytes that show whether long messages arrive whole and in order; written and compared as fast as
 * memory. */
#ifndef RANKS_LARGE_PATTERN_H
#define RANKS_LARGE_PATTERN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Byte i is i / 4096 * 7 + i + SHIFT. Writes bytes BEGIN to END of DATA if WRITES, else compares
 * them: whether all are right. */
static inline bool pattern(unsigned char *data, int64_t begin, int64_t end, int shift,
                           bool writes) {
  enum { PAGE = 4096 };
  unsigned char ramp[PAGE + 256];
  for (int i = 0; i < PAGE + 256; i++) ramp[i] = (unsigned char)i;
  bool right = true;
  for (int64_t i = begin, count; i < end; i += count) {
    const unsigned char *page = ramp + ((i / PAGE * 7 + shift) & 255) + i % PAGE;
    count = PAGE - i % PAGE < end - i ? PAGE - i % PAGE : end - i;
    if (writes)
      memcpy(data + i, page, (size_t)count);
    else
      right &= memcmp(data + i, page, (size_t)count) == 0;
  }
  return right;
}

#endif
