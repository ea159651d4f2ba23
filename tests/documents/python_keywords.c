/* python_keywords: prints python/damier/options.py, the options of the Python functions as typed
 * keywords, from the table of options. python_keywords --compare FILE: tells whether FILE is the
 * same. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/option.h"
#include "documents/page.h"

enum { ALL_VERBS = DM_VERBS_PRODUCT | DM_VERBS_COMPONENTS | DM_VERB_VERIFY | DM_VERB_INFO };

/* ---- types ---- */

/* How Python states what the program takes as words. */
typedef struct spelling {
  const char *metavar, *type;
} spelling;

static const spelling spellings[] = {
    {"N", "SupportsIndex"},
    {"K", "SupportsIndex"},
    {"1..9", "SupportsIndex"},
    {"1..22", "SupportsIndex"},
    {"T", "SupportsFloat"},
    {"X", "SupportsFloat"},
    {"NUMBER", "SupportsFloat | Literal[\"nan\"]"},
    {"RE[,IM]", "complex | SupportsFloat"},
    {"RxC", "str | Sequence[int]"},
    {"MxN", "str | Sequence[int]"},
    {"TRIANGLE", "Literal[\"lower\", \"upper\"]"},
    {"PMxPNxPK", "str | Sequence[int]"},
    {"[FIRST,]...N", "str | int | Sequence[int]"},
    {"TIME", "str | float"},
    {"NAME", "str"},
    {"WORDS", "str"},
    {"host=SIZE,device=SIZE", "str | int | Mapping[str, str | int]"},
    {"W.h5[:/ds]", "Any"},
};

/* Options whose words are not all that Python takes, or that Python states otherwise. */
static const spelling own_spellings[] = {
    {"type", "TypeName"}, {"type-c", "TypeName"}, {"center-a", "Any"},
    {"center-b", "Any"},  {"scale-a", "Any"},     {"scale-b", "Any"},
    {"compute", "str"},   {"reduce", "str"},      {"metric", "str"},
};

/* Parameters of the functions, or of the command line alone. */
static const char *const left_out[] = {"c",       "output", "scores", "rank", "of",
                                       "dry-run", "slurm",  "batch",  "gpus"};

static const char *found_in(const spelling *list, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(list[i].metavar, name) == 0) return list[i].type;
  return NULL;
}

#define FOUND(list, name) found_in(list, sizeof(list) / sizeof *(list), name)

static bool is_left_out(const char *name) {
  for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
    if (strcmp(left_out[i], name) == 0) return true;
  return false;
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
  const dm_value *value = dm_cli_value(option);
  const char *type = FOUND(own_spellings, option->name);
  if (!type && dm_value_is_flag(value)) type = "bool";
  if (!type && !(value->choices && value->set == dm_value_set_choice)) {
    type = option->metavar ? FOUND(spellings, option->metavar) : NULL;
    if (!type) {
      fprintf(stderr, "python_keywords: no type for the values of --%s\n", option->name);
      exit(1);
    }
  }
  if (type)
    add(p, type);
  else
    add_choices(p, value->choices);
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
  const dm_option *option = &dm_cli_options[index];
  const bool plans = (kind->any & DM_VERB_PLAN) != 0;
  unsigned verbs = 0;
  if (is_left_out(option->name)) return false;
  for (int i = 0; i < dm_cli_option_count; i++) {
    const dm_option *other = &dm_cli_options[i];
    const dm_value *value = other->own.set ? &other->own : dm_value_find(other->name);
    const bool known =
        other->own.set ? plans && (other->verbs & DM_VERB_PLAN) : !value->programs_only;
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
  for (int i = 0; i < dm_cli_option_count; i++)
    if (is_taken(kind, i)) add_keyword(p, &dm_cli_options[i]);
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
    "\"i32\", \"float64\", \"float32\", \"float16\", \"bfloat16\",\n"
    "                         \"complex64\", \"complex128\", \"int8\", \"int32\", \"double\", "
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
