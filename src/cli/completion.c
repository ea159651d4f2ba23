/* A completion script for bash, made from the tables of options and verbs. */
#include <stdio.h>
#include <string.h>

#include "cli/verb.h"

/* "multiply plan ..." without repeating the first word of "bench io". */
static void print_first_words(FILE *out) {
  const char *last = "";
  for (int i = 0; i < dm_cli_verb_count; i++) {
    const char *name = dm_cli_verbs[i].name;
    size_t length = strcspn(name, " ");
    if (strncmp(last, name, length) != 0) fprintf(out, "%.*s ", (int)length, name);
    last = name;
  }
}

/* Those of verbs that begin with the first word of NAME. */
static void print_second_words(const char *name, FILE *out) {
  const size_t length = strcspn(name, " ");
  for (int i = 0; i < dm_cli_verb_count; i++) {
    const char *other = dm_cli_verbs[i].name;
    if (strncmp(other, name, length) == 0 && other[length] == ' ')
      fprintf(out, "%s ", other + length + 1);
  }
}

/* Whether a verb is called by the first word of verb I alone, or one before it begins with it. */
static bool is_covered(int i) {
  const char *name = dm_cli_verbs[i].name;
  const size_t length = strcspn(name, " ");
  for (int j = 0; j < dm_cli_verb_count; j++) {
    const char *other = dm_cli_verbs[j].name;
    const bool same = strncmp(other, name, length) == 0;
    if (same && (other[length] == '\0' || (j < i && other[length] == ' '))) return true;
  }
  return false;
}

/* "bench io"|... */
static void print_long_names(FILE *out) {
  const char *between = "";
  for (int i = 0; i < dm_cli_verb_count; i++) {
    if (!strchr(dm_cli_verbs[i].name, ' ')) continue;
    fprintf(out, "%s\"%s\"", between, dm_cli_verbs[i].name);
    between = "|";
  }
}

static void print_options_of(unsigned verb, FILE *out) {
  for (int i = 0; i < dm_cli_option_count; i++) {
    const dm_option *option = &dm_cli_options[i];
    if (!(option->verbs & verb)) continue;
    fprintf(out, "--%s ", option->name);
    if (option->negatable) fprintf(out, "--no-%s ", option->name);
  }
}

/* After an option with choices only those are offered; after one with another value, files. */
static void print_values(FILE *out) {
  fputs("  case $previous in\n", out);
  for (int i = 0; i < dm_cli_option_count; i++) {
    const dm_option *option = &dm_cli_options[i];
    if (!option->choices) continue;
    fprintf(out, "    --%s) words=\"", option->name);
    for (int j = 0; option->choices[j]; j++) fprintf(out, "%s ", option->choices[j]);
    fputs("\" ;;\n", out);
  }
  fputs("    -o", out);
  for (int i = 0; i < dm_cli_option_count; i++)
    if (dm_cli_options[i].metavar) fprintf(out, "|--%s", dm_cli_options[i].name);
  fputs(") return ;;\n  esac\n", out);
}

static void print_verbs(FILE *out) {
  fputs("  case $verb in\n", out);
  for (int i = 0; i < dm_cli_verb_count; i++) {
    const char *name = dm_cli_verbs[i].name;
    fprintf(out, "    \"%s\") words=\"", name);
    if (!strchr(name, ' ')) print_second_words(name, out);
    print_options_of(dm_cli_verbs[i].bit, out);
    fputs("\" ;;\n", out);
    if (is_covered(i)) continue;
    fprintf(out, "    %.*s) words=\"", (int)strcspn(name, " "), name);
    print_second_words(name, out);
    fputs("\" ;;\n", out);
  }
  fputs("    *) words=\"", out);
  print_first_words(out);
  print_options_of(DM_VERB_NONE, out);
  fputs("\" ;;\n  esac\n", out);
}

void dm_cli_print_completion(FILE *out) {
  fputs("# bash completion of damier; made by 'damier --completion bash'\n"
        "_damier() {\n"
        "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
        "  local words verb=\n"
        "  if ((COMP_CWORD > 1)); then\n"
        "    verb=${COMP_WORDS[1]}\n"
        "    if ((COMP_CWORD > 2)); then\n"
        "      case \"$verb ${COMP_WORDS[2]}\" in ",
        out);
  print_long_names(out);
  fputs(") verb+=\" ${COMP_WORDS[2]}\" ;; esac\n"
        "    fi\n"
        "  fi\n",
        out);
  print_verbs(out);
  print_values(out);
  fputs("  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
        "}\n"
        "complete -o bashdefault -o default -F _damier damier\n",
        out);
}
