/* damier(1), made from the tables of options and verbs. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/call.h"

/* Whether AT is the space between two sentences: mandoc wants one sentence per line. */
static bool ends_sentence(const char *at) {
  return *at == ' ' && at[-1] == '.' && isupper((unsigned char)at[1]);
}

/* Prints TEXT for roff, without a line end; escapes backslashes and leading dots and quotes. */
static void print_text(const char *text, FILE *out) {
  if (*text == '.' || *text == '\'') fputs("\\&", out);
  for (const char *begin = text; *text; text++) {
    if (*text == '\\')
      fputs("\\e", out);
    else if (*text == '"')
      fputs("\\(dq", out);
    else
      fputc(text > begin && ends_sentence(text) ? '\n' : *text, out);
  }
}

/* Prints the lines of TEXT. */
static void print_lines(const char *text, FILE *out) {
  char line[400];
  for (; *text; text += strcspn(text, "\n") + (strchr(text, '\n') != NULL)) {
    snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
    print_text(line, out);
    fputc('\n', out);
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
        "The\n.Nm\nutility multiplies matrices in HDF5 and .npy files, on one computer or over the "
        "ranks of an MPI job, on "
        "CPUs or GPUs.\n"
        "A matrix is named\n.Ar FILE.h5:/path/to/dataset ;\n"
        "a file with one 2-D dataset needs no path.\n"
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
    print_lines(verb->more, out);
  }
}

/* Lists the verbs that have an option. */
static void print_verbs_of(const dm_option *option, FILE *out) {
  int count = 0;
  for (int i = 0; i < dm_cli_verb_count; i++)
    if (option->verbs & dm_cli_verbs[i].bit)
      fprintf(out, "%s%s", count++ ? ", " : "", dm_cli_verbs[i].name);
  if (option->verbs & DM_VERB_NONE) fprintf(out, "%s", count ? ", or no verb" : "no verb");
  fputs(".\n", out);
}

static void print_option(const dm_option *option, FILE *out) {
  char metavar[128];
  fputs(".It", out);
  if (option->letter) fprintf(out, " Fl %c ,", option->letter);
  fprintf(out, " Fl -%s", option->name);
  if (option->negatable) fprintf(out, " , Fl -no-%s", option->name);
  if (dm_cli_takes_value(option)) fprintf(out, " Ar %s", dm_cli_metavar(option, metavar));
  fputc('\n', out);
  print_sentence(option->help, out);
  if (dm_cli_value(option)->initial || option->shown) {
    const char *quote = dm_cli_value(option)->initial ? "'" : "";
    fprintf(out, "Default: %s", quote);
    print_text(dm_cli_value(option)->initial ? dm_cli_value(option)->initial : option->shown, out);
    fprintf(out, "%s.\n", quote);
  }
  fputs("Verbs: ", out);
  print_verbs_of(option, out);
}

static void print_options(FILE *out) {
  fputs(".Sh OPTIONS\n"
        "Options may precede, follow or separate the operands.\n"
        "They cannot be abbreviated.\n"
        "Sizes and counts take the suffixes k, M, G, T (powers of 1000) and Ki, Mi, Gi, Ti "
        "(powers of 1024).\n",
        out);
  for (int group = 0; group < DM_GROUPS; group++) {
    fprintf(out, ".Ss %s\n.Bl -tag -width Ds\n", dm_cli_group_title((dm_group)group));
    for (int i = 0; i < dm_cli_option_count; i++)
      if ((int)dm_cli_options[i].group == group) print_option(&dm_cli_options[i], out);
    fputs(".El\n", out);
  }
}

static void print_environment(FILE *out) {
  char name[64];
  fputs(
      ".Sh ENVIRONMENT\n"
      "A variable sets the option of its name if the verb has it and the command line does not.\n"
      "Variables of options without a value are yes or no, or a number for repeated options.\n"
      "An unknown name that starts with\n.Ev DAMIER_\ncauses a warning; a bad value of a known one "
      "is a usage error.\n"
      ".Bl -tag -width Ds\n",
      out);
  for (int i = 0; i < dm_cli_option_count; i++) {
    const dm_option *option = &dm_cli_options[i];
    if (option->flags_only) continue;
    fprintf(out, ".It Ev %s\nThe same as\n.Fl -%s .\n", dm_cli_variable(option, name),
            option->name);
  }
  fputs(".El\n", out);
}

static void print_exit_codes(FILE *out) {
  fputs(".Sh EXIT STATUS\n.Bl -tag -width Ds -compact\n", out);
  for (const dm_exit_code *code = dm_cli_exit_codes; code->meaning; code++) {
    fprintf(out, ".It %d\n", code->code);
    print_sentence(code->meaning, out);
  }
  fputs(".El\n", out);
}

static void print_examples(FILE *out) {
  fputs(".Sh EXAMPLES\n", out);
  for (int i = 0; i < dm_cli_verb_count; i++)
    for (int j = 0; j < 4 && dm_cli_verbs[i].examples[j]; j++) {
      fputs(".Dl ", out);
      print_text(dm_cli_verbs[i].examples[j], out);
      fputc('\n', out);
    }
}

void dm_cli_print_man_page(FILE *out) {
  fputs(".\\\" Made by 'damier --man-page' from the option table; do not edit.\n"
        ".Dd November 23, 2026\n.Dt DAMIER 1\n.Os\n"
        ".Sh NAME\n.Nm damier\n"
        ".Nd multiply matrices in HDF5 and .npy files\n",
        out);
  print_synopsis(out);
  print_description(out);
  print_options(out);
  print_environment(out);
  print_exit_codes(out);
  print_examples(out);
  fputs(".Sh SEE ALSO\n.Xr h5dump 1 ,\n.Xr h5ls 1 ,\n.Xr mpirun 1\n", out);
}
