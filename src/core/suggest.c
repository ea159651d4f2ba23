#include "core/suggest.h"

#include <string.h>

enum { LONGEST = 255 };

static int least_of(int a, int b, int c) {
  int smaller = a < b ? a : b;
  return smaller < c ? smaller : c;
}

/* Levenshtein distance where two neighbours that changed places count as one change (optimal string
 * alignment), one row of the table at a time. */
int dm_edit_distance(const char *a, const char *b) {
  const size_t columns = strlen(b);
  if (columns > LONGEST || strlen(a) > LONGEST) return LONGEST;
  int rows[3][LONGEST + 1]; /* row I of the table is rows[i % 3] */
  for (size_t j = 0; j <= columns; j++) rows[0][j] = (int)j;
  size_t i = 1;
  for (; a[i - 1]; i++) {
    int *row = rows[i % 3];
    const int *above = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
    row[0] = (int)i;
    for (size_t j = 1; j <= columns; j++) {
      row[j] = least_of(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped && before[j - 2] + 1 < row[j]) row[j] = before[j - 2] + 1;
    }
  }
  return rows[(i - 1) % 3][columns];
}

int dm_closest(const char *name, const char *const *names, int count) {
  int best = -1, nearest = 1 + (int)strlen(name) / 3;
  for (int i = 0; i < count; i++) {
    int d = dm_edit_distance(name, names[i]);
    if (d <= nearest && (best < 0 || d < nearest)) {
      best = i;
      nearest = d;
    }
  }
  for (int i = 0; best < 0 && name[0] && i < count; i++) /* an abbreviation */
    if (strncmp(names[i], name, strlen(name)) == 0) best = i;
  return best;
}

dm_status dm_suggest(dm_status status, const char *name, const char *const *names, int count) {
  const int nearest = dm_closest(name, names, count);
  return nearest < 0 ? status : dm_hint(status, "did you mean '%s'?", names[nearest]);
}
