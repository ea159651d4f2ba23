#include "core/compute_choice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/residues.h"
#include "core/split.h"

enum {
  SHORT = 4096,  /* below this depth residues use one modulus more: native sums lose less there */
  CHOICES = 256, /* a choice holds the number of moduli times CHOICES */
};

enum { AUTO, FASTEST }; /* indices of dm_compute_names */
const char *const dm_compute_names[] = {"auto",     "fastest",  "f64",     "f32", "tf32",
                                        "f64:int8", "f32:int8", "f32:f16", NULL};

/* Byte accumulators are finished in place: they must not be shorter than the sum. */
static bool has_moduli(const char *name, int64_t moduli) {
  for (int i = 0; i < DM_COMPUTES; i++) {
    const dm_compute *row = &dm_computes[i];
    if (row->moduli > 0 && strcmp(row->option, name) == 0)
      return moduli >= dm_dtype_size(row->sum) && moduli <= DM_MODULI_MOST;
  }
  return false;
}

bool dm_compute_parse(const char *text, dm_compute_choice *choice) {
  for (int i = 0; dm_compute_names[i]; i++) {
    const char *name = dm_compute_names[i];
    const size_t length = strlen(name);
    if (strncmp(text, name, length) != 0 || (text[length] && text[length] != ':')) continue;
    const char *number = text + length + 1;
    const int moduli = text[length] ? (int)strtol(number, NULL, 10) : 0;
    char same[16];
    snprintf(same, sizeof same, "%d", moduli);
    if (text[length] && (strcmp(number, same) != 0 || !has_moduli(name, moduli))) continue;
    *choice = i + CHOICES * moduli;
    return true;
  }
  return false;
}

static const char *name_of(dm_compute_choice choice) {
  return dm_compute_names[choice % CHOICES];
}

void dm_compute_choice_text(dm_compute_choice choice, char text[24]) {
  const int moduli = dm_compute_moduli(choice);
  snprintf(text, 24, moduli == 0 ? "%s" : "%s:%d", name_of(choice), moduli);
}

dm_compute_choice dm_compute_with_moduli(dm_compute_choice choice, int moduli) {
  return choice % CHOICES + CHOICES * moduli;
}

int dm_compute_moduli(dm_compute_choice choice) {
  return choice / CHOICES;
}

static bool is_for(const dm_compute *row, dm_compute_choice choice, dm_dtype input) {
  if (choice == AUTO || choice == FASTEST)
    return dm_compute_is_plain(row) && row->work == dm_dtype_real(input);
  return strcmp(row->option, name_of(choice)) == 0 && row->inputs >> input & 1;
}

/* Rows and columns are truncated at 2^-L of their norms, 2 L = log2 (P / 2); check/freivalds.h
 * states the effect on the bound. */
static void set_moduli(dm_compute *row, int moduli) {
  dm_moduli table;
  snprintf(row->name, sizeof row->name, "%.11s:%d", row->option, moduli % 100);
  row->moduli = row->products = row->accumulators = moduli;
  row->panel_bytes = moduli;
  dm_moduli_make(moduli, &table);
  row->roundoff = fmax(row->roundoff, exp2(3.0 - 0.5 * (floor(dm_moduli_bits(&table)) - 1.0)));
}

/* Integers other than i8 have to be converted. */
static dm_status not_multiplied(dm_dtype input) {
  const char *name = dm_dtype_name(input);
  dm_status status = input == DM_I32
                         ? dm_fail(DM_E_USAGE, "i32 matrices are results, not factors")
                         : dm_fail(DM_E_USAGE, "%s matrices need --type to be multiplied", name);
  if (!dm_dtype_holds(DM_F64, input))
    return dm_hint(status, "--type f64 --allow-rounding rounds what f64 cannot hold exactly");
  return dm_hint(status, "--type %s holds every %s exactly",
                 dm_dtype_holds(DM_F32, input) ? "f32" : "f64", name);
}

static dm_status not_in(dm_dtype input, dm_compute_choice choice) {
  if (dm_dtype_is_complex(input))
    return dm_hint(dm_fail(DM_E_USAGE, "%s matrices are not multiplied in %s", dm_dtype_name(input),
                           name_of(choice)),
                   "--compute auto multiplies them in their own precision");
  return dm_hint(dm_fail(DM_E_USAGE, "%s matrices are multiplied exactly, not in %s",
                         dm_dtype_name(input), name_of(choice)),
                 "--type f32 or --type f64 converts the inputs first");
}

/* DEPTH: real products per element. */
static int moduli_of(dm_compute_choice choice, int64_t depth, const dm_compute *row) {
  if (dm_compute_moduli(choice) > 0) return dm_compute_moduli(choice);
  return row->moduli + (depth < SHORT ? 1 : 0);
}

dm_status dm_compute_choose(dm_compute_choice choice, dm_dtype input, int64_t k, dm_compute *row) {
  if (dm_dtype_is_integer(input) && input != DM_I8) return not_multiplied(input);
  for (int i = 0; i < DM_COMPUTES; i++)
    if (is_for(&dm_computes[i], choice, input)) {
      *row = dm_computes[i];
      if (row->moduli > 0)
        set_moduli(row, moduli_of(choice, dm_compute_parts(row, input) * k, row));
      return DM_OK;
    }
  return not_in(input, choice);
}

bool dm_compute_is_fastest(dm_compute_choice choice) {
  return choice == FASTEST;
}

bool dm_compute_by_residues(const dm_compute *plain, dm_dtype work, int64_t k, dm_compute *row) {
  for (int i = 0; i < DM_COMPUTES && dm_compute_is_plain(plain); i++) {
    *row = dm_computes[i];
    if (row->moduli == 0 || row->work != plain->work) continue;
    set_moduli(row, moduli_of(AUTO, dm_compute_parts(row, work) * k, row));
    return true;
  }
  return false;
}

bool dm_compute_by_split(const dm_compute *plain, dm_dtype work, int64_t k, dm_compute *row) {
  const int64_t depth = dm_dtype_is_complex(work) ? 2 * k : k; /* real products */
  for (int i = 0; i < DM_COMPUTES && dm_compute_is_plain(plain); i++) {
    *row = dm_computes[i];
    if (row->splits && row->work == plain->work) return dm_split_factor(depth) <= (double)depth;
  }
  return false;
}
