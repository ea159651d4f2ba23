/* -h and --help: usage, the verb's options by group, defaults in brackets. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/verb.h"

enum { WIDTH = 88, HELP_COLUMN = 30 };

/* TEXT from column AT on, broken between words; later lines start at column INDENT. */
static void print_wrapped(FILE *out, const char *text, int at, int indent) {
  int column = at;
  while (*text) {
    int length = (int)strcspn(text, " \n");
    bool first = column <= indent;
    if (!first && column + 1 + length > WIDTH) {
      fprintf(out, "\n%*s", indent, "");
      column = indent;
      first = true;
    }
    fprintf(out, "%s%.*s", first ? "" : " ", length, text);
    column += length + !first;
    text += length;
    while (*text == ' ' || *text == '\n') text++;
  }
  fputc('\n', out);
}

/* "  -o, --output C.h5[:/ds]"; returns its width. */
static int print_names(const dm_option *option, FILE *out) {
  char metavar[128];
  int width = option->letter ? fprintf(out, "  -%c, ", option->letter) : fprintf(out, "      ");
  width += fprintf(out, "--%s%s", option->negatable ? "[no-]" : "", option->name);
  if (dm_cli_takes_value(option)) width += fprintf(out, " %s", dm_cli_metavar(option, metavar));
  return width;
}

static void print_option(const dm_option *option, FILE *out) {
  char text[400];
  const char *value = option->initial ? option->initial : option->shown;
  snprintf(text, sizeof text, "%s%s%s%s", option->help, value ? " [" : "", value ? value : "",
           value ? "]" : "");
  int width = print_names(option, out);
  if (width >= HELP_COLUMN - 1) {
    fputc('\n', out);
    width = 0;
  }
  fprintf(out, "%*s", HELP_COLUMN - width, "");
  print_wrapped(out, text, HELP_COLUMN, HELP_COLUMN);
}

static void print_groups(const dm_verb *verb, bool full, FILE *out) {
  for (int group = 0; group < DM_GROUPS; group++) {
    bool titled = false;
    if (!full && !dm_cli_group_is_basic((dm_group)group)) continue;
    for (int i = 0; i < dm_cli_option_count; i++) {
      const dm_option *option = &dm_cli_options[i];
      if ((int)option->group != group || !(option->verbs & verb->bit)) continue;
      if (!titled) fprintf(out, "\n%s:\n", dm_cli_group_title((dm_group)group));
      titled = true;
      print_option(option, out);
    }
  }
}

static void print_verbs(FILE *out) {
  fputs("Usage: damier VERB [options] ...\n\n"
        "Multiplies matrices that live in HDF5 files, over MPI ranks and GPUs.\n\nVerbs:\n",
        out);
  for (int i = 0; i < dm_cli_verb_count; i++) {
    fprintf(out, "  %-16s", dm_cli_verbs[i].name);
    print_wrapped(out, dm_cli_verbs[i].about, 18, 18);
  }
}

static void print_more(FILE *out) {
  fputs("\nExit codes:\n", out);
  for (const dm_exit_code *code = dm_cli_exit_codes; code->meaning; code++)
    fprintf(out, "  %2d  %s\n", code->code, code->meaning);
  fputs("\nA long option of a verb can be set by a variable, --op-a by DAMIER_OP_A; flags win.\n",
        out);
}

static void print_verb(const dm_verb *verb, bool full, FILE *out) {
  const char *space = verb->operands[0] ? " " : "";
  fprintf(out, "Usage: damier %s%s%s [options]\n\n", verb->name, space, verb->operands);
  char line[400];
  snprintf(line, sizeof line, "%c%s.", toupper((unsigned char)verb->about[0]), verb->about + 1);
  print_wrapped(out, line, 0, 0);
  if (!full) return;
  for (const char *more = verb->more; *more; more += strcspn(more, "\n") + 1) {
    snprintf(line, sizeof line, "%.*s", (int)strcspn(more, "\n"), more);
    print_wrapped(out, line, 0, 0);
  }
}

void dm_cli_print_help(const dm_verb *verb, bool full, FILE *out) {
  bool none = verb->bit == DM_VERB_NONE;
  if (none)
    print_verbs(out);
  else
    print_verb(verb, full, out);
  print_groups(verb, full || none, out);
  for (int i = 0; full && i < 4 && verb->examples[i]; i++)
    fprintf(out, "%s  %s\n", i ? "" : "\nExamples:\n", verb->examples[i]);
  if (none && full) print_more(out);
  if (none)
    fputs("\n'damier VERB --help' tells more about a verb.\n", out);
  else if (!full)
    fprintf(out, "\n'damier %s --help' lists all options.\n", verb->name);
}
