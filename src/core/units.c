#include "core/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked.h"

static const char prefixes[] = "KMGT";

/* The factor of a suffix, in capitals or not, or 0 for an unknown one. */
static double units_factor_of(const char *suffix) {
  size_t length = strlen(suffix);
  if (length > 0 && toupper((unsigned char)suffix[length - 1]) == 'B') length--;
  if (length == 0) return 1.0;
  const char *at = strchr(prefixes, toupper((unsigned char)suffix[0]));
  if (!at || !*at) return 0.0;
  int power = (int)(at - prefixes) + 1;
  if (length == 1) return pow(1000.0, power);
  if (length == 2 && suffix[1] == 'i') return pow(1024.0, power);
  return 0.0;
}

bool dm_parse_count(const char *text, int64_t *value) {
  if (text[0] < '0' || text[0] > '9' || strpbrk(text, "xX")) return false; /* no sign, no hex */
  char *end;
  errno = 0;
  int64_t whole = strtoll(text, &end, 10);
  if (errno) return false;
  if (*end == '\0') {
    *value = whole;
    return true;
  }
  double number = strtod(text, &end), factor = units_factor_of(end);
  double product = number * factor;
  if (factor == 0.0 || !(product < 0x1p63) || product != floor(product)) return false;
  *value = (int64_t)product;
  return true;
}

dm_status dm_parse_range(const char *text, dm_status (*take)(void *context, int64_t number),
                         void *context) {
  char words[96];
  int64_t from, to, by;
  if (snprintf(words, sizeof words, "%s", text) >= (int)sizeof words)
    return dm_fail(DM_E_USAGE, "'%.20s...' is not a size", text);
  char *high = strchr(words, ':'), *step = strrchr(words, ':');
  if (!high) {
    if (!dm_parse_count(words, &from) || from < 1)
      return dm_hint(dm_fail(DM_E_USAGE, "'%s' is not a size", text),
                     "such as 8, 64KiB or 1MiB:64MiB:x4");
    return take(context, from);
  }
  const bool times = step[1] == 'x';
  const bool two = step != high;
  *high = *step = '\0';
  if (!two || !dm_parse_count(words, &from) || !dm_parse_count(high + 1, &to) ||
      !dm_parse_count(step + 1 + times, &by) || from < 1 || from > to || by < 1 + times)
    return dm_hint(dm_fail(DM_E_USAGE, "'%s' is not a range of sizes", text),
                   "LOW:HIGH:STEP or LOW:HIGH:xFACTOR, for example 128:4096:x2");
  while (from <= to) {
    DM_TRY(take(context, from));
    if (times ? dm_mul_overflows(from, by, &from) : dm_add_overflows(from, by, &from)) break;
  }
  return DM_OK;
}

bool dm_parse_real(const char *text, double *value) {
  char *end;
  errno = 0;
  double number = strtod(text, &end);
  if (end == text || *end || !isfinite(number)) return false;
  if (number == 0 && errno == ERANGE) return false; /* underflow */
  *value = number;
  return true;
}

/* "MM:SS", "HH:MM:SS" or "D-HH:MM:SS". */
static bool parse_clock(const char *text, double *seconds) {
  int d = 0, h = 0, m = 0, s = 0, read = -1;
  if (strchr(text, '-'))
    (void)sscanf(text, "%4d-%2d:%2d:%2d%n", &d, &h, &m, &s, &read);
  else if (strchr(text, ':') != strrchr(text, ':'))
    (void)sscanf(text, "%4d:%2d:%2d%n", &h, &m, &s, &read);
  else
    (void)sscanf(text, "%4d:%2d%n", &m, &s, &read);
  if (read < 0 || text[read] || strpbrk(text, " +") || strstr(text, "--") || strstr(text, ":-"))
    return false;
  *seconds = 86400.0 * d + 3600.0 * h + 60.0 * m + s;
  return true;
}

bool dm_parse_duration(const char *text, double *seconds) {
  static const char units[] = "dhms";
  static const double of[] = {86400, 3600, 60, 1};
  double sum = 0;
  int least = -1; /* units must descend, each at most once */
  if (strcmp(text, "0") == 0) {
    *seconds = 0;
    return true;
  }
  if (text[0] < '0' || text[0] > '9' || strpbrk(text, "xX")) return false;
  if (strchr(text, ':')) return parse_clock(text, seconds);
  while (*text) {
    char *end;
    double number = text[0] >= '0' && text[0] <= '9' ? strtod(text, &end) : -1;
    const char *unit = number < 0 || !*end ? NULL : strchr(units, *end);
    if (!unit || unit - units <= least) return false;
    least = (int)(unit - units);
    sum += number * of[least];
    text = end + 1;
  }
  if (!isfinite(sum)) return false;
  *seconds = sum;
  return true;
}

static char *format_scaled(double value, double base, const char *const *units, int count,
                           char text[32]) {
  int unit = 0;
  while (unit + 1 < count && fabs(value) >= base) {
    value /= base;
    unit++;
  }
  int digits = fabs(value) >= 100 ? 0 : fabs(value) >= 10 ? 1 : 2;
  snprintf(text, 32, "%.*f %s", digits, value, units[unit]);
  return text;
}

char *dm_format_bytes(int64_t bytes, char text[32]) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) {
    snprintf(text, 32, "%lld B", (long long)bytes);
    return text;
  }
  return format_scaled((double)bytes, 1024, units, 6, text);
}

char *dm_format_seconds(double seconds, char text[32]) {
  static const char *const units[] = {"ns", "us", "ms"};
  const double minute = 60, hour = 3600, day = 86400;
  if (seconds >= 2 * day)
    snprintf(text, 32, "%.1f d", seconds / day);
  else if (seconds >= hour)
    snprintf(text, 32, "%.1f h", seconds / hour);
  else if (seconds >= 10 * minute)
    snprintf(text, 32, "%.1f min", seconds / minute);
  else if (seconds == 0 || !(seconds < 1))
    snprintf(text, 32, "%.*f s", seconds < 100 ? 2 : 0, seconds);
  if (seconds == 0 || !(seconds < 1)) return text;
  return format_scaled(seconds * 1e9, 1000, units, 3, text);
}

char *dm_format_rate(double bytes_per_second, char text[32]) {
  static const char *const units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  return format_scaled(bytes_per_second, 1000, units, 5, text);
}

char *dm_format_flops(double flops_per_second, char text[32]) {
  static const char *const units[] = {"FLOP/s",  "kFLOP/s", "MFLOP/s",
                                      "GFLOP/s", "TFLOP/s", "PFLOP/s"};
  return format_scaled(flops_per_second, 1000, units, 6, text);
}

bool dm_next_word(const char **text, char between, char word[96]) {
  if (!*text) return false;
  const char *end = strchr(*text, between);
  const size_t length = end ? (size_t)(end - *text) : strlen(*text);
  snprintf(word, 96, "%.*s", length < 96 ? (int)length : 0, *text);
  *text = end ? end + 1 : NULL;
  return true;
}
