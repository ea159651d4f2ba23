#include "comm/alike.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

void dm_alike_add(dm_alike *alike, const char *name, const void *data, size_t bytes) {
  if (alike->count >= DM_ALIKE) return;
  alike->name[alike->count] = name;
  alike->hash[alike->count++] = XXH3_64bits(data, bytes);
}

void dm_alike_add_text(dm_alike *alike, const char *name, const char *text) {
  dm_alike_add(alike, name, text ? text : "", text ? strlen(text) + 1 : 0);
}

/* As a number whose negative exists. */
static int64_t number_of(uint64_t hash) {
  return (int64_t)(hash >> 1);
}

static bool is_alike(const int64_t *extremes, int i) {
  return extremes[2 * i] == -extremes[2 * i + 1];
}

/* Some options have a row for each of several verbs. */
static bool is_named(const dm_alike *alike, const int64_t *extremes, int i) {
  for (int j = 0; j < i; j++)
    if (!is_alike(extremes, j) && strcmp(alike->name[j], alike->name[i]) == 0) return true;
  return false;
}

/* EXTREMES: the largest number of each statement, and of its negative. */
static dm_status differ(const dm_alike *alike, const int64_t *extremes) {
  char names[200] = "";
  int more = 0;
  for (int i = 0; i < alike->count; i++) {
    const size_t used = strlen(names), length = strlen(alike->name[i]);
    if (is_alike(extremes, i) || is_named(alike, extremes, i)) continue;
    if (used + length + 3 < sizeof names)
      snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", alike->name[i]);
    else
      more++;
  }
  if (more > 0) return dm_fail(DM_E_USAGE, "the ranks differ in %s and %d more", names, more);
  return dm_fail(DM_E_USAGE, "the ranks differ in %s", names);
}

dm_status dm_alike_check(const dm_comm *comm, const dm_alike *alike) {
  int64_t extremes[2 * DM_ALIKE];
  const uint64_t all = XXH3_64bits(alike->hash, (size_t)alike->count * sizeof *alike->hash);
  int64_t two[] = {number_of(all), -number_of(all)};
  DM_TRY(dm_comm_max_i64(comm, two, 2));
  if (two[0] == -two[1]) return DM_OK;
  for (int i = 0; i < alike->count; i++) {
    extremes[2 * i] = number_of(alike->hash[i]);
    extremes[2 * i + 1] = -extremes[2 * i];
  }
  DM_TRY(dm_comm_max_i64(comm, extremes, 2 * (int64_t)alike->count));
  return dm_comm_agree(comm, differ(alike, extremes));
}
