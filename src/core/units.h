/* units: parses and formats numbers with units. */
#ifndef DM_CORE_UNITS_H
#define DM_CORE_UNITS_H

#include <locale.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/status.h"

/* A whole number >= 0 with an optional suffix k, M, G, T (powers of 1000) or Ki, Mi, Gi, Ti (1024),
 * and an optional "B": "4k", "1.5G", "8GiB". False for anything else or on overflow. */
bool dm_parse_count(const char *text, int64_t *value);

/* Copies the next word of *TEXT to WORD; BETWEEN separates words. A word of more than 95 bytes is
 * left out: WORD is empty. Advances *TEXT; after the last word it is NULL, and the result false. */
bool dm_next_word(const char **text, char between, char word[96]);

/* Parses "N", "LOW:HIGH:STEP" or "LOW:HIGH:xFACTOR" of numbers > 0 and calls TAKE with each number.
 * DM_E_USAGE if TEXT has another form or its range is empty or infinite. */
dm_status dm_parse_range(const char *text, dm_status (*take)(void *context, int64_t number),
                         void *context);

/* A finite number; TEXT must contain nothing else. */
bool dm_parse_real(const char *text, double *value);

/* Seconds from "90s", "30m", "2h", "1d", "1h30m", or in Slurm's format "[D-]HH:MM:SS" or "MM:SS";
 * "0" is 0. False for anything else: a bare number has no unit. */
bool dm_parse_duration(const char *text, double *seconds);

/* "1.50 GiB", "812 B"; writes and returns TEXT. */
char *dm_format_bytes(int64_t bytes, char text[32]);

/* "1.24 s", "830 ms", "12 us". */
char *dm_format_seconds(double seconds, char text[32]);

/* "9.81 GB/s". */
char *dm_format_rate(double bytes_per_second, char text[32]);

/* "64.7 TFLOP/s", "51.2 GFLOP/s". */
char *dm_format_flops(double flops_per_second, char text[32]);

/* Lets the calling thread read and write numbers as C does ("0.5"), whatever locale its
 * program has set ("0,5"). Messages of the system are in English meanwhile. */
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
