#include "cli/job_order.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/crew.h"
#include "dataset/dataset.h"

enum {
  ORDER_MOST = 16,         /* jobs at once */
  ORDER_SMALL = 16 << 20,  /* bytes of a job's files */
  ORDER_MEMORY = 512 << 20 /* of a job */
};

/* The real names of files, sorted. */
typedef struct order_names {
  int64_t count, room;
  char **name;
} order_names;

typedef struct order {
  order_names read, written;
  bool known; /* all files of all jobs */
} order;

static int order_compare(const void *one, const void *other) {
  return strcmp(*(char *const *)one, *(char *const *)other);
}

/* Takes NAME over; NULL: it is not known. */
static void order_add(order *o, order_names *names, char *name) {
  const int64_t room = names->room ? 2 * names->room : 64;
  char **more =
      names->count < names->room ? names->name : realloc(names->name, (size_t)room * sizeof *more);
  if (more && names->count == names->room) names->room = room;
  if (more) names->name = more;
  if (more && name)
    names->name[names->count++] = name;
  else
    free(name);
  o->known &= more && name;
}

/* The real name of FILE, which need not be there, in a folder that is. */
static char *order_real_name(const char *file) {
  char folder[PATH_MAX], *real = realpath(file, NULL), *name = NULL;
  if (real) return real;
  const char *slash = strrchr(file, '/'), *last = slash ? slash + 1 : file;
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(last - file) : 1, slash ? file : ".");
  real = realpath(folder, NULL);
  if (real && asprintf(&name, "%s/%s", real, last) < 0) name = NULL;
  free(real);
  return name;
}

static void order_add_output(order *o, const char *text) {
  dm_location at;
  dm_status bad = dm_location_parse(text, &at);
  order_add(o, &o->written, bad ? NULL : order_real_name(at.file));
  dm_status_free(bad);
}

static bool order_is_number(const char *text) {
  char *end = NULL;
  strtod(text, &end);
  return end != text && *end == '\0';
}

/* TEXT may be a file, or another value. Adds its size to *BYTES. */
static void order_add_input(order *o, const char *text, int64_t *bytes) {
  dm_location at;
  struct stat info;
  dm_status bad = dm_location_parse(text, &at);
  const bool there = !bad && stat(at.file, &info) == 0;
  dm_status_free(bad);
  if (!there && (order_is_number(text) || !strpbrk(text, "./:"))) return;
  if (!there || !S_ISREG(info.st_mode)) {
    o->known = false;
    return;
  }
  *bytes = info.st_size > ORDER_SMALL ? ORDER_SMALL : *bytes + info.st_size;
  order_add(o, &o->read, realpath(at.file, NULL));
}

/* Options by which jobs share a file, or read files that are not named. */
static bool order_is_shared(const char *word) {
  static const char *const names[] = {"--json", "--csv", "--trace", "--append", "--allow-"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strncmp(word, names[i], strlen(names[i])) == 0) return true;
  return false;
}

/* Where WORD names an output: what follows the name in the same word, "" if the next word does;
 * else NULL. */
static const char *order_output_of(const char *word) {
  static const char *const names[] = {"--output", "--scores"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const size_t length = strlen(names[i]);
    if (strncmp(word, names[i], length) != 0) continue;
    if (word[length] == '\0') return "";
    if (word[length] == '=') return word + length + 1;
  }
  return strncmp(word, "-o", 2) == 0 ? word + 2 : NULL;
}

static void order_add_job(order *o, const dm_job_line *job) {
  int64_t bytes = 0;
  for (int i = 2; i < job->words && o->known; i++) {
    const char *word = job->word[i], *value = strchr(word, '='), *named = order_output_of(word);
    if (order_is_shared(word))
      o->known = false;
    else if (named && (*named || i + 1 < job->words))
      order_add_output(o, *named ? named : job->word[++i]);
    else if (word[0] != '-' || (word[1] == '-' && value))
      order_add_input(o, word[0] != '-' ? word : value + 1, &bytes);
  }
  o->known &= bytes < ORDER_SMALL;
}

/* Whether no output is that of two jobs, or read by one. */
static bool order_is_free(order *o) {
  order_names *w = &o->written;
  if (w->count == 0) return true;
  qsort(w->name, (size_t)w->count, sizeof *w->name, order_compare);
  for (int64_t i = 1; i < w->count; i++)
    if (strcmp(w->name[i - 1], w->name[i]) == 0) return false;
  for (int64_t i = 0; i < o->read.count; i++)
    if (bsearch(&o->read.name[i], w->name, (size_t)w->count, sizeof *w->name, order_compare))
      return false;
  return true;
}

static void order_free(order_names *names) {
  for (int64_t i = 0; i < names->count; i++) free(names->name[i]);
  free(names->name);
}

int dm_job_list_at_once(const dm_job_list *list) {
  order o = {.known = true};
  for (int64_t i = 0; i < list->count && o.known; i++)
    if (!list->jobs[i].wrong) order_add_job(&o, &list->jobs[i]);
  const bool is_free = o.known && order_is_free(&o);
  order_free(&o.read);
  order_free(&o.written);
  if (!is_free) return 1;
  const int64_t memory = dm_memory_available() / ORDER_MEMORY;
  return (int)dm_max(
      1, dm_min(dm_min(4 * (int64_t)dm_cores(), ORDER_MOST), dm_min(memory, list->count)));
}
