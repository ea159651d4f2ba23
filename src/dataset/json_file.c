#include "dataset/json_file.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/buffer.h"
#include "dataset/file_system.h"

enum { LONG_NUMBER = 18 /* digits that 64 bits always hold */, MOST_DEPTH = 64 };

/* Whether 64 bits do not hold the integer of LENGTH characters at TEXT. */
static bool json_is_too_long(const char *text, int64_t length) {
  char copy[LONG_NUMBER + 4];
  if (length >= (int64_t)sizeof copy) return true;
  memcpy(copy, text, (size_t)length);
  copy[length] = '\0';
  errno = 0;
  (void)strtoll(copy, NULL, 10);
  return errno != 0;
}

/* Bytes of the bare token at TEXT that must become a text: NaN, Infinity, and long integers. */
static int64_t json_token(const char *text, int64_t length) {
  int64_t at = text[0] == '-', digits = 0;
  if (length >= 3 && memcmp(text, "NaN", 3) == 0) return 3;
  if (length - at >= 8 && memcmp(text + at, "Infinity", 8) == 0) return at + 8;
  for (; at < length && isdigit((unsigned char)text[at]); at++) digits++;
  const bool real = at < length && strchr(".eE", text[at]);
  return digits > LONG_NUMBER && !real && json_is_too_long(text, at) ? at : 0;
}

/* Bytes of the bare token at TEXT, at least 1. */
static int64_t json_other(const char *text, int64_t length) {
  int64_t at = 0;
  while (at < length && (isalnum((unsigned char)text[at]) || strchr("+-.", text[at]))) at++;
  return at > 0 ? at : 1;
}

/* Bytes of the text at TEXT, with its quotes. */
static int64_t json_text(const char *text, int64_t length) {
  int64_t at = 1;
  for (; at < length && text[at] != '"'; at++) at += text[at] == '\\';
  return at < length ? at + 1 : length;
}

/* Copies TEXT to OUT, which has three times the room, with quotes around such tokens; returns the
 * bytes. *deepest: how many lists and objects are in each other. */
static int64_t json_quote(const char *text, int64_t length, char *out, int *deepest) {
  int64_t made = 0, each;
  int depth = 0;
  for (int64_t at = 0; at < length; at += each) {
    const int64_t token = text[at] == '"' ? 0 : json_token(text + at, length - at);
    each = token > 0         ? token
           : text[at] == '"' ? json_text(text + at, length - at)
                             : json_other(text + at, length - at);
    if (text[at] == '[' || text[at] == '{') *deepest = ++depth > *deepest ? depth : *deepest;
    if (text[at] == ']' || text[at] == '}') depth--;
    if (token > 0) out[made++] = '"';
    memcpy(out + made, text + at, (size_t)each);
    made += each;
    if (token > 0) out[made++] = '"';
  }
  return made;
}

dm_status dm_json_parse(const char *text, int64_t length, json_t **value) {
  DM_FREED char *quoted = NULL;
  json_error_t error;
  int depth = 0;
  *value = NULL;
  DM_TRY(dm_buffer_table(3 * length + 1, &quoted));
  const int64_t bytes = json_quote(text, length, quoted, &depth);
  if (depth > MOST_DEPTH)
    return dm_fail(DM_E_INPUT, "has lists and objects in each other, %d levels deep", depth);
  *value = json_loadb(quoted, (size_t)bytes, JSON_REJECT_DUPLICATES, &error);
  return *value ? DM_OK : dm_fail(DM_E_INPUT, "is not valid JSON: %.100s", error.text);
}

dm_status dm_json_read(int fd, json_t **value) {
  struct stat info;
  DM_FREED char *text = NULL;
  *value = NULL;
  if (fstat(fd, &info) < 0) return dm_fail(DM_E_IO, "cannot be read: %s", strerror(errno));
  if (!S_ISREG(info.st_mode)) return dm_fail(DM_E_INPUT, "is not a file");
  if (info.st_size > DM_JSON_LIMIT)
    return dm_fail(DM_E_INPUT, "has %lld bytes; at most %d MiB are read", (long long)info.st_size,
                   DM_JSON_LIMIT >> 20);
  DM_TRY(dm_buffer_table((int64_t)info.st_size + 1, &text));
  const int64_t length = dm_file_read_at(fd, text, (int64_t)info.st_size, 0);
  if (length < 0) return dm_fail(DM_E_IO, "cannot be read: %s", strerror(errno));
  return dm_json_parse(text, length, value);
}

bool dm_json_integer(const json_t *value, int64_t *number) {
  if (json_is_integer(value)) *number = json_integer_value(value);
  if (json_is_integer(value)) return true;
  const double real = json_is_real(value) ? json_real_value(value) : 0.5;
  if (real != floor(real) || fabs(real) >= 0x1p63) return false;
  *number = (int64_t)real;
  return true;
}
