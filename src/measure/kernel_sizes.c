/* The sizes that kernels are measured in: a list on the command line, or a file. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "core/units.h"
#include "measure/kernel_choice.h"

enum { ITEM = 96 };

static const char grammar[] = "N, M,N,K, LOW:HIGH:STEP or LOW:HIGH:xFACTOR, ';' between several";

/* The numbers in TEXT, BETWEEN apart; how many, or -1 where one is not a whole number > 0. */
static int numbers(const char *text, char between, int64_t value[3]) {
  int count = 0;
  for (; text; count++) {
    char word[ITEM];
    const char *end = strchr(text, between);
    snprintf(word, sizeof word, "%.*s", end ? (int)(end - text) : (int)strlen(text), text);
    if (count == 3 || !dm_parse_count(word, &value[count]) || value[count] < 1) return -1;
    text = end ? end + 1 : NULL;
  }
  return count;
}

static dm_status add(dm_kernel_sizes *sizes, int64_t m, int64_t n, int64_t k) {
  int64_t bytes;
  if (sizes->count == DM_KERNEL_SIZES)
    return dm_fail(DM_E_USAGE, "more than %d sizes", DM_KERNEL_SIZES);
  DM_TRY(dm_bytes_of(m, n, 16, &bytes));
  DM_TRY(dm_bytes_of(m, k, 16, &bytes));
  DM_TRY(dm_bytes_of(k, n, 16, &bytes));
  sizes->list[sizes->count++] = (dm_kernel_size){m, n, k};
  return DM_OK;
}

static dm_status add_square(void *sizes, int64_t n) {
  return add(sizes, n, n, n);
}

static dm_status add_item(const char *item, dm_kernel_sizes *sizes) {
  int64_t value[3];
  if (strchr(item, ':')) return dm_parse_range(item, add_square, sizes);
  const int count = numbers(item, ',', value);
  if (count == 1) return add_square(sizes, value[0]);
  if (count == 3) return add(sizes, value[0], value[1], value[2]);
  return dm_hint(dm_fail(DM_E_USAGE, "'%s' is no size", item), "%s", grammar);
}

static dm_status add_list(const char *text, dm_kernel_sizes *sizes) {
  while (text) {
    char item[ITEM];
    const char *end = strchr(text, ';');
    const size_t length = end ? (size_t)(end - text) : strlen(text);
    if (length >= sizeof item)
      return dm_hint(dm_fail(DM_E_USAGE, "'%.20s...' is no size", text), "%s", grammar);
    snprintf(item, sizeof item, "%.*s", (int)length, text);
    DM_TRY(add_item(item, sizes));
    text = end ? end + 1 : NULL;
  }
  return DM_OK;
}

/* LINE without blanks; false where nothing is left to read. */
static bool squeeze(char *line) {
  char *to = line;
  for (const char *from = line; *from; from++)
    if (!isspace((unsigned char)*from)) *to++ = *from;
  *to = '\0';
  return line[0] != '\0' && line[0] != '#';
}

static dm_status add_lines(FILE *file, const char *path, dm_kernel_sizes *sizes) {
  char line[256];
  for (int number = 1; fgets(line, sizeof line, file); number++) {
    int64_t value[3];
    if (!squeeze(line) || (number == 1 && isalpha((unsigned char)line[0]))) continue;
    if (numbers(line, ',', value) != 3)
      return dm_fail(DM_E_INPUT, "%s, line %d: '%s' is not M,N,K", path, number, line);
    DM_TRY(dm_context(add(sizes, value[0], value[1], value[2]), "%s, line %d", path, number));
  }
  if (ferror(file)) return dm_fail(DM_E_IO, "%s: cannot be read: %m", path);
  return sizes->count > 0 ? DM_OK : dm_fail(DM_E_INPUT, "%s holds no sizes", path);
}

dm_status dm_kernel_sizes_parse(const char *text, dm_kernel_sizes *sizes) {
  const size_t length = strlen(text);
  sizes->count = 0;
  if (length < 4 || strcmp(text + length - 4, ".csv") != 0) return add_list(text, sizes);
  FILE *file = fopen(text, "r");
  if (!file) return dm_fail(DM_E_IO, "%s: cannot be read: %m", text);
  dm_status status = add_lines(file, text, sizes);
  fclose(file);
  return status;
}
