/* The table of the options of products, and the functions that parse their values. */
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
static dm_status set_type(const dm_value *value, const char *text, void *settings) {
  int *type = value_place(value, settings);
  DM_TRY(dm_value_set_choice(value, text, settings));
  if (*type == DM_DTYPE_NONE) *type = DM_I64;
  return DM_OK;
}

/* One of the choices, or several, separated by commas; choice I is number DM_REDUCE_MAX + I - 1. */
static dm_status set_reductions(const dm_value *value, const char *text, void *settings) {
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
static dm_status set_metric(const dm_value *value, const char *text, void *settings) {
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

static dm_status set_compute(const dm_value *value, const char *text, void *settings) {
  if (dm_compute_parse(text, (dm_compute_choice *)value_place(value, settings))) return DM_OK;
  if (strchr(text, ':'))
    return dm_hint(
        dm_fail(DM_E_USAGE, "'%s' is not a compute mode", text),
        "a number of moduli may follow: f64:int8:8 to f64:int8:20, f32:int8:4 to f32:int8:20");
  return dm_value_set_choice(value, text, settings);
}

dm_status dm_value_set_count(const dm_value *value, const char *text, void *settings) {
  int64_t number = 0;
  if (!dm_parse_count(text, &number))
    return dm_hint(dm_fail(DM_E_USAGE, "'%s' is not a whole number", text),
                   "k, M, G, T are powers of 1000, Ki, Mi, Gi, Ti of 1024");
  if (number < value->least)
    return dm_fail(DM_E_USAGE, "%s is less than %lld", text, (long long)value->least);
  *(int64_t *)value_place(value, settings) = number;
  return DM_OK;
}

/* 64 bits, in decimal or, as reports state it, in hexadecimal. */
static dm_status set_seed(const dm_value *value, const char *text, void *settings) {
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

static dm_status set_complex(const dm_value *value, const char *text, void *settings) {
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
static dm_status set_machine(const dm_value *value, const char *text, void *settings) {
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
static dm_status set_number_text(const dm_value *value, const char *text, void *settings) {
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
static dm_status value_set_lines(const dm_value *value, const char *text, void *settings) {
  dm_lines_choice *to = value_place(value, settings);
  memset(to, 0, sizeof *to);
  if (value_choose(value, text, settings)) return DM_OK;
  if (!strpbrk(text, "./:")) return dm_value_set_choice(value, text, settings);
  const bool rows = strncmp(text, "rows:", 5) == 0, columns = strncmp(text, "columns:", 8) == 0;
  to->lines = (int)(rows ? DM_ROW_LINES : DM_COLUMN_LINES);
  return dm_value_location(text + (rows ? 5 : columns ? 8 : 0), &to->by);
}

static dm_status set_location(const dm_value *value, const char *text, void *settings) {
  return dm_value_location(text, value_place(value, settings));
}

static dm_status set_grid(const dm_value *value, const char *text, void *settings) {
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

static dm_status set_chunk(const dm_value *value, const char *text, void *settings) {
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
static dm_status set_shape(const dm_value *value, const char *text, void *settings) {
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

static dm_status set_packed(const dm_value *value, const char *text, void *settings) {
  dm_fold *fold = value_place(value, settings);
  if (strcmp(text, "lower") != 0 && strcmp(text, "upper") != 0)
    return dm_hint(dm_fail(DM_E_USAGE, "'%s' is not a triangle", text), "lower or upper");
  *fold = (dm_fold){.way = text[0] == 'l' ? DM_FOLD_LOWER : DM_FOLD_UPPER};
  return DM_OK;
}

static dm_status set_level(const dm_value *value, const char *text, void *settings) {
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

static dm_status set_panel(const dm_value *value, const char *text, void *settings) {
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

static dm_status set_memory(const dm_value *value, const char *text, void *settings) {
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

/* ---- the options of products: name, parser, place, default ----
 *
 * Programs add words for people (cli/option_table.c); the library has nothing but this. */

#define VALUE_AT(field)                                                                            \
  .at = offsetof(dm_settings, field), .room = sizeof(((dm_settings *)0)->field)

/* Each list is in the order of the enum that it stands for. */
static const char *const ops[] = {"n", "t", "c", NULL};
static const char *const value_types[] = {"f64",  "f32", "f16", "bf16", "c64",
                                          "c128", "i8",  "i32", "i64",  NULL};
static const char *const value_accumulate[] = {"auto", "f32", "fast", NULL};
static const char *const backends[] = {"auto", "cpu", "cuda", NULL};
static const char *const transports[] = {"auto", "self", "host",     "shared",
                                         "ipc",  "nccl", "ipc+nccl", NULL};
static const char *const read_ways[] = {"auto", "pread", NULL};
static const char *const value_ways[] = {"pwrite", "mapped", "auto", NULL};
static const char *const reactions[] = {"repair", "stop", "warn", NULL};
static const char *const value_modes[] = {"auto", "always", "never", NULL};
static const char *const value_missing[] = {"refuse",   "nan",      "zero", "mean",
                                            "pairwise", "complete", NULL};
static const char *const value_lines[] = {"none", "columns", "rows", NULL};
static const char *const metrics[] = {"none",        "cosine",    "euclidean",
                                      "sqeuclidean", "rbf:GAMMA", NULL};
static const char *const divisors[] = {"1", "n", "n-1", NULL};
static const char *const halves[] = {"both", "lower", "upper", NULL};
static const char *const value_reductions[] = {"none", "max",  "min",   "argmax",   "argmin", "sum",
                                               "mean", "norm", "count", "diagonal", NULL};
static const char *const value_each[] = {"row", "column", NULL};
static const char *const orders[] = {"value", "abs", "smallest", NULL};
static const char *const methods[] = {"auto", "gram", "passes", NULL};
static const char *const weights_are[] = {"reliability", "frequency", NULL};
static const char *const value_stack[] = {"rows", "columns", NULL};
static const char *const complex_axes[] = {"auto", "last", "first", "none", NULL};

/* clang-format off */
const dm_value dm_values[] = {
    {"output", set_location, VALUE_AT(output), .programs_only = true},
    {"c", set_location, VALUE_AT(old_c)},
    {"force", dm_value_set_flag, VALUE_AT(force)},
    {"append", dm_value_set_flag, VALUE_AT(append)},
    {"if-needed", dm_value_set_flag, VALUE_AT(if_needed), .programs_only = true},
    {"chunk", set_chunk, VALUE_AT(chunk)},
    {"deflate", set_level, VALUE_AT(deflate)},
    {"zstd", dm_value_set_count, VALUE_AT(zstd), .least = 1},
    {"shuffle", dm_value_set_flag, VALUE_AT(shuffle)},
    {"op-a", dm_value_set_choice, VALUE_AT(op_a), .initial = "n", .choices = ops},
    {"op-b", dm_value_set_choice, VALUE_AT(op_b), .initial = "n", .choices = ops},
    {"center-a", value_set_lines, VALUE_AT(center[0]), .initial = "none", .choices = value_lines},
    {"center-b", value_set_lines, VALUE_AT(center[1]), .initial = "none", .choices = value_lines},
    {"scale-a", value_set_lines, VALUE_AT(scale[0]), .initial = "none", .choices = value_lines},
    {"scale-b", value_set_lines, VALUE_AT(scale[1]), .initial = "none", .choices = value_lines},
    {"weights", set_location, VALUE_AT(weights)},
    {"weights-are", dm_value_set_choice, VALUE_AT(weights_are), .initial = "reliability", .choices = weights_are},
    {"center", dm_value_set_flag, VALUE_AT(center_x)},
    {"scale", dm_value_set_flag, VALUE_AT(scale_x)},
    {"metric", set_metric, VALUE_AT(metric), .initial = "none", .choices = metrics},
    {"grm", dm_value_set_flag, VALUE_AT(grm)},
    {"nonfounders", dm_value_set_flag, VALUE_AT(nonfounders)},
    {"divide", dm_value_set_choice, VALUE_AT(divide), .choices = divisors},
    {"triangle", dm_value_set_choice, VALUE_AT(half), .initial = "both", .choices = halves},
    {"top", dm_value_set_count, VALUE_AT(top), .least = 1},
    {"above", dm_value_set_real, VALUE_AT(above)},
    {"below", dm_value_set_real, VALUE_AT(below)},
    {"reduce", set_reductions, VALUE_AT(reduce), .initial = "none", .choices = value_reductions},
    {"each", dm_value_set_choice, VALUE_AT(each), .initial = "row", .choices = value_each},
    {"by", dm_value_set_choice, VALUE_AT(by), .initial = "value", .choices = orders},
    {"no-self", dm_value_set_flag, VALUE_AT(no_self)},
    {"max-elements", dm_value_set_count, VALUE_AT(max_elements), .least = 1},
    {"rank", dm_value_set_count, VALUE_AT(rank), .least = 1},
    {"method", dm_value_set_choice, VALUE_AT(method), .initial = "auto", .choices = methods},
    {"passes", dm_value_set_count, VALUE_AT(passes), .initial = "20", .least = 1},
    {"oversampling", dm_value_set_count, VALUE_AT(oversampling), .initial = "10"},
    {"tolerance", dm_value_set_real, VALUE_AT(tolerance), .initial = "1e-5"},
    {"seed", dm_value_set_count, VALUE_AT(seed), .initial = "1"},
    {"scores", set_location, VALUE_AT(scores)},
    {"as-column", dm_value_set_flag, VALUE_AT(as_column)},
    {"as-row", dm_value_set_flag, VALUE_AT(as_row)},
    {"row-axes-a", dm_value_set_count, VALUE_AT(row_axes[0]), .least = 1},
    {"row-axes-b", dm_value_set_count, VALUE_AT(row_axes[1]), .least = 1},
    {"shape-a", set_shape, VALUE_AT(fold[0])},
    {"shape-b", set_shape, VALUE_AT(fold[1])},
    {"packed-a", set_packed, VALUE_AT(fold[0])},
    {"packed-b", set_packed, VALUE_AT(fold[1])},
    {"complex-axis", dm_value_set_choice, VALUE_AT(complex_axis), .initial = "auto", .choices = complex_axes},
    {"complex-axis-a", dm_value_set_choice, VALUE_AT(complex_axes[0]), .initial = "auto", .choices = complex_axes},
    {"complex-axis-b", dm_value_set_choice, VALUE_AT(complex_axes[1]), .initial = "auto", .choices = complex_axes},
    {"batch", dm_value_set_count, VALUE_AT(batch), .initial = "1", .least = 1},
    {"stack", dm_value_set_choice, VALUE_AT(stack), .initial = "rows", .choices = value_stack},
    {"alpha", set_complex, VALUE_AT(alpha), .initial = "1"},
    {"beta", set_complex, VALUE_AT(beta), .initial = "0"},
    {"type", set_type, VALUE_AT(type), .choices = value_types},
    {"missing", dm_value_set_choice, VALUE_AT(missing), .initial = "refuse", .choices = value_missing},
    {"missing-value", set_number_text, VALUE_AT(missing_value)},
    {"raw", dm_value_set_flag, VALUE_AT(raw)},
    {"allow-rounding", dm_value_set_flag, VALUE_AT(rounding)},
    {"strict-types", dm_value_set_flag, VALUE_AT(strict_types)},
    {"type-c", set_type, VALUE_AT(type_c), .choices = value_types},
    {"compute", set_compute, VALUE_AT(compute), .initial = "auto", .choices = dm_compute_names},
    {"accumulate", dm_value_set_choice, VALUE_AT(accumulate), .initial = "auto", .choices = value_accumulate},
    {"full", dm_value_set_flag, VALUE_AT(full)},
    {"machine", set_machine, VALUE_AT(machine)},
    {"grid", set_grid, VALUE_AT(grid), .initial = "auto"},
    {"panel", set_panel, VALUE_AT(panel), .initial = "auto"},
    {"backend", dm_value_set_choice, VALUE_AT(backend), .initial = "auto", .choices = backends},
    {"kernel", dm_value_set_text, VALUE_AT(kernel), .initial = "auto"},
    {"transport", dm_value_set_choice, VALUE_AT(transport), .initial = "auto", .choices = transports},
    {"pretend-nodes", dm_value_set_count, VALUE_AT(pretend_nodes), .initial = "1", .least = 1, .programs_only = true},
    {"threads", dm_value_set_count, VALUE_AT(threads), .least = 1},
    {"io-threads", dm_value_set_count, VALUE_AT(io_threads)},
    {"read-by", dm_value_set_choice, VALUE_AT(read_by), .initial = "auto", .choices = read_ways, .programs_only = true},
    {"write-by", dm_value_set_choice, VALUE_AT(write_by), .initial = "auto", .choices = value_ways},
    {"memory", set_memory, VALUE_AT(memory)},
    {"reproducible", dm_value_set_flag, VALUE_AT(reproducible)},
    {"verify", dm_value_set_flag, VALUE_AT(verify), .initial = "yes"},
    {"verify-seed", set_seed, VALUE_AT(verify_seed)},
    {"verify-files", dm_value_set_flag, VALUE_AT(verify_files)},
    {"verify-written", dm_value_set_choice, VALUE_AT(verify_written), .initial = "auto", .choices = value_modes},
    {"protect", dm_value_set_flag, VALUE_AT(protect), .initial = "yes"},
    {"on-corruption", dm_value_set_choice, VALUE_AT(on_corruption), .initial = "repair", .choices = reactions},
    {"allow-unchecked", dm_value_set_flag, VALUE_AT(allow_unchecked)},
    {"overlap", dm_value_set_flag, VALUE_AT(overlap), .initial = "yes"},
    {"require-gpu-per-rank", dm_value_set_flag, VALUE_AT(require_gpu_per_rank)},
    {"checkpoint", dm_value_set_flag, VALUE_AT(checkpoint), .initial = "yes"},
    {"checkpoint-interval", dm_value_set_duration, VALUE_AT(checkpoint_interval), .initial = "60s", .least = 1, .zero_is_off = true},
    {"hang-timeout", dm_value_set_duration, VALUE_AT(hang_timeout), .initial = "10m", .least = 1, .zero_is_off = true, .programs_only = true},
    {"allow-external", dm_value_set_flag, VALUE_AT(external)},
    {"allow-virtual", dm_value_set_flag, VALUE_AT(virtual)},
    {"allow-filters", dm_value_set_flag, VALUE_AT(filters)},
    {"allow-no-data", dm_value_set_flag, VALUE_AT(no_data)},
    {"swmr", dm_value_set_flag, VALUE_AT(swmr)},
};
/* clang-format on */

enum { VALUE_COUNT = sizeof dm_values / sizeof dm_values[0] };
const int dm_value_count = VALUE_COUNT;
_Static_assert((int)VALUE_COUNT <= (int)DM_VALUES, "dm_settings.given is too short");
