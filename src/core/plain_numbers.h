/* plain_numbers: lets the calling thread read and write numbers as C does ("0.5"), whatever locale
 * its program has set ("0,5"). Messages of the system are in English meanwhile. */
#ifndef DM_CORE_PLAIN_NUMBERS_H
#define DM_CORE_PLAIN_NUMBERS_H

#include <locale.h>

typedef struct dm_plain_numbers {
  locale_t plain, before;
} dm_plain_numbers;

/* Without memory for a locale the thread keeps its own. */
static inline void dm_plain_numbers_begin(dm_plain_numbers *numbers) {
  numbers->plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  numbers->before = numbers->plain ? uselocale(numbers->plain) : (locale_t)0;
}

static inline void dm_plain_numbers_end(dm_plain_numbers *numbers) {
  if (!numbers->plain) return;
  (void)uselocale(numbers->before);
  freelocale(numbers->plain);
}

#endif
