#include "bench/kernel_choice.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "core/checked.h"
#include "core/status.h"
#include "core/suggest.h"
#include "core/units.h"

const dm_operand dm_kernel_types[DM_KERNEL_TYPES] = {
    DM_F32, DM_F64, DM_TF32, DM_F16, DM_BF16, DM_I8, DM_C64, DM_C128, DM_I32,
};

static const char *const op_names[DM_KERNEL_OPS] = {
    [DM_GEMM] = "gemm", [DM_TRANSPOSE] = "transpose", [DM_ADD] = "add", [DM_DOT] = "dot"};

const char *dm_kernel_op_name(dm_kernel_op op) {
  return op_names[op];
}

const char *dm_kernel_yardstick(dm_kernel_op op, bool along_k) {
  if (op == DM_GEMM) return along_k ? "cublas, B along k" : "cublas";
  return op == DM_DOT ? "read" : "copy";
}

char *dm_kernel_types_text(unsigned types, char text[64]) {
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; i < DM_KERNEL_TYPES && used < 64; i++)
    if (types & 1u << dm_kernel_types[i])
      used += (size_t)snprintf(text + used, 64 - used, "%s%s", used ? " " : "",
                               dm_operand_name(dm_kernel_types[i]));
  return text;
}

/* ---- types ---- */

static dm_status type_of_name(const char *name, unsigned *types) {
  const char *names[DM_KERNEL_TYPES];
  char all[64];
  for (int i = 0; i < DM_KERNEL_TYPES; i++) {
    names[i] = dm_operand_name(dm_kernel_types[i]);
    if (strcmp(name, names[i]) != 0) continue;
    *types |= 1u << dm_kernel_types[i];
    return DM_OK;
  }
  int nearest = strlen(name) > 1 ? dm_closest(name, names, DM_KERNEL_TYPES) : -1;
  dm_status status =
      dm_fail(DM_E_USAGE, "unknown type '%s'; valid: all %s", name, dm_kernel_types_text(~0u, all));
  return nearest < 0 ? status : dm_hint(status, "did you mean '%s'?", names[nearest]);
}

dm_status dm_kernel_types_parse(const char *text, unsigned *types) {
  char word[96];
  *types = 0;
  while (dm_next_word(&text, ',', word)) {
    if (strcmp(word, "all") == 0)
      *types = ~0u;
    else
      DM_TRY(type_of_name(word, types));
  }
  return DM_OK;
}

/* ---- kernels ---- */

/* Error for PATTERN without a match: no kernel has such a name, or none has the types. */
static dm_status kernel_choice_refuse(const char *pattern, dm_kernel_op op, unsigned types) {
  const dm_kernel *registry = dm_backend_registry(), *named = NULL;
  const char *names[DM_KERNEL_COUNT];
  char wanted[64], has[64];
  for (int i = 0; i < DM_KERNEL_COUNT; i++) {
    names[i] = registry[i].name;
    if (!named && fnmatch(pattern, names[i], 0) == 0) named = &registry[i];
  }
  if (!named) {
    dm_status status = dm_fail(DM_E_USAGE, "no kernel is called '%s'", pattern);
    int nearest = dm_closest(pattern, names, DM_KERNEL_COUNT);
    if (nearest >= 0) return dm_hint(status, "did you mean '%s'?", names[nearest]);
    return dm_hint(status, "damier bench kernels --list names them all");
  }
  if (op != DM_KERNEL_OPS && named->op != op)
    return dm_fail(DM_E_USAGE, "kernel %s is of --op %s, not %s", named->name,
                   dm_kernel_op_name(named->op), dm_kernel_op_name(op));
  return dm_hint(dm_fail(DM_E_USAGE, "kernel %s does not support %s", named->name,
                         dm_kernel_types_text(types, wanted)),
                 "it supports %s", dm_kernel_types_text(named->types, has));
}

dm_status dm_kernels_choose(const char *text, dm_kernel_op op, unsigned types,
                            bool chosen[DM_KERNEL_COUNT]) {
  const dm_kernel *registry = dm_backend_registry();
  const bool any = strcmp(text, "*") == 0;
  char pattern[96], wanted[64];
  memset(chosen, 0, DM_KERNEL_COUNT * sizeof *chosen);
  int count = 0;
  while (dm_next_word(&text, ',', pattern)) {
    int found = 0;
    for (int i = 0; i < DM_KERNEL_COUNT; i++) {
      if (fnmatch(pattern, registry[i].name, 0) != 0 ||
          !((op == DM_KERNEL_OPS || registry[i].op == op) && registry[i].types & types))
        continue;
      chosen[i] = true;
      found++;
    }
    if (found == 0 && !any) return kernel_choice_refuse(pattern, op, types);
    count += found;
  }
  if (count > 0) return DM_OK;
  return dm_fail(DM_E_USAGE, "no kernel of --op %s supports %s",
                 op == DM_KERNEL_OPS ? "all" : dm_kernel_op_name(op),
                 dm_kernel_types_text(types, wanted));
}

/* ---- sizes ---- */

static const char grammar[] = "N, M,N,K, LOW:HIGH:STEP or LOW:HIGH:xFACTOR, ';' between several";

/* Reads the numbers in TEXT, separated by BETWEEN. Returns how many, or -1 if one is not an integer
 * > 0. */
static int kernel_choice_numbers(const char *text, char between, int64_t value[3]) {
  char word[96];
  int count = 0;
  for (; dm_next_word(&text, between, word); count++)
    if (count == 3 || !dm_parse_count(word, &value[count]) || value[count] < 1) return -1;
  return count;
}

static dm_status kernel_choice_add(dm_kernel_sizes *sizes, int64_t m, int64_t n, int64_t k) {
  int64_t bytes;
  if (sizes->count == DM_KERNEL_SIZES)
    return dm_fail(DM_E_USAGE, "more than %d sizes", DM_KERNEL_SIZES);
  DM_TRY(dm_bytes_of(m, n, 16, &bytes));
  DM_TRY(dm_bytes_of(m, k, 16, &bytes));
  DM_TRY(dm_bytes_of(k, n, 16, &bytes));
  sizes->list[sizes->count++] = (dm_kernel_size){m, n, k};
  return DM_OK;
}

static dm_status kernel_choice_add_square(void *sizes, int64_t n) {
  return kernel_choice_add(sizes, n, n, n);
}

static dm_status add_item(const char *item, dm_kernel_sizes *sizes) {
  int64_t value[3];
  if (strchr(item, ':')) return dm_parse_range(item, kernel_choice_add_square, sizes);
  const int count = kernel_choice_numbers(item, ',', value);
  if (count == 1) return kernel_choice_add_square(sizes, value[0]);
  if (count == 3) return kernel_choice_add(sizes, value[0], value[1], value[2]);
  return dm_hint(dm_fail(DM_E_USAGE, "'%s' is not a size", item), "%s", grammar);
}

/* Removes blanks from LINE; false if it has nothing to read. */
static bool squeeze(char *line) {
  char *to = line;
  for (const char *from = line; *from; from++)
    if (!isspace((unsigned char)*from)) *to++ = *from;
  *to = '\0';
  return line[0] != '\0' && line[0] != '#';
}

static dm_status kernel_choice_add_lines(FILE *file, const char *path, dm_kernel_sizes *sizes) {
  char line[256];
  for (int number = 1; fgets(line, sizeof line, file); number++) {
    int64_t value[3];
    if (!squeeze(line) || (number == 1 && isalpha((unsigned char)line[0]))) continue;
    if (kernel_choice_numbers(line, ',', value) != 3)
      return dm_fail(DM_E_INPUT, "%s, line %d: '%s' is not M,N,K", path, number, line);
    DM_TRY(dm_context(kernel_choice_add(sizes, value[0], value[1], value[2]), "%s, line %d", path,
                      number));
  }
  if (ferror(file)) return dm_fail(DM_E_IO, "%s: cannot be read: %m", path);
  return sizes->count > 0 ? DM_OK : dm_fail(DM_E_INPUT, "%s holds no sizes", path);
}

dm_status dm_kernel_sizes_parse(const char *text, dm_kernel_sizes *sizes) {
  const size_t length = strlen(text);
  const bool is_file = length >= 4 && strcmp(text + length - 4, ".csv") == 0;
  char item[96];
  sizes->count = 0;
  while (!is_file && dm_next_word(&text, ';', item)) DM_TRY(add_item(item, sizes));
  if (!is_file) return DM_OK;
  FILE *file = fopen(text, "r");
  if (!file) return dm_fail(DM_E_IO, "%s: cannot be read: %m", text);
  dm_status status = kernel_choice_add_lines(file, text, sizes);
  fclose(file);
  return status;
}
