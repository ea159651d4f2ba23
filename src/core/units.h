/* units: numbers with units, read from and written for people. */
#ifndef DM_CORE_UNITS_H
#define DM_CORE_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/status.h"

/* A whole number >= 0 with an optional suffix k, M, G, T (powers of 1000) or Ki, Mi, Gi, Ti (1024);
 * a "B" may follow.  "4k", "1.5G" and "8GiB" are numbers; false for anything else or an overflow.
 */
bool dm_parse_count(const char *text, int64_t *value);

/* The next word of *TEXT, which has BETWEEN between its words, cut off at 95 bytes; *TEXT goes on
 * behind it.  False at the end, where *TEXT is NULL. */
bool dm_next_word(const char **text, char between, char word[96]);

/* TEXT, "N", "LOW:HIGH:STEP" or "LOW:HIGH:xFACTOR", of numbers > 0: TAKE is called with each.
 * DM_E_USAGE where it is neither, or a range that has no numbers or no end. */
dm_status dm_parse_range(const char *text, dm_status (*take)(void *context, int64_t number),
                         void *context);

/* A finite number; the whole text must be one. */
bool dm_parse_real(const char *text, double *value);

/* Seconds from "90s", "30m", "2h", "1d", "1h30m", or as Slurm writes them, "[D-]HH:MM:SS" and
 * "MM:SS"; "0" is 0.  False for anything else: a bare number does not say of what. */
bool dm_parse_duration(const char *text, double *seconds);

/* "1.50 GiB", "812 B"; into the caller's TEXT of 32 chars, which is returned. */
char *dm_format_bytes(int64_t bytes, char text[32]);

/* "1.24 s", "830 ms", "12 us". */
char *dm_format_seconds(double seconds, char text[32]);

/* "9.81 GB/s". */
char *dm_format_rate(double bytes_per_second, char text[32]);

/* "64.7 TFLOP/s", "51.2 GFLOP/s". */
char *dm_format_flops(double flops_per_second, char text[32]);

#endif
