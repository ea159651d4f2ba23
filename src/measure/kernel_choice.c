#include "measure/kernel_choice.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "backend/cuda.h"
#include "core/closest.h"

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

/* One word of a list; false at its end. */
static bool next_word(const char **at, char word[64], char between) {
  if (!*at) return false;
  const char *end = strchr(*at, between);
  snprintf(word, 64, "%.*s", end ? (int)(end - *at) : (int)strlen(*at), *at);
  *at = end ? end + 1 : NULL;
  return true;
}

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
  char word[64];
  *types = 0;
  while (next_word(&text, word, ',')) {
    if (strcmp(word, "all") == 0)
      *types = ~0u;
    else
      DM_TRY(type_of_name(word, types));
  }
  return DM_OK;
}

static bool fits(const dm_kernel *kernel, dm_kernel_op op, unsigned types) {
  return (op == DM_KERNEL_OPS || kernel->op == op) && kernel->types & types;
}

/* Nothing of PATTERN is left: because no kernel has such a name, or none of them fits. */
static dm_status refuse(const char *pattern, dm_kernel_op op, unsigned types) {
  const dm_kernel *registry = dm_cuda_registry(), *named = NULL;
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
  return dm_hint(dm_fail(DM_E_USAGE, "kernel %s does not take %s", named->name,
                         dm_kernel_types_text(types, wanted)),
                 "it takes %s", dm_kernel_types_text(named->types, has));
}

dm_status dm_kernels_choose(const char *text, dm_kernel_op op, unsigned types,
                            bool chosen[DM_KERNEL_COUNT]) {
  const dm_kernel *registry = dm_cuda_registry();
  const bool any = strcmp(text, "*") == 0;
  char pattern[64], wanted[64];
  memset(chosen, 0, DM_KERNEL_COUNT * sizeof *chosen);
  int count = 0;
  while (next_word(&text, pattern, ',')) {
    int found = 0;
    for (int i = 0; i < DM_KERNEL_COUNT; i++) {
      if (fnmatch(pattern, registry[i].name, 0) != 0 || !fits(&registry[i], op, types)) continue;
      chosen[i] = true;
      found++;
    }
    if (found == 0 && !any) return refuse(pattern, op, types);
    count += found;
  }
  if (count > 0) return DM_OK;
  return dm_fail(DM_E_USAGE, "no kernel of --op %s takes %s",
                 op == DM_KERNEL_OPS ? "all" : dm_kernel_op_name(op),
                 dm_kernel_types_text(types, wanted));
}
