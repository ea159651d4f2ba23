/* A completion script for bash, made from the tables of options and verbs. */
#include <stdio.h>
#include <string.h>

#include "cli/verb.h"

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
