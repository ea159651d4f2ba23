/* The functions that parse the values of options. */
#include "options/value.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/compute.h"
#include "core/status.h"
#include "core/suggest.h"
#include "core/units.h"
#include "plan/machine.h"
#include "reduce/reduction.h"

bool dm_value_is_flag(const dm_value *value) {
  return value->set == dm_value_set_flag;
}

char *dm_value_choices(const dm_value *value, char text[128]) {
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; value->choices && value->choices[i] && used < 128; i++)
    used += (size_t)snprintf(text + used, 128 - used, "%s%s", i ? "|" : "", value->choices[i]);
  return text;
}

/* ---- setters: parse the text of a value and store it in the settings, one function per kind of
 * value ---- */

static void *value_place(const dm_value *value, void *settings) {
  return (char *)settings + value->at;
}

static bool is_one_of(const char *text, const char *const *names) {
  for (int i = 0; names[i]; i++)
    if (strcmp(text, names[i]) == 0) return true;
  return false;
}

dm_status dm_value_set_flag(const dm_value *value, const char *text, void *settings) {
  static const char *const yes[] = {"1", "yes", "true", "on", NULL};
  static const char *const no[] = {"0", "no", "false", "off", NULL};
  bool *flag = value_place(value, settings);
  if (!text || is_one_of(text, yes))
    *flag = true;
  else if (is_one_of(text, no))
    *flag = false;
  else
    return dm_fail(DM_E_USAGE, "'%s' is not yes or no", text);
  return DM_OK;
}

static bool value_choose(const dm_value *value, const char *text, void *settings) {
  for (int i = 0; value->choices[i]; i++) {
    if (strcasecmp(text, value->choices[i]) != 0) continue;
    *(int *)value_place(value, settings) = i;
    return true;
  }
  return false;
}

/* Names that other programs use for a choice. */
static const char *const synonyms[][2] = {{"float64", "f64"},
                                          {"double", "f64"},
                                          {"fp64", "f64"},
                                          {"float32", "f32"},
                                          {"float", "f32"},
                                          {"single", "f32"},
                                          {"fp32", "f32"},
                                          {"float16", "f16"},
                                          {"half", "f16"},
                                          {"fp16", "f16"},
                                          {"bfloat16", "bf16"},
                                          {"complex64", "c64"},
                                          {"complex128", "c128"},
                                          {"int8", "i8"},
                                          {"int32", "i32"},
                                          {"trans", "t"},
                                          {"transpose", "t"},
                                          {"h", "c"},
                                          {"gpu", "cuda"},
                                          {"listwise", "complete"},
                                          {"dropna", "complete"},
                                          {"complete.obs", "complete"},
                                          {"pairwise.complete.obs", "pairwise"}};

enum { SYNONYMS = sizeof synonyms / sizeof synonyms[0], NAMES = 64 };

static const char *value_synonym_of(const char *text) {
  for (size_t i = 0; i < SYNONYMS; i++)
    if (strcasecmp(text, synonyms[i][0]) == 0) return synonyms[i][1];
  return text;
}

/* STATUS with the choice that TEXT, or a synonym like it, was probably meant to be. */
static dm_status suggest_choice(dm_status status, const char *text, const char *const *choices) {
  const char *names[NAMES];
  int count = 0;
  if (strlen(text) < 2) return status;
  for (int i = 0; choices[i] && count < NAMES; i++) names[count++] = choices[i];
  for (size_t i = 0; i < SYNONYMS && count < NAMES; i++)
    if (is_one_of(synonyms[i][1], choices)) names[count++] = synonyms[i][0];
  const int nearest = dm_closest(text, names, count);
  return nearest < 0 ? status
                     : dm_hint(status, "did you mean '%s'?", value_synonym_of(names[nearest]));
}

dm_status dm_value_set_choice(const dm_value *value, const char *text, void *settings) {
  char all[128];
  if (value_choose(value, text, settings) || value_choose(value, value_synonym_of(text), settings))
    return DM_OK;
  dm_status status =
      dm_fail(DM_E_USAGE, "'%s' is not one of %s", text, dm_value_choices(value, all));
  return suggest_choice(status, text, value->choices);
}

/* "i64", the last one, is no neighbour of the others in dm_dtype. */
dm_status dm_value_set_type(const dm_value *value, const char *text, void *settings) {
  int *type = value_place(value, settings);
  DM_TRY(dm_value_set_choice(value, text, settings));
  if (*type == DM_DTYPE_NONE) *type = DM_I64;
  return DM_OK;
}

/* One of the choices, or several, separated by commas; choice I is number DM_REDUCE_MAX + I - 1. */
dm_status dm_value_set_reductions(const dm_value *value, const char *text, void *settings) {
  int *reduce = value_place(value, settings), all = 0;
  for (const char *at = text; at;) {
    char word[DM_VALUE_TEXT];
    const char *comma = strchr(at, ',');
    const int length = comma ? (int)(comma - at) : (int)strlen(at);
    snprintf(word, sizeof word, "%.*s", length, at);
    DM_TRY(dm_value_set_choice(value, word, settings));
    if (*reduce > 0) all |= 1 << (DM_REDUCE_MAX + *reduce - 1);
    at = comma ? comma + 1 : NULL;
  }
  *reduce = all;
  return DM_OK;
}

/* One of the choices; after "rbf" its gamma. */
dm_status dm_value_set_metric(const dm_value *value, const char *text, void *settings) {
  static const char rbf[] = "rbf";
  dm_line_distance *metric = value_place(value, settings);
  memset(metric, 0, sizeof *metric);
  if (strncasecmp(text, rbf, sizeof rbf - 1) != 0 || (text[3] && text[3] != ':'))
    return dm_value_set_choice(value, text, settings);
  metric->kind = DM_RBF;
  if (text[3] && dm_parse_real(text + 4, &metric->gamma) && metric->gamma > 0.0) return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "'%s' has no gamma that is a number above 0", text),
                 "an element is exp(-gamma d^2) of a distance d, for example with rbf:0.5");
}

dm_status dm_value_set_compute(const dm_value *value, const char *text, void *settings) {
  if (dm_compute_parse(text, (dm_compute_choice *)value_place(value, settings))) return DM_OK;
  if (strchr(text, ':'))
    return dm_hint(
        dm_fail(DM_E_USAGE, "'%s' is not a compute mode", text),
        "a number of moduli may follow: f64:int8:8 to f64:int8:20, f32:int8:4 to f32:int8:20");
  return dm_value_set_choice(value, text, settings);
}

dm_status dm_value_set_count(const dm_value *value, const char *text, void *settings) {
  int64_t number = 0;
  const bool below = text[0] == '-' && dm_parse_count(text + 1, &number);
  if (!below && !dm_parse_count(text, &number))
    return dm_hint(dm_fail(DM_E_USAGE, "'%s' is not a whole number", text),
                   "k, M, G, T are powers of 1000, Ki, Mi, Gi, Ti of 1024");
  if (below || number < value->least)
    return dm_fail(DM_E_USAGE, "%s is less than %lld", text, (long long)value->least);
  *(int64_t *)value_place(value, settings) = number;
  return DM_OK;
}

/* 64 bits, in decimal or, as reports state it, in hexadecimal. */
dm_status dm_value_set_seed(const dm_value *value, const char *text, void *settings) {
  const bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  const char *digits = hex ? text + 2 : text;
  char *end = NULL;
  errno = 0;
  const unsigned long long number =
      isxdigit((unsigned char)digits[0]) ? strtoull(digits, &end, hex ? 16 : 10) : 0;
  if (!end || end == digits || *end || errno == ERANGE)
    return dm_fail(DM_E_USAGE, "'%s' is not a whole number of 64 bits", text);
  *(uint64_t *)value_place(value, settings) = number;
  return DM_OK;
}

dm_status dm_value_set_real(const dm_value *value, const char *text, void *settings) {
  if (!dm_parse_real(text, value_place(value, settings)))
    return dm_fail(DM_E_USAGE, "'%s' is not a number within the range of f64", text);
  return DM_OK;
}

/* "80" and "80%" are 0.8. */
dm_status dm_value_set_percent(const dm_value *value, const char *text, void *settings) {
  char number[64];
  double percent;
  snprintf(number, sizeof number, "%s", text);
  const size_t length = strlen(number);
  if (length > 1 && number[length - 1] == '%') number[length - 1] = '\0';
  if (strlen(text) >= sizeof number || !dm_parse_real(number, &percent) || percent <= 0 ||
      percent > 100)
    return dm_fail(DM_E_USAGE, "'%s' is not a percentage such as 80%%", text);
  *(double *)value_place(value, settings) = percent / 100;
  return DM_OK;
}

dm_status dm_value_set_duration(const dm_value *value, const char *text, void *settings) {
  double seconds;
  if (!dm_parse_duration(text, &seconds))
    return dm_hint(dm_fail(DM_E_USAGE, "'%s' is not a time", text),
                   "for example 90s, 30m, 1h30m, 1d, or 1:30:00");
  if (seconds < (double)value->least && (seconds > 0 || !value->zero_is_off))
    return dm_fail(DM_E_USAGE, "%s is less than %lld s", text, (long long)value->least);
  *(double *)value_place(value, settings) = seconds;
  return DM_OK;
}

dm_status dm_value_set_complex(const dm_value *value, const char *text, void *settings) {
  char real[DM_VALUE_TEXT];
  double parts[2] = {0.0, 0.0};
  const char *comma = strchr(text, ',');
  const size_t length = comma ? (size_t)(comma - text) : strlen(text);
  if (length >= sizeof real)
    return dm_fail(DM_E_USAGE, "'%.20s...' is a number of more than %zu characters", text,
                   sizeof real - 1);
  memcpy(real, text, length);
  real[length] = '\0';
  if (!dm_parse_real(real, &parts[0]) || (comma && !dm_parse_real(comma + 1, &parts[1])))
    return dm_fail(DM_E_USAGE, "'%s' is not a number RE or RE,IM within the range of f64", text);
  memcpy(value_place(value, settings), parts, sizeof parts);
  return DM_OK;
}

dm_status dm_value_copy(const char *text, char *to, size_t room) {
  if (text[0] == '\0') return dm_fail(DM_E_USAGE, "the value is empty");
  if (strlen(text) >= room)
    return dm_fail(DM_E_USAGE, "the value is longer than %zu characters", room - 1);
  memset(to, 0, room); /* settings are compared as memory */
  memcpy(to, text, strlen(text));
  return DM_OK;
}

dm_status dm_value_set_text(const dm_value *value, const char *text, void *settings) {
  return dm_value_copy(text, value_place(value, settings), value->room);
}

/* Words that describe a machine; "@FILE" stands for those in the file. */
dm_status dm_value_set_machine(const dm_value *value, const char *text, void *settings) {
  char *words = value_place(value, settings);
  dm_machine unused;
  DM_TRY(dm_value_set_text(value, text, settings));
  if (text[0] == '@') {
    FILE *file = fopen(text + 1, "r");
    if (!file) return dm_fail(DM_E_IO, "%s: %s", text + 1, strerror(errno));
    const size_t length = fread(words, 1, value->room, file);
    const bool failed = ferror(file) != 0;
    fclose(file);
    if (failed) return dm_fail(DM_E_IO, "%s cannot be read", text + 1);
    if (length == value->room)
      return dm_fail(DM_E_USAGE, "%s is longer than %zu bytes", text + 1, value->room - 1);
    memset(words + length, 0, value->room - length);
  }
  return dm_machine_parse(words, &unused);
}

/* A number or "nan", kept as text: a whole one of 64 bits stays exact. */
dm_status dm_value_set_number_text(const dm_value *value, const char *text, void *settings) {
  double number;
  if (strcasecmp(text, "nan") != 0 && !dm_parse_real(text, &number))
    return dm_fail(DM_E_USAGE, "'%s' is not a number within the range of f64, nor nan", text);
  return dm_value_set_text(value, text, settings);
}

dm_status dm_value_location(const char *text, dm_location *location) {
  DM_TRY(dm_location_parse(text, location));
  if (strcmp(location->file, "-") != 0) return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "a matrix cannot pass through standard input or output"),
                 "name a file; ./- is a file called '-'");
}

/* One of the choices, or a location, of numbers of the columns; "rows:LOCATION": of the rows. */
dm_status dm_value_set_lines(const dm_value *value, const char *text, void *settings) {
  dm_lines_choice *to = value_place(value, settings);
  memset(to, 0, sizeof *to);
  if (value_choose(value, text, settings)) return DM_OK;
  if (!strpbrk(text, "./:")) return dm_value_set_choice(value, text, settings);
  const bool rows = strncmp(text, "rows:", 5) == 0, columns = strncmp(text, "columns:", 8) == 0;
  to->lines = (int)(rows ? DM_ROW_LINES : DM_COLUMN_LINES);
  return dm_value_location(text + (rows ? 5 : columns ? 8 : 0), &to->by);
}

dm_status dm_value_set_location(const dm_value *value, const char *text, void *settings) {
  return dm_value_location(text, value_place(value, settings));
}

dm_status dm_value_set_grid(const dm_value *value, const char *text, void *settings) {
  int64_t *grid = value_place(value, settings);
  long p[3] = {0, 0, 1};
  int two = 0, three = 0;
  if (strcmp(text, "auto") == 0) {
    memset(grid, 0, sizeof p);
    return DM_OK;
  }
  (void)sscanf(text, "%7ldx%7ld%nx%7ld%n", &p[0], &p[1], &two, &p[2], &three);
  const int read = three ? three : two;
  if (read == 0 || text[read] || p[0] < 1 || p[1] < 1 || p[2] < 1)
    return dm_hint(dm_fail(DM_E_USAGE, "'%s' is not a grid PMxPN or PMxPNxPK", text),
                   "for example 2x2x1, or auto");
  for (int i = 0; i < 3; i++) grid[i] = p[i];
  return DM_OK;
}

dm_status dm_value_set_chunk(const dm_value *value, const char *text, void *settings) {
  int64_t *chunk = value_place(value, settings);
  char rows[32];
  const char *times = strchr(text, 'x');
  snprintf(rows, sizeof rows, "%.*s", times ? (int)(times - text) : 0, text);
  if (!times || times - text >= (long)sizeof rows || !dm_parse_count(rows, &chunk[0]) ||
      !dm_parse_count(times + 1, &chunk[1]) || chunk[0] < 1 || chunk[1] < 1)
    return dm_hint(dm_fail(DM_E_USAGE, "'%s' is not a chunk ROWSxCOLS", text),
                   "for example 256x512");
  return DM_OK;
}

/* ROWSxCOLS, row after row, or ROWSxCOLS,columns. */
dm_status dm_value_set_shape(const dm_value *value, const char *text, void *settings) {
  dm_fold *fold = value_place(value, settings);
  char rows[32], cols[32];
  const char *times = strchr(text, 'x'), *comma = times ? strchr(times, ',') : NULL;
  const char *end = comma ? comma : text + strlen(text);
  dm_fold f = {.way = !comma || strcmp(comma, ",rows") == 0 ? DM_FOLD_ROWS
                      : strcmp(comma, ",columns") == 0      ? DM_FOLD_COLUMNS
                                                            : DM_NOT_FOLDED};
  snprintf(rows, sizeof rows, "%.*s", times ? (int)(times - text) : 0, text);
  snprintf(cols, sizeof cols, "%.*s", times ? (int)(end - times - 1) : 0, times ? times + 1 : "");
  if (!times || times - text >= (long)sizeof rows || end - times > (long)sizeof cols ||
      !dm_parse_count(rows, &f.rows) || !dm_parse_count(cols, &f.cols) || f.rows < 1 ||
      f.cols < 1 || f.way == DM_NOT_FOLDED)
    return dm_hint(dm_fail(DM_E_USAGE, "'%s' is not a shape ROWSxCOLS", text),
                   "for example 300x400, for numbers that are stored row after row, or "
                   "300x400,columns");
  *fold = f;
  return DM_OK;
}

dm_status dm_value_set_packed(const dm_value *value, const char *text, void *settings) {
  dm_fold *fold = value_place(value, settings);
  if (strcmp(text, "lower") != 0 && strcmp(text, "upper") != 0)
    return dm_hint(dm_fail(DM_E_USAGE, "'%s' is not a triangle", text), "lower or upper");
  *fold = (dm_fold){.way = text[0] == 'l' ? DM_FOLD_LOWER : DM_FOLD_UPPER};
  return DM_OK;
}

dm_status dm_value_set_level(const dm_value *value, const char *text, void *settings) {
  int64_t level;
  if (!dm_parse_count(text, &level) || level < 1 || level > 9)
    return dm_fail(DM_E_USAGE, "'%s' is not a level from 1 (fastest) to 9 (smallest)", text);
  *(int64_t *)value_place(value, settings) = level;
  return DM_OK;
}

/* Parses at most MOST ascending multiples of 64, separated by commas; returns their number, or
 * 0. */
static int parse_widths(const char *text, int most, int64_t widths[]) {
  for (int count = 0; count < most; count++) {
    const size_t length = strcspn(text, ",");
    char width[32];
    snprintf(width, sizeof width, "%.*s", (int)dm_min((int64_t)length, 31), text);
    if (length >= sizeof width || !dm_parse_count(width, &widths[count]) || widths[count] < 1 ||
        widths[count] % 64 || (count > 0 && widths[count] <= widths[count - 1]))
      return 0;
    if (!text[length]) return count + 1;
    text += length + 1;
  }
  return 0;
}

dm_status dm_value_set_panel(const dm_value *value, const char *text, void *settings) {
  int64_t *panel = value_place(value, settings), widths[1 + DM_RAMP];
  memset(panel, 0, sizeof widths);
  if (strcmp(text, "auto") == 0) return DM_OK;
  const int count = parse_widths(text, 1 + DM_RAMP, widths);
  if (count == 0)
    return dm_hint(dm_fail(DM_E_USAGE, "'%s' is not a width of panels", text),
                   "give auto, a multiple of 64, or up to three: ramp-up panels, then the others, "
                   "as in 512,4096");
  panel[0] = widths[count - 1];
  memcpy(panel + 1, widths, (size_t)(count - 1) * sizeof *widths);
  return DM_OK;
}

dm_status dm_value_set_memory(const dm_value *value, const char *text, void *settings) {
  static const char *const keys[] = {"host=", "device="};
  int64_t memory[2] = {0, 0};
  for (const char *at = text; *at;) {
    int key = strncmp(at, keys[0], 5) == 0 ? 0 : strncmp(at, keys[1], 7) == 0 ? 1 : -1;
    char size[32];
    const char *stated = key < 0 ? at : at + strlen(keys[key]);
    if (at == text && *at >= '0' && *at <= '9') key = 0; /* a size alone is the host's */
    size_t length = strcspn(stated, ",");
    snprintf(size, sizeof size, "%.*s", (int)dm_min((int64_t)length, 31), stated);
    if (key < 0 || length >= sizeof size || !dm_parse_count(size, &memory[key]) || memory[key] == 0)
      return dm_hint(dm_fail(DM_E_USAGE, "'%s' is not host=SIZE,device=SIZE", text),
                     "for example 8GiB of the host, or host=8GiB,device=40GiB");
    at = stated + length + (stated[length] == ',');
  }
  memcpy(value_place(value, settings), memory, sizeof memory);
  return DM_OK;
}
