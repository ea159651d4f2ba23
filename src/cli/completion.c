/* Completion scripts for bash, zsh and fish, made from the tables of options and verbs. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/call.h"

static void print_options_of(unsigned verb, FILE *out) {
  for (int i = 0; i < dm_cli_option_count; i++) {
    const dm_option *option = &dm_cli_options[i];
    if (!(option->verbs & verb)) continue;
    fprintf(out, "--%s ", option->name);
    if (option->negatable) fprintf(out, "--no-%s ", option->name);
  }
}

/* After an option with choices, offer only those; after one with another value, offer files. */
static void print_values(FILE *out) {
  fputs("  case $previous in\n", out);
  for (int i = 0; i < dm_cli_option_count; i++) {
    const dm_option *option = &dm_cli_options[i];
    if (!dm_cli_value(option)->choices) continue;
    fprintf(out, "    --%s) words=\"", option->name);
    for (int j = 0; dm_cli_value(option)->choices[j]; j++)
      fprintf(out, "%s ", dm_cli_value(option)->choices[j]);
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
    fprintf(out, "    \"%s\") words+=\"", dm_cli_verbs[i].name);
    print_options_of(dm_cli_verbs[i].bit, out);
    fputs("\" ;;\n", out);
  }
  fputs("    \"\") words+=\"", out);
  print_options_of(DM_VERB_NONE, out);
  fputs("\" ;;\n  esac\n", out);
}

/* The typed words are a verb or its first word; the words that may follow it come first. */
void dm_cli_print_completion(FILE *out) {
  fputs("# bash completion of damier; made by 'damier --completion bash'\n"
        "_damier() {\n"
        "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
        "  local words=' ' verb= name names=(",
        out);
  for (int i = 0; i < dm_cli_verb_count; i++) fprintf(out, "'%s' ", dm_cli_verbs[i].name);
  fputs(")\n"
        "  ((COMP_CWORD < 2)) || verb=${COMP_WORDS[1]}\n"
        "  for name in \"${names[@]}\"; do\n"
        "    if ((COMP_CWORD > 2)) && [[ $name == \"$verb ${COMP_WORDS[2]}\" ]]; then verb=$name; "
        "fi\n"
        "  done\n"
        "  for name in \"${names[@]}\"; do\n"
        "    if [[ $verb ]]; then [[ $name == \"$verb \"* ]] || continue; fi\n"
        "    name=${name#\"$verb\"} name=${name# }\n"
        "    [[ $words == *\" ${name%% *} \"* ]] || words+=\"${name%% *} \"\n"
        "  done\n",
        out);
  print_verbs(out);
  print_values(out);
  fputs("  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
        "}\n"
        "complete -o bashdefault -o default -F _damier damier\n",
        out);
}

/* TEXT for single quotes; each character in SPECIAL gets a backslash. */
static void print_quoted(const char *text, const char *special, FILE *out) {
  for (; *text; text++) {
    if (*text == '\'')
      fputs("'\\''", out);
    else
      fprintf(out, strchr(special, *text) ? "\\%c" : "%c", *text);
  }
}

static bool has_two_words(const dm_verb *verb) {
  return strchr(verb->name, ' ') != NULL;
}

/* ---- zsh ---- */

static void print_zsh_option(const dm_option *option, FILE *out) {
  fprintf(out, "      '--%s%s[", option->name, dm_cli_takes_value(option) ? "=" : "");
  print_quoted(option->help, "[]\\:", out);
  fputc(']', out);
  if (dm_cli_value(option)->choices) {
    fprintf(out, ":%s:(", option->name);
    for (int i = 0; dm_cli_value(option)->choices[i]; i++) {
      print_quoted(dm_cli_value(option)->choices[i], ":", out);
      fputc(' ', out);
    }
    fputc(')', out);
  } else if (dm_cli_takes_value(option)) {
    fprintf(out, ":%s:_files", option->name);
  }
  fputs("'\n", out);
  if (option->negatable) fprintf(out, "      '--no-%s'\n", option->name);
}

static void print_zsh_options(unsigned verb, FILE *out) {
  for (int i = 0; i < dm_cli_option_count; i++)
    if (dm_cli_options[i].verbs & verb) print_zsh_option(&dm_cli_options[i], out);
}

/* Words that may follow FIRST or, if it is NULL, start a command ("bench"). */
static void print_zsh_verbs(const char *array, const char *first, FILE *out) {
  fprintf(out, "  local -a %s=(\n", array);
  for (int i = 0; i < dm_cli_verb_count; i++) {
    const dm_verb *verb = &dm_cli_verbs[i];
    const size_t skip = first ? strlen(first) + 1 : 0;
    if (first ? strncmp(verb->name, first, skip - 1) != 0 || verb->name[skip - 1] != ' '
              : has_two_words(verb))
      continue;
    fprintf(out, "    '%s:", verb->name + skip);
    print_quoted(verb->about, ":", out);
    fputs("'\n", out);
  }
  fputs("  )\n", out);
}

void dm_cli_print_zsh_completion(FILE *out) {
  fputs("#compdef damier\n# zsh completion of damier; made by 'damier --completion zsh'\n"
        "_damier() {\n  local -a options\n",
        out);
  print_zsh_verbs("verbs", NULL, out);
  print_zsh_verbs("benches", "bench", out);
  fputs("  verbs+=('bench:measure')\n"
        "  case \"$words[2] $words[3]\" in\n",
        out);
  for (int two = 1; two >= 0; two--)
    for (int i = 0; i < dm_cli_verb_count; i++) {
      const dm_verb *verb = &dm_cli_verbs[i];
      if (has_two_words(verb) != (two == 1)) continue;
      fprintf(out, "    ('%s'%s) options=(\n", verb->name, two ? "" : "\\ *");
      print_zsh_options(verb->bit, out);
      fputs("    ) ;;\n", out);
    }
  fputs("    (*) options=(\n", out);
  print_zsh_options(DM_VERB_NONE, out);
  fputs("    ) ;;\n  esac\n"
        "  if (( CURRENT == 2 )); then _describe verb verbs; fi\n"
        "  if (( CURRENT == 3 )) && [[ $words[2] == bench ]]; then _describe verb benches; fi\n"
        "  _arguments $options '*:file:_files'\n"
        "}\n"
        "if [[ $funcstack[1] == _damier ]]; then _damier \"$@\"; else compdef _damier damier; fi\n",
        out);
}

/* ---- fish ---- */

static void print_fish_option(const dm_verb *verb, const dm_option *option, FILE *out) {
  fprintf(out, "complete -c damier -n '__damier_at %s' -l %s", verb->name[0] ? verb->name : "none",
          option->name);
  if (option->letter) fprintf(out, " -s %c", option->letter);
  if (dm_cli_value(option)->choices) {
    fputs(" -x -a '", out);
    for (int i = 0; dm_cli_value(option)->choices[i]; i++)
      fprintf(out, "%s ", dm_cli_value(option)->choices[i]);
    fputc('\'', out);
  } else if (dm_cli_takes_value(option)) {
    fputs(" -r", out);
  }
  fputs(" -d '", out);
  print_quoted(option->help, "\\", out);
  fputs("'\n", out);
  if (option->negatable)
    fprintf(out, "complete -c damier -n '__damier_at %s' -l no-%s\n", verb->name, option->name);
}

static void print_fish_options(const dm_verb *verb, FILE *out) {
  for (int i = 0; i < dm_cli_option_count; i++)
    if (dm_cli_options[i].verbs & verb->bit) print_fish_option(verb, &dm_cli_options[i], out);
}

void dm_cli_print_fish_completion(FILE *out) {
  fputs("# fish completion of damier; made by 'damier --completion fish'\n"
        "function __damier_at\n"
        "  set -l words (commandline -opc) none\n"
        "  set -l last (math 1 + (count $argv))\n"
        "  test \"$words[2..$last]\" = \"$argv\"\n"
        "end\n",
        out);
  for (int i = 0; i < dm_cli_verb_count; i++) {
    const dm_verb *verb = &dm_cli_verbs[i];
    const char *blank = strchr(verb->name, ' ');
    fprintf(out, "complete -c damier -n '__damier_at %.*snone' -a %s -d '",
            blank ? (int)(blank + 1 - verb->name) : 0, verb->name, blank ? blank + 1 : verb->name);
    print_quoted(verb->about, "\\", out);
    fputs("'\n", out);
    print_fish_options(verb, out);
  }
  fputs("complete -c damier -n '__damier_at none' -a bench -d measure\n", out);
  print_fish_options(&dm_cli_no_verb, out);
}
