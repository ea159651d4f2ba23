#include "file/journal_header.h"

#include <string.h>

#include "core/checked.h"
#include "file/checksum.h"

typedef struct start {
  char format[DM_HEADER_MARK] __attribute__((nonstring));
  int64_t count; /* number of fields */
} start;

static const start none = {.format = "damierJ1"}; /* without a final zero */

_Static_assert(sizeof(start) + sizeof(((dm_attributes *)0)->list) + sizeof(uint64_t) <= DM_HEADER,
               "a full table of fields fits");

void dm_header_make(const dm_attributes *fields, char text[DM_HEADER], uint64_t *key) {
  start first = none;
  first.count = fields->count;
  memset(text, 0, DM_HEADER);
  memcpy(text, &first, sizeof first);
  char *at = text + sizeof first;
  for (int i = 0; i < fields->count; i++) {
    at = stpcpy(at, fields->list[i].name) + 1;
    at = stpcpy(at, fields->list[i].text) + 1;
  }
  *key = dm_checksum_bytes(text, DM_HEADER - (int64_t)sizeof *key, 0);
  memcpy(text + DM_HEADER - sizeof *key, key, sizeof *key);
}

static bool take_text(const char **at, const char *end, char *text, size_t room) {
  const size_t length = strnlen(*at, (size_t)(end - *at));
  if (*at + length >= end || length >= room) return false;
  memcpy(text, *at, length + 1);
  *at += length + 1;
  return true;
}

/* The checksum was right, so this fails only for another version of the format. */
static bool take_fields(const char *text, dm_attributes *fields) {
  const char *at = text + sizeof(start), *end = text + DM_HEADER - sizeof(uint64_t);
  start first;
  memcpy(&first, text, sizeof first);
  if (first.count < 0 || first.count > DM_ATTRIBUTES) return false;
  memset(fields, 0, sizeof *fields);
  for (; fields->count < first.count; fields->count++) {
    dm_attribute *field = &fields->list[fields->count];
    if (!take_text(&at, end, field->name, sizeof field->name) ||
        !take_text(&at, end, field->text, sizeof field->text))
      return false;
  }
  return true;
}

bool dm_header_is_ours(const char *text, int64_t bytes) {
  return memcmp(text, none.format, (size_t)dm_min(bytes, (int64_t)sizeof none.format)) == 0;
}

bool dm_header_is_nothing(const char *text, int64_t bytes) {
  return bytes == 0 || (!text[0] && memcmp(text, text + 1, (size_t)bytes - 1) == 0);
}

/* Records are only written after the header is on the disk. */
static bool is_unfinished(const char *text, int64_t bytes) {
  return dm_header_is_nothing(text, bytes) ||
         (bytes <= DM_HEADER && dm_header_is_ours(text, bytes));
}

dm_journal_state dm_header_read(const char *text, int64_t bytes, dm_attributes *fields,
                                uint64_t *key) {
  const int64_t end = DM_HEADER - (int64_t)sizeof *key;
  if (bytes >= DM_HEADER && memcmp(text, none.format, sizeof none.format) == 0) {
    memcpy(key, text + end, sizeof *key);
    if (*key == dm_checksum_bytes(text, end, 0) && take_fields(text, fields))
      return DM_JOURNAL_PRESENT;
  }
  return is_unfinished(text, bytes) ? DM_JOURNAL_NEW : DM_JOURNAL_DAMAGED;
}
