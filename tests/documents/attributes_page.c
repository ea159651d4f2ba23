/* attributes_page PAGE: prints PAGE, docs/attributes.md, with its table made anew from
 * src/inspect/conventions.c. attributes_page --compare PAGE: tells whether it is the same. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "documents/page.h"
#include "inspect/conventions.h"

static const char begin[] = "<!-- The table is made by tests/documents/attributes_page.c. -->\n";
static const char end[] = "<!-- End of the table. -->\n";

/* The words of LIST, "a|b", each in quotes; a star is STAR. */
static void add_words(page *p, const char *list, const char *star, const char *last) {
  while (*list) {
    const size_t length = strcspn(list, "|");
    char word[256];
    const bool has_star = list[0] == '*' && star[0];
    snprintf(word, sizeof word, "`%s%.*s`", has_star ? star : "", (int)length - has_star,
             list + has_star);
    add(p, word);
    list += length;
    if (*list == '|') list++;
    if (*list) add(p, strchr(list, '|') ? ", " : last);
  }
}

static void add_value(page *p, const char *value) {
  if (!value) return;
  add(p, value[0] == '!'   ? ", which is not "
         : value[0] == '*' ? ", which contains "
                           : ", which is ");
  while (*value) {
    const size_t length = strcspn(value, "|");
    char word[256];
    const size_t mark = value[0] == '!' || value[0] == '*';
    snprintf(word, sizeof word, "`%.*s`", (int)(length - mark), value + mark);
    add(p, word);
    value += length;
    if (*value == '|') value++;
    if (*value) add(p, strchr(value, '|') ? ", " : " or ");
  }
}

static void add_mark(page *p, const dm_mark *mark) {
  static const char *const where[] = {
      [DM_ON_DATASET] = "",
      [DM_ON_DATASET_AS] = "in any spelling: ",
      [DM_ON_GROUP] = "of its group: ",
      [DM_ON_ANCESTOR] = "of a group around it: ",
      [DM_ON_FILE] = "of the file: ",
      [DM_IN_GROUP] = "of the group ",
      [DM_BESIDE] = "a dataset beside it: ",
      [DM_UNDER] = "it is in a group called ",
      [DM_MEMBER] = "a member of its enumeration: ",
      [DM_ALWAYS] = "",
  };
  add(p, where[mark->place]);
  if (mark->place == DM_IN_GROUP) {
    add_words(p, mark->object, "", "");
    add(p, " beside it, or beside a group around it: ");
  }
  if (mark->place == DM_BESIDE)
    add_words(p, mark->names, "NAME", " or ");
  else
    add_words(p, mark->names, mark->place == DM_ON_DATASET_AS ? "…" : "", ", ");
  add_value(p, mark->value);
}

static void add_row(page *p, const dm_convention *row) {
  static const char *const only[] = {[DM_ANY_TYPE] = "",
                                     [DM_INTEGERS] = "; beside integers",
                                     [DM_BYTES] = "; beside integers of 8 bits",
                                     [DM_WORDS] = "; beside u16",
                                     [DM_SINGLES] = "; beside f32"};
  add(p, "| ");
  add(p, row->writer);
  add(p, " | ");
  add_mark(p, &row->mark);
  if (row->also.place != DM_ALWAYS) {
    add(p, "; and ");
    add_mark(p, &row->also);
  }
  if (row->called) {
    add(p, "; for datasets called ");
    add_words(p, row->called, "", " or ");
  }
  add(p, only[row->only]);
  add(p, " | ");
  add(p, row->means);
  for (int i = 0; i < 8 && row->numbers[i] != 0.0; i++) {
    char number[40];
    snprintf(number, sizeof number, "%s%.9g", i > 0 ? ", " : ": ", row->numbers[i]);
    add(p, number);
  }
  add(p, " | ");
  add(p, dm_deed_text(row->deed));
  add(p, " |\n");
}

static void add_table(page *p) {
  add(p, "| written by | told by attributes of the dataset, or by | meaning | what is done |\n");
  add(p, "|---|---|---|---|\n");
  for (int i = 0; i < dm_conventions_count; i++) add_row(p, &dm_conventions[i]);
}

int main(int count, char **words) {
  static page old, new;
  const bool compare = count == 3 && strcmp(words[1], "--compare") == 0;
  if (count != 2 + compare) return 2;
  read_page(words[1 + compare], &old);
  char *from = strstr(old.text, begin), *to = strstr(old.text, end);
  if (!from || !to || to < from) {
    fprintf(stderr, "attributes_page: %s lacks the lines around the table\n", words[1 + compare]);
    return 1;
  }
  from[strlen(begin) - 1] = '\0';
  add(&new, old.text);
  from[strlen(begin) - 1] = '\n';
  add(&new, "\n\n");
  add_table(&new);
  add(&new, "\n");
  add(&new, to);
  if (!compare) return fputs(new.text, stdout) < 0;
  if (strcmp(old.text, new.text) == 0) return 0;
  fprintf(stderr, "%s is old: attributes_page %s prints a new one\n", words[2], words[2]);
  return 1;
}
