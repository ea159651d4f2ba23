/* --help and --help-all: usage, the options of a verb by group, defaults in brackets; and the
 * manual page. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/call.h"

enum { HELP_WIDTH = 88, HELP_COLUMN = 30, SHORT_WIDTH = 100, SHORT_COLUMN = 32, LONG_LIST = 24 };

/* Prints TEXT from column AT, wrapped at HELP_WIDTH; continuation lines start at INDENT. */
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
  print_wrapped(out, text, column, column, full ? HELP_WIDTH : SHORT_WIDTH);
}

/* The short form ends before the first "; " of the help and lists long choices there. */
static void print_option(const dm_option *option, bool full, FILE *out) {
  char metavar[128] = "", text[1000];
  if (dm_option_takes_value(option)) dm_option_metavar(option, metavar);
  const char *initial = dm_option_valued(option)->value.initial;
  const char *value = initial ? initial : option->shown;
  const char *rest = full ? NULL : strstr(option->help, "; ");
  int length = rest ? (int)(rest - option->help) : (int)strlen(option->help);
  bool moved = !full && dm_option_valued(option)->value.choices && strlen(metavar) > LONG_LIST;
  snprintf(text, sizeof text, "%.*s%s%s%s%s%s", length, option->help, moved ? ": " : "",
           moved ? metavar : "", value ? " [" : "", value ? value : "", value ? "]" : "");
  print_row(option, moved ? "NAME" : metavar, text, full, out);
}

/* All options by group, or the usual ones in the same order without group titles. */
static void print_options(const dm_verb *verb, bool full, FILE *out) {
  if (!full) fputs("\nOptions:\n", out);
  for (int group = 0; group < DM_GROUPS; group++) {
    bool titled = !full;
    for (int i = 0; i < dm_option_count; i++) {
      const dm_option *option = &dm_options[i];
      unsigned shown = full ? option->verbs : option->verbs & option->usual;
      if ((int)option->group != group || !(shown & verb->bit)) continue;
      if (!titled) fprintf(out, "\n%s:\n", dm_option_group_title((dm_option_group)group));
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
  print_wrapped(out, line, 0, 0, HELP_WIDTH);
  if (!full) return;
  for (const char *more = verb->more; *more; more += strcspn(more, "\n") + 1) {
    snprintf(line, sizeof line, "%.*s", (int)strcspn(more, "\n"), more);
    print_wrapped(out, line, 0, 0, HELP_WIDTH);
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

/* ---- damier(1) ---- */

/* Whether AT is the space between two sentences: mandoc wants one sentence per line. */
static bool ends_sentence(const char *at) {
  return *at == ' ' && at[-1] == '.' && isupper((unsigned char)at[1]);
}

/* Prints TEXT for roff, a line for each sentence; escapes backslashes, quotes, and dots and
 * apostrophes that begin a line. */
static void print_text(const char *text, FILE *out) {
  for (const char *at = text; *at; at++) {
    const bool begins = at == text || at[-1] == '\n';
    if (begins && (*at == '.' || *at == '\'')) fputs("\\&", out);
    if (*at == '\\')
      fputs("\\e", out);
    else if (*at == '"')
      fputs("\\(dq", out);
    else
      fputc(!begins && ends_sentence(at) ? '\n' : *at, out);
  }
}

static void print_sentence(const char *text, FILE *out) {
  char first[2] = {(char)toupper((unsigned char)text[0]), '\0'};
  print_text(first, out);
  print_text(text + 1, out);
  fputs(".\n", out);
}

static void print_synopsis(FILE *out) {
  fputs(".Sh SYNOPSIS\n", out);
  for (int i = 0; i < dm_cli_verb_count; i++) {
    const dm_verb *verb = &dm_cli_verbs[i];
    fprintf(out, ".Nm\n.Cm %s\n.Op Ar options\n", verb->name);
    if (verb->operands[0]) fprintf(out, ".Ar %s\n", verb->operands);
  }
  fputs(".Nm\n.Fl -help | Fl -help-all | Fl -version | Fl -man-page | Fl -completion Ar shell\n",
        out);
}

static void print_description(FILE *out) {
  fputs(".Sh DESCRIPTION\n"
        "The\n.Nm\nutility multiplies matrices in HDF5, .npy, Zarr and PLINK .bed files, on one "
        "computer or over the "
        "ranks of an MPI job, on "
        "CPUs or GPUs.\n"
        "A matrix is named\n.Ar FILE.h5:/path/to/dataset ;\n"
        "a file with one 2-D dataset needs no path.\n"
        "A folder of Zarr is named like a file of HDF5, genotypes by their .bed file.\n"
        "The output's name says its format: C.h5, C.npy or C.zarr.\n"
        "Dimensions are those of HDF5, row-major, as\n.Xr h5dump 1\nshows them.\n"
        "The verbs that begin with\n.Cm bench\nare a program of their own,\n.Nm damier-bench "
        ",\nbeside\n.Nm ;\n"
        ".Ql damier bench multiply\nstarts\n.Ql damier-bench multiply .\n"
        "Results go to standard output: a table and one last line of stable form; everything else "
        "goes to standard error.\n",
        out);
  for (int i = 0; i < dm_cli_verb_count; i++) {
    const dm_verb *verb = &dm_cli_verbs[i];
    fprintf(out, ".Ss %s\n", verb->name);
    print_sentence(verb->about, out);
    print_text(verb->more, out);
  }
}

static void print_item(const dm_option *option, FILE *out) {
  char metavar[128], variable[64];
  const char *const initial = dm_option_valued(option)->value.initial;
  int count = 0; /* of its verbs */
  fputs(".It", out);
  if (option->letter) fprintf(out, " Fl %c ,", option->letter);
  fprintf(out, " Fl -%s", option->name);
  if (option->negatable) fprintf(out, " , Fl -no-%s", option->name);
  if (dm_option_takes_value(option)) fprintf(out, " Ar %s", dm_option_metavar(option, metavar));
  fputc('\n', out);
  print_sentence(option->help, out);
  if (initial || option->shown) {
    fprintf(out, "Default: %s", initial ? "'" : "");
    print_text(initial ? initial : option->shown, out);
    fprintf(out, "%s.\n", initial ? "'" : "");
  }
  fputs("Verbs:", out);
  for (int i = 0; i < dm_cli_verb_count; i++)
    if (option->verbs & dm_cli_verbs[i].bit)
      fprintf(out, "%s %s", count++ ? "," : "", dm_cli_verbs[i].name);
  if (option->verbs & DM_VERB_NONE) fprintf(out, "%s no verb", count ? ", or" : "");
  fputs(".\n", out);
  if (!option->flags_only)
    fprintf(out, "Variable:\n.Ev %s .\n", dm_option_variable(option, variable));
}

static void print_items(FILE *out) {
  fputs(".Sh OPTIONS\n"
        "Options may precede, follow or separate the operands.\n"
        "They cannot be abbreviated.\n"
        "Sizes and counts take the suffixes k, M, G, T (powers of 1000) and Ki, Mi, Gi, Ti "
        "(powers of 1024).\n",
        out);
  for (int group = 0; group < DM_GROUPS; group++) {
    fprintf(out, ".Ss %s\n.Bl -tag -width Ds\n", dm_option_group_title((dm_option_group)group));
    for (int i = 0; i < dm_option_count; i++)
      if ((int)dm_options[i].group == group) print_item(&dm_options[i], out);
    fputs(".El\n", out);
  }
}

static void print_end(FILE *out) {
  fputs(
      ".Sh ENVIRONMENT\n"
      "A variable sets the option that names it if the verb has it and the command line does not.\n"
      "Variables of options without a value are yes or no, or a number for repeated options.\n"
      "An unknown name that starts with\n.Ev DAMIER_\ncauses a warning; a bad value of a known one "
      "is a usage error.\n"
      ".Sh EXIT STATUS\n.Bl -tag -width Ds -compact\n",
      out);
  for (const dm_exit_code *code = dm_cli_exit_codes; code->meaning; code++) {
    fprintf(out, ".It %d\n", code->code);
    print_sentence(code->meaning, out);
  }
  fputs(".El\n.Sh EXAMPLES\n", out);
  for (int i = 0; i < dm_cli_verb_count; i++)
    for (int j = 0; j < 4 && dm_cli_verbs[i].examples[j]; j++) {
      fputs(".Dl ", out);
      print_text(dm_cli_verbs[i].examples[j], out);
      fputc('\n', out);
    }
  fputs(".Sh SEE ALSO\n.Xr h5dump 1 ,\n.Xr h5ls 1 ,\n.Xr mpirun 1\n", out);
}

void dm_cli_print_man_page(FILE *out) {
  fputs(".\\\" Made by 'damier --man-page' from the option table; do not edit.\n"
        ".Dd November 25, 2026\n.Dt DAMIER 1\n.Os\n"
        ".Sh NAME\n.Nm damier\n"
        ".Nd multiply matrices in HDF5, .npy and Zarr files\n",
        out);
  print_synopsis(out);
  print_description(out);
  print_items(out);
  print_end(out);
}
