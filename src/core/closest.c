#include "core/closest.h"

#include <string.h>

enum { LONGEST = 255 };

static int least(int a, int b, int c) {
  int smaller = a < b ? a : b;
  return smaller < c ? smaller : c;
}

/* Levenshtein distance, one row of the table at a time. */
int dm_distance(const char *a, const char *b) {
  size_t columns = strlen(b);
  if (columns > LONGEST || strlen(a) > LONGEST) return LONGEST;
  int row[LONGEST + 1];
  for (size_t j = 0; j <= columns; j++) row[j] = (int)j;
  for (size_t i = 1; a[i - 1]; i++) {
    int diagonal = row[0];
    row[0] = (int)i;
    for (size_t j = 1; j <= columns; j++) {
      int above = row[j];
      row[j] = least(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
      diagonal = above;
    }
  }
  return row[columns];
}

int dm_closest(const char *name, const char *const *names, int count) {
  int best = -1, nearest = 1 + (int)strlen(name) / 3;
  for (int i = 0; i < count; i++) {
    int d = dm_distance(name, names[i]);
    if (d <= nearest && (best < 0 || d < nearest)) {
      best = i;
      nearest = d;
    }
  }
  return best;
}

dm_status dm_suggest(dm_status status, const char *name, const char *const *names, int count) {
  const int nearest = dm_closest(name, names, count);
  return nearest < 0 ? status : dm_hint(status, "did you mean '%s'?", names[nearest]);
}
