/* --help and --help-all: usage, the options of a verb by group, defaults in brackets. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/call.h"

enum { WIDTH = 88, HELP_COLUMN = 30, SHORT_WIDTH = 100, SHORT_COLUMN = 32, LONG_LIST = 24 };

/* Prints TEXT from column AT, wrapped at WIDTH; continuation lines start at INDENT. */
static void print_wrapped(FILE *out, const char *text, int at, int indent, int width) {
  int column = at;
  while (*text) {
    int length = (int)strcspn(text, " \n");
    bool first = column <= indent;
    if (!first && column + 1 + length > width) {
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
static int print_names(const dm_option *option, const char *value, FILE *out) {
  int width = option->letter ? fprintf(out, "  -%c, ", option->letter) : fprintf(out, "      ");
  width += fprintf(out, "--%s%s", option->negatable ? "[no-]" : "", option->name);
  if (value[0]) width += fprintf(out, " %s", value);
  return width;
}

/* Names in the left column, TEXT in the right. */
static void print_row(const dm_option *option, const char *value, const char *text, bool full,
                      FILE *out) {
  int column = full ? HELP_COLUMN : SHORT_COLUMN;
  int width = print_names(option, value, out);
  if (width >= column - 1) {
    fputc('\n', out);
    width = 0;
  }
  fprintf(out, "%*s", column - width, "");
  print_wrapped(out, text, column, column, full ? WIDTH : SHORT_WIDTH);
}

/* The short form ends before the first "; " of the help and lists long choices there. */
static void print_option(const dm_option *option, bool full, FILE *out) {
  char metavar[128] = "", text[1000];
  if (dm_cli_takes_value(option)) dm_cli_metavar(option, metavar);
  const char *initial = dm_cli_value(option)->initial;
  const char *value = initial ? initial : option->shown;
  const char *rest = full ? NULL : strstr(option->help, "; ");
  int length = rest ? (int)(rest - option->help) : (int)strlen(option->help);
  bool moved = !full && dm_cli_value(option)->choices && strlen(metavar) > LONG_LIST;
  snprintf(text, sizeof text, "%.*s%s%s%s%s%s", length, option->help, moved ? ": " : "",
           moved ? metavar : "", value ? " [" : "", value ? value : "", value ? "]" : "");
  print_row(option, moved ? "NAME" : metavar, text, full, out);
}

/* All options by group, or the usual ones in the same order without group titles. */
static void print_options(const dm_verb *verb, bool full, FILE *out) {
  if (!full) fputs("\nOptions:\n", out);
  for (int group = 0; group < DM_GROUPS; group++) {
    bool titled = !full;
    for (int i = 0; i < dm_cli_option_count; i++) {
      const dm_option *option = &dm_cli_options[i];
      unsigned shown = full ? option->verbs : option->verbs & option->usual;
      if ((int)option->group != group || !(shown & verb->bit)) continue;
      if (!titled) fprintf(out, "\n%s:\n", dm_cli_group_title((dm_group)group));
      titled = true;
      print_option(option, full, out);
    }
  }
}

static void print_verbs(FILE *out) {
  fputs("\nVerbs:\n", out);
  for (int i = 0; i < dm_cli_verb_count; i++) {
    fprintf(out, "  %-16s", dm_cli_verbs[i].name);
    print_wrapped(out, dm_cli_verbs[i].about, 18, 18, SHORT_WIDTH);
  }
}

static void print_more(FILE *out) {
  fputs("\nExit codes:\n", out);
  for (const dm_exit_code *code = dm_cli_exit_codes; code->meaning; code++)
    fprintf(out, "  %2d  %s\n", code->code, code->meaning);
  fputs("\nEnvironment variables set long options, too: DAMIER_OP_A sets --op-a.\n"
        "Options on the command line take precedence.\n",
        out);
}

static void print_verb(const dm_verb *verb, bool full, FILE *out) {
  const char *space = verb->name[0] && verb->operands[0] ? " " : "";
  fprintf(out, "Usage: damier %s%s%s [options]\n\n", verb->name, space, verb->operands);
  char line[400];
  snprintf(line, sizeof line, "%c%s.", toupper((unsigned char)verb->about[0]), verb->about + 1);
  print_wrapped(out, line, 0, 0, WIDTH);
  if (!full) return;
  for (const char *more = verb->more; *more; more += strcspn(more, "\n") + 1) {
    snprintf(line, sizeof line, "%.*s", (int)strcspn(more, "\n"), more);
    print_wrapped(out, line, 0, 0, WIDTH);
  }
}

void dm_cli_print_help(const dm_verb *verb, bool full, FILE *out) {
  bool none = verb->bit == DM_VERB_NONE;
  print_verb(verb, full, out);
  for (int i = 0; i < 4 && verb->examples[i]; i++)
    fprintf(out, "%s  %s\n", i ? "" : "\nExamples:\n", verb->examples[i]);
  if (none) print_verbs(out);
  print_options(verb, full, out);
  if (none && full) print_more(out);
  if (none)
    fputs("\n'damier VERB --help' describes a verb, 'man damier' everything.\n", out);
  else if (!full)
    fprintf(out, "\n'damier %s --help-all' shows all options.\n", verb->name);
}
