/* python_keywords: prints python/damier/options.py, the options of the Python functions as typed
 * keywords, from the table of options. python_keywords --compare FILE: tells whether FILE is the
 * same. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "documents/page.h"
#include "options/option.h"

enum { ALL_VERBS = DM_VERBS_PRODUCT | DM_VERBS_COMPONENTS | DM_VERB_VERIFY | DM_VERB_INFO };

/* ---- types ---- */

/* The type of each kind of value whose rows state none. */
static const struct {
  dm_setter set;
  const char *type;
} kinds[] = {{dm_value_set_flag, "bool"},
             {dm_value_set_count, "SupportsIndex"},
             {dm_value_set_real, "SupportsFloat"},
             {dm_value_set_text, "str"},
             {dm_value_set_duration, "str | float"}};

/* Whether OPTION is a parameter of the functions, or of the command line alone. */
static bool is_left_out(const dm_option *option) {
  const char *type = dm_option_valued(option)->python;
  return type && !*type;
}

static void add_choices(page *p, const char *const *choices) {
  add(p, "Literal[");
  for (int i = 0; choices[i]; i++) {
    char word[64];
    snprintf(word, sizeof word, "%s\"%s\"", i > 0 ? ", " : "", choices[i]);
    add(p, word);
  }
  add(p, "]");
}

static void add_type(page *p, const dm_option *option) {
  const dm_option *row = dm_option_valued(option);
  const char *type = row->python;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !type; i++)
    if (row->value.set == kinds[i].set) type = kinds[i].type;
  if (!type && row->value.set != dm_value_set_choice) {
    fprintf(stderr, "python_keywords: no type for the values of --%s\n", option->name);
    exit(1);
  }
  if (type)
    add(p, type);
  else
    add_choices(p, row->value.choices);
}

/* ---- classes ---- */

/* HELP, which names options as keywords. */
static void add_help(page *p, const char *help) {
  bool in_option = false;
  add(p, "    \"\"\"");
  for (; *help; help++) {
    const bool begins = strncmp(help, "--", 2) == 0 && islower((unsigned char)help[2]);
    if (begins) help += 2;
    in_option = begins || (in_option && (isalnum((unsigned char)*help) || *help == '-'));
    const char text[2] = {in_option && *help == '-' ? '_' : *help, '\0'};
    add(p, *help == '\\' ? "\\\\" : text);
  }
  add(p, ".\"\"\"\n");
}

static void add_keyword(page *p, const dm_option *option) {
  char name[64];
  snprintf(name, sizeof name, "    %s", option->name);
  for (char *at = name; *at; at++)
    if (*at == '-') *at = '_';
  add(p, name);
  add(p, ": ");
  add_type(p, option);
  add(p, " | None\n");
  add_help(p, option->help);
}

typedef struct keywords {
  const char *name, *base, *about;
  unsigned all;  /* options of all these verbs, ... */
  unsigned any;  /* ... or of any of these, ... */
  unsigned not ; /* ... but those of all of these */
  const char *gpus;
} keywords;

static const char *const one_process = "GPUs of this process, for arrays in host memory and files";
static const char *const of_plan =
    "GPUs of a computer to plan for; a number, a list of indices, or none";

static const keywords classes[] = {
    {"ProductOptions", "TypedDict, total=False", "Of matmul, multiply, gram, cov and cor.",
     DM_VERBS_PRODUCT, 0, 0, one_process},
    {"MultiplyOptions", "ProductOptions, total=False", "Of matmul and multiply.", 0,
     DM_VERB_MULTIPLY, DM_VERBS_PRODUCT, NULL},
    {"GramOptions", "ProductOptions, total=False", "Of gram.", 0, DM_VERB_GRAM, DM_VERBS_PRODUCT,
     NULL},
    {"CorOptions", "ProductOptions, total=False", "Of cor.", 0, DM_VERB_COR, DM_VERBS_PRODUCT,
     NULL},
    {"CovOptions", "CorOptions, total=False", "Of cov.", 0, 0, 0, NULL},
    {"SvdOptions", "TypedDict, total=False", "Of svd.", 0, DM_VERB_SVD, 0, one_process},
    {"PcaOptions", "SvdOptions, total=False", "Of pca.", 0, DM_VERB_PCA, DM_VERB_PCA | DM_VERB_SVD,
     NULL},
    {"VerifyOptions", "TypedDict, total=False", "Of verify.", 0, DM_VERB_VERIFY, 0, NULL},
    {"InfoOptions", "TypedDict, total=False", "Of info.", 0, DM_VERB_INFO, 0, NULL},
    {"PlanOptions", "TypedDict, total=False", "Of plan.", 0, DM_VERB_PLAN | DM_VERB_MULTIPLY, 0,
     of_plan},
    {"ContextOptions", "TypedDict, total=False", "Of Context: those of all its methods.", 0,
     ALL_VERBS, 0, one_process},
};

/* The first of the options of that name that Python takes for KIND's function; other rows have
 * other words for it. */
static bool is_taken(const keywords *kind, int index) {
  const dm_option *option = &dm_options[index];
  const bool plans = (kind->any & DM_VERB_PLAN) != 0;
  unsigned verbs = 0;
  if (is_left_out(option)) return false;
  for (int i = 0; i < dm_option_count; i++) {
    const dm_option *other = &dm_options[i];
    const dm_option_owner owner = dm_option_valued(other)->owner;
    const bool known = owner == DM_OF_PRODUCT ||
                       (owner == DM_OF_COMMAND && plans && (other->verbs & DM_VERB_PLAN));
    if (strcmp(other->name, option->name) != 0 || !known || other->group == DM_GROUP_REPORT ||
        other->group == DM_GROUP_GENERAL)
      continue;
    if (verbs == 0 && (other->verbs & (kind->all | kind->any)) && i != index) return false;
    if (verbs == 0 && !(other->verbs & (kind->all | kind->any))) continue;
    verbs |= other->verbs;
  }
  const bool here = (verbs & (kind->all | kind->any)) != 0;
  if (kind->all && (verbs & kind->all) != kind->all) return false;
  return here && !(kind->not &&(verbs & kind->not ) == kind->not );
}

static void add_class(page *p, const keywords *kind) {
  add(p, "\n\nclass ");
  add(p, kind->name);
  add(p, "(");
  add(p, kind->base);
  add(p, "):\n    \"\"\"");
  add(p, kind->about);
  add(p, "\"\"\"\n\n");
  if (kind->gpus) {
    add(p, kind->gpus == of_plan ? "    gpus: str | int | None\n" : "    gpus: int | None\n");
    add_help(p, kind->gpus);
  }
  for (int i = 0; i < dm_option_count; i++)
    if (is_taken(kind, i)) add_keyword(p, &dm_options[i]);
}

static const char head[] =
    "\"\"\"Options of the functions as typed keywords: ``**options: "
    "Unpack[damier.options.MultiplyOptions]``.\n\n"
    "Made by tests/documents/python_keywords.c from the table of the program; do not "
    "edit.\"\"\"\n"
    "from __future__ import annotations\n\n"
    "from collections.abc import Mapping, Sequence\n"
    "from typing import Any, Literal, SupportsFloat, SupportsIndex, TypedDict, Union\n\n"
    "import numpy as np\n\n"
    "# A name of damier or NumPy, or what NumPy takes as a dtype.\n"
    "TypeName = Union[Literal[\"f64\", \"f32\", \"f16\", \"bf16\", \"c64\", \"c128\", \"i8\", "
    "\"i32\", \"i64\", \"float64\", \"float32\", \"float16\", \"bfloat16\",\n"
    "                         \"complex64\", \"complex128\", \"int8\", \"int32\", \"int64\", "
    "\"double\", "
    "\"single\", \"half\", \"f8\", \"f4\", \"f2\", \"c16\", \"c8\"],\n"
    "                 \"np.dtype[Any]\", \"type[np.generic]\", \"type[float]\", "
    "\"type[complex]\"]\n";

/* ---- the file ---- */

int main(int count, char **words) {
  static page old, new;
  const bool compare = count == 3 && strcmp(words[1], "--compare") == 0;
  if (count != 1 && !compare) return 2;
  add(&new, head);
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) add_class(&new, &classes[i]);
  if (!compare) {
    fputs(new.text, stdout);
    return 0;
  }
  read_page(words[2], &old);
  if (strcmp(old.text, new.text) == 0) return 0;
  fprintf(stderr,
          "%s is not what the table of options makes: "
          "build/release/tests/documents/python_keywords >%s\n",
          words[2], words[2]);
  return 1;
}
