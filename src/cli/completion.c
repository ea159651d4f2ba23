/* Completion for shells: their scripts ask "damier --complete WORD..." what may follow. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/call.h"

/* Without an answer, shells offer files. */
static const char *const scripts[] = {
    "# bash completion of damier; made by 'damier --completion bash'\n"
    "_damier() {\n"
    "  local IFS=$'\\n'\n"
    "  COMPREPLY=($(damier --complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null | cut -f 1))\n"
    "}\n"
    "complete -o bashdefault -o default -F _damier damier\n",
    "#compdef damier\n"
    "# zsh completion of damier; made by 'damier --completion zsh'\n"
    "_damier() {\n"
    "  local -a found\n"
    "  found=(${(f)\"$(damier --complete \"${(@)words[2,CURRENT]}\" 2>/dev/null | sed "
    "'s/:/\\\\:/g; "
    "s/\\t/:/')\"})\n"
    "  if (( $#found )); then _describe damier found; else _files; fi\n"
    "}\n"
    "if [[ $funcstack[1] == _damier ]]; then _damier \"$@\"; else compdef _damier damier; fi\n",
    "# fish completion of damier; made by 'damier --completion fish'\n"
    "function __damier_complete\n"
    "  set -l words (commandline -opc) (commandline -ct)\n"
    "  damier --complete $words[2..-1] 2>/dev/null\n"
    "end\n"
    "complete -c damier -a '(__damier_complete)'\n",
};

void dm_cli_print_completion(int shell, FILE *out) {
  fputs(scripts[shell], out);
}

/* Prints PREFIX and the first LENGTH bytes of WORD if that begins with what was TYPED, and what it
 * is ABOUT, to the first semicolon. */
static void completion_offer(const char *typed, const char *prefix, const char *word, size_t length,
                             const char *about) {
  char whole[128];
  snprintf(whole, sizeof whole, "%s%.*s", prefix, (int)length, word);
  if (strncmp(whole, typed, strlen(typed)) == 0)
    printf("%s\t%.*s\n", whole, (int)strcspn(about, ";"), about);
}

/* The next word of every verb that begins with the COUNT words before it: verbs have one or two. */
static void offer_verbs(const char *typed, int count, char **words) {
  bool has_bench = false;
  for (int i = 0; i < dm_cli_verb_count; i++) {
    const dm_verb *verb = &dm_cli_verbs[i];
    const size_t first = strcspn(verb->name, " ");
    const bool is_bench = verb->name[first] != '\0';
    if (count == 0 && !(is_bench && has_bench))
      completion_offer(typed, "", verb->name, first, is_bench ? "measure" : verb->about);
    if (count == 1 && is_bench && strlen(words[0]) == first &&
        strncmp(words[0], verb->name, first) == 0)
      completion_offer(typed, "", verb->name + first + 1, strlen(verb->name + first + 1),
                       verb->about);
    has_bench |= is_bench;
  }
}

static const dm_verb *completion_verb_of(int count, char **words) {
  const dm_verb *verb = &dm_cli_no_verb;
  int used;
  if (count > 0) dm_status_free(dm_cli_verb_find(count, words, &verb, &used));
  return verb;
}

static bool completion_is_named(const dm_option *option, const char *word) {
  return word[0] == '-' &&
         (word[1] == '-' ? strcmp(word + 2, option->name) == 0
                         : option->letter && word[1] == option->letter && word[2] == '\0');
}

void dm_cli_complete(int count, char **words) {
  const char *typed = count > 0 ? words[count - 1] : "";
  const int before = count > 0 ? count - 1 : 0;
  const char *previous = before > 0 ? words[before - 1] : "";
  const dm_verb *verb = completion_verb_of(before, words);
  for (int i = 0; i < dm_option_count; i++) {
    const dm_option *option = &dm_options[i];
    if (!(option->verbs & verb->bit) || !completion_is_named(option, previous) ||
        !dm_option_takes_value(option))
      continue;
    const char *const *choices = dm_option_valued(option)->value.choices;
    for (int j = 0; choices && choices[j]; j++)
      completion_offer(typed, "", choices[j], strlen(choices[j]), option->help);
    return;
  }
  offer_verbs(typed, before, words);
  for (int i = 0; typed[0] == '-' && i < dm_option_count; i++) {
    const dm_option *option = &dm_options[i];
    if (!(option->verbs & verb->bit)) continue;
    completion_offer(typed, "--", option->name, strlen(option->name), option->help);
    if (option->negatable)
      completion_offer(typed, "--no-", option->name, strlen(option->name), option->help);
  }
}
