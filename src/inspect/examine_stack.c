/* Many files as one matrix: all that a pattern names, "runs/r?.h5:/x", or "@list.txt" with a
 * location in each line. Each is examined like a single one. */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/composite.h"
#include "dataset/hdf5_driver.h"
#include "dataset/naming.h"
#include "inspect/contents.h"
#include "inspect/inspect_impl.h"
#include "inspect/known_files.h"

enum { EXAMINE_STACK_LINE = 2 * DM_PATH, EXAMINE_STACK_BLOCK = 4096 };

/* A location without the room for the longest names. */
typedef struct listed_name {
  char *text; /* file, dataset and part, each with its end */
  int64_t row_axes;
} listed_name;

typedef struct examine_stack_stack {
  const dm_trust *trust;
  dm_dataset *find; /* the whole; rows and columns grow */
  listed_name *list;
  int64_t count, room;
  dm_composer made;
} examine_stack_stack;

/* Brackets after a dataset's name state a part of it. */
static bool names_datasets(const dm_location *at) {
  return strpbrk(at->dataset, "*?") != NULL;
}

bool dm_location_is_stack(const dm_location *at) {
  struct stat info;
  if (names_datasets(at)) return true;
  return at->file[0] == '@' || (strpbrk(at->file, "*?[") && lstat(at->file, &info) < 0);
}

/* Whether TO, of the same kind, holds all values of FROM. */
static bool examine_stack_holds(dm_dtype to, dm_dtype from) {
  return dm_dtype_is_complex(to) == dm_dtype_is_complex(from) && dm_dtype_holds(to, from);
}

static dm_status examine_stack_check(const examine_stack_stack *s, const dm_dataset *one) {
  dm_dataset *all = s->find;
  const dm_dtype type = dm_dataset_type(one);
  const bool by_columns = s->trust->by_columns, first = s->made.patches == 0;
  const int64_t length = by_columns ? one->rows : one->cols,
                before = by_columns ? all->rows : all->cols;
  if (dm_dataset_is_empty(one)) return dm_fail_at(DM_E_INPUT, &one->at, "has no elements");
  if (first) {
    all->dtype = type;
    return DM_OK;
  }
  if (length != before)
    return dm_fail_at(DM_E_INPUT, &one->at, "has %lld %s; those before it in %.200s have %lld",
                      (long long)length, by_columns ? "rows" : "columns", all->at.file,
                      (long long)before);
  if (examine_stack_holds(all->dtype, type)) return DM_OK;
  if (!examine_stack_holds(type, all->dtype))
    return dm_fail_at(DM_E_INPUT, &one->at, "is %s; those before it in %.200s are %s",
                      dm_dtype_name(type), all->at.file, dm_dtype_name(all->dtype));
  all->dtype = type;
  return DM_OK;
}

static dm_location location_of(const examine_stack_stack *s, int64_t i) {
  const char *text = s->list[i].text;
  dm_location at = {.row_axes = s->list[i].row_axes};
  strcpy(at.file, text);
  strcpy(at.dataset, text += strlen(text) + 1);
  strcpy(at.part, text += strlen(text) + 1);
  return at;
}

static dm_status listed(const void *owner, int64_t i, dm_location *at) {
  *at = location_of(owner, i);
  return DM_OK;
}

/* Appends dataset I, which was examined AHEAD or is now. */
static dm_status examine_stack_add(examine_stack_stack *s, int64_t i, const dm_ahead *ahead) {
  dm_dataset one, *all = s->find;
  dm_patch p = {.row = s->trust->by_columns ? 0 : all->rows,
                .col = s->trust->by_columns ? all->cols : 0};
  int64_t bytes;
  if (!dm_ahead_find(ahead, i, s->trust->vectors, &one)) {
    one = (dm_dataset){.at = location_of(s, i)};
    DM_TRY(dm_examine_at(s->trust, &one, NULL));
  }
  dm_status status = examine_stack_check(s, &one);
  p.rows = one.rows;
  p.cols = one.cols;
  if (!status) status = dm_file_named(dm_composer_add_part(&s->made, &one, &p), &all->at);
  all->rows = p.row + p.rows;
  all->cols = p.col + p.cols;
  if (!status && (all->rows < 0 || all->cols < 0 || dm_mul_overflows(all->rows, all->cols, &bytes)))
    status = dm_fail_at(DM_E_INPUT, &all->at, "has more elements than 64 bits can count");
  dm_dataset_free(&one);
  return status;
}

static dm_status examine_stack_add_all(examine_stack_stack *s) {
  dm_ahead ahead = {0};
  dm_status status = DM_OK;
  for (int64_t i = 0; i < s->count && !status; i++) {
    if (i % EXAMINE_STACK_BLOCK == 0)
      dm_ahead_examine(&ahead, s->trust, listed, s, i, dm_min(s->count - i, EXAMINE_STACK_BLOCK));
    status = examine_stack_add(s, i, &ahead);
  }
  dm_ahead_free(&ahead);
  return status;
}

/* ---- names ---- */

/* Numbers in names are compared by their values: run9 before run10. */
static int natural(const char *a, const char *b) {
  while (*a && *b) {
    if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
      a += strspn(a, "0");
      b += strspn(b, "0");
      const size_t x = strspn(a, "0123456789"), y = strspn(b, "0123456789");
      const int order = x != y ? (x < y ? -1 : 1) : strncmp(a, b, x);
      if (order != 0) return order;
      a += x;
      b += y;
    } else {
      if (*a != *b) return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
      a++;
      b++;
    }
  }
  return (unsigned char)*a - (unsigned char)*b;
}

static int by_name(const void *a, const void *b) {
  const char *x = *(char *const *)a, *y = *(char *const *)b;
  const int order = natural(x, y);
  return order != 0 ? order : strcmp(x, y);
}

static dm_status no_memory(const examine_stack_stack *s) {
  return dm_fail_at(DM_E_FIT, &s->find->at, "no memory for the names of its files");
}

static dm_status examine_stack_append(examine_stack_stack *s, const dm_location *at) {
  const size_t file = strlen(at->file) + 1, set = strlen(at->dataset) + 1;
  if (s->count == DM_COMPOSITE_SOURCES)
    return dm_fail_at(DM_E_INPUT, &s->find->at, "names more than %d datasets",
                      (int)DM_COMPOSITE_SOURCES);
  if (s->count == s->room) {
    const int64_t room = s->room ? 2 * s->room : 64;
    listed_name *list = realloc(s->list, (size_t)room * sizeof *list);
    if (!list) return no_memory(s);
    s->list = list;
    s->room = room;
  }
  char *text = malloc(file + set + strlen(at->part) + 1);
  if (!text) return no_memory(s);
  strcpy(text, at->file);
  strcpy(text + file, at->dataset);
  strcpy(text + file + set, at->part);
  s->list[s->count++] = (listed_name){text, at->row_axes};
  return DM_OK;
}

/* ---- datasets of a file ---- */

/* Names of datasets that match a pattern. */
typedef struct matches {
  const dm_location *at;
  char **name;
  int64_t count, room;
  dm_status status;
} matches;

/* A dm_visit. */
static bool visit_match(void *context, const dm_met *met) {
  matches *m = context;
  if (met->failed && !m->status) m->status = dm_status_copy(met->failed);
  if (met->failed || fnmatch(m->at->dataset, met->name, FNM_PATHNAME) != 0)
    return m->status != NULL;
  if (m->count == DM_COMPOSITE_SOURCES)
    m->status =
        dm_fail_at(DM_E_INPUT, m->at, "names more than %d datasets", (int)DM_COMPOSITE_SOURCES);
  if (m->status) return true;
  if (m->count == m->room) {
    m->room = m->room ? 2 * m->room : 64;
    char **more = realloc(m->name, (size_t)m->room * sizeof *more);
    if (more) m->name = more;
    if (!more) m->status = dm_fail_at(DM_E_FIT, m->at, "no memory for the names of its datasets");
    if (!more) return true;
  }
  m->name[m->count] = strdup(met->name);
  if (!m->name[m->count]) m->status = dm_fail_at(DM_E_FIT, m->at, "no memory for a name");
  m->count += !m->status;
  return m->status != NULL;
}

static dm_status find_matches(const dm_trust *trust, matches *m) {
  char own[DM_PATH];
  hid_t file;
  DM_FREED dm_dataset *found = calloc(1, sizeof *found);
  if (!found) return dm_fail_at(DM_E_FIT, m->at, "no memory to list its datasets");
  found->at = *m->at;
  DM_TRY(dm_examine_open(m->at, trust, found, &file, own));
  if (file < 0) return dm_fail_at(DM_E_INPUT, m->at, "has no datasets with names");
  if (!dm_each_dataset(m->at, file, trust, visit_match, m) && !m->status)
    m->status = dm_fail_at(DM_E_INPUT, m->at, "its datasets cannot be listed");
  dm_h5_close_observed(file, NULL);
  return DM_OK;
}

/* Appends AT, or all datasets of its file that its pattern names. */
static dm_status append_datasets(examine_stack_stack *s, const dm_location *at) {
  matches m = {.at = at};
  if (!names_datasets(at)) return examine_stack_append(s, at);
  dm_trust trust = *s->trust;
  trust.known = NULL;
  dm_status status = find_matches(&trust, &m);
  if (m.status) status = dm_status_first(status, m.status);
  if (!status && m.count == 0)
    status = dm_hint(dm_fail_at(DM_E_INPUT, at, "no dataset has such a name"),
                     "'damier info %.300s' lists its datasets; a star stands for one name, not for "
                     "a slash",
                     at->file);
  bool literal = false;
  for (int64_t i = 0; i < m.count; i++) literal |= strcmp(m.name[i], at->dataset) == 0;
  if (m.count > 0) qsort(m.name, (size_t)m.count, sizeof *m.name, by_name);
  dm_location one = *at;
  for (int64_t i = 0; i < m.count; i++) {
    memset(one.dataset, 0, sizeof one.dataset);
    snprintf(one.dataset, sizeof one.dataset, "%s", m.name[i]);
    if (!status && (!literal || strcmp(m.name[i], at->dataset) == 0))
      status = examine_stack_append(s, &one);
    free(m.name[i]);
  }
  free(m.name);
  return status;
}

static dm_status add_matches(examine_stack_stack *s, const dm_location *at) {
  glob_t found;
  struct stat info; /* a file may have such a name */
  if (!strpbrk(at->file, "*?[") || lstat(at->file, &info) == 0) return append_datasets(s, at);
  const int result = glob(at->file, GLOB_ERR | GLOB_NOSORT, NULL, &found);
  if (result == GLOB_NOMATCH) return dm_fail_at(DM_E_IO, at, "no file has such a name");
  if (result != 0) {
    globfree(&found);
    return dm_fail_at(DM_E_IO, at, "its files cannot be listed: %s", strerror(errno));
  }
  qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, by_name);
  dm_status status = DM_OK;
  for (size_t i = 0; i < found.gl_pathc && !status; i++) {
    dm_location one = *at;
    if (strlen(found.gl_pathv[i]) >= DM_PATH)
      status = dm_fail_at(DM_E_INPUT, at, "a name has more than %d characters", DM_PATH - 1);
    if (!status) memset(one.file, 0, sizeof one.file);
    if (!status) strcpy(one.file, found.gl_pathv[i]);
    if (!status) status = append_datasets(s, &one);
  }
  globfree(&found);
  return status;
}

static dm_status not_text(const examine_stack_stack *s, int64_t number) {
  return dm_hint(
      dm_fail_at(DM_E_INPUT, &s->find->at, "is not a text file: see line %lld", (long long)number),
      "@FILE names a text file (ASCII, UTF-8) with a location in each line");
}

static dm_status examine_stack_add_line(examine_stack_stack *s, char *line, int64_t number) {
  dm_location one;
  if (number == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0) line += 3; /* editors of Windows */
  line += strspn(line, " \t");
  for (size_t n = strlen(line); n > 0 && isspace((unsigned char)line[n - 1]); n--)
    line[n - 1] = '\0';
  if (*line == '\0' || *line == '#') return DM_OK;
  for (const char *c = line; *c; c++)
    if (iscntrl((unsigned char)*c) && *c != '\t') return not_text(s, number);
  if (*line == '@')
    return dm_fail_at(DM_E_INPUT, &s->find->at, "line %lld names another list", (long long)number);
  DM_TRY(dm_file_named(dm_location_parse(line, &one), &s->find->at));
  return dm_location_is_stack(&one) ? add_matches(s, &one) : examine_stack_append(s, &one);
}

static dm_status examine_stack_add_lines(examine_stack_stack *s) {
  const dm_location *at = &s->find->at;
  char line[EXAMINE_STACK_LINE];
  if (at->dataset[0] || at->part[0])
    return dm_fail_at(DM_E_USAGE, at, "a list of locations has no dataset; its lines name them");
  dm_location list = *at;
  int fd;
  memmove(list.file, at->file + 1, sizeof list.file - 1);
  DM_TRY(dm_examine_open_regular(&list, &fd));
  FILE *file = fdopen(fd, "r");
  if (!file) {
    close(fd);
    return dm_fail_at(DM_E_FIT, at, "no memory to read it");
  }
  dm_status status = DM_OK;
  off_t end = 0; /* of the lines before; a line of text has no zero byte */
  for (int64_t number = 1; !status && fgets(line, sizeof line, file); number++) {
    const size_t length = strlen(line);
    status = length == sizeof line - 1
                 ? dm_fail_at(DM_E_INPUT, at, "line %lld is too long", (long long)number)
             : ftello(file) != end + (off_t)length ? not_text(s, number)
                                                   : examine_stack_add_line(s, line, number);
    end += (off_t)length;
  }
  if (!status && ferror(file)) status = dm_fail_at(DM_E_IO, at, "cannot be read");
  fclose(file);
  if (!status && s->count == 0) status = dm_fail_at(DM_E_INPUT, at, "lists no location");
  return status;
}

dm_status dm_examine_stack(const dm_trust *trust, dm_dataset *find) {
  dm_trust of_one = *trust;
  of_one.batch = false;
  of_one.log = NULL;
  of_one.literal = true; /* its stars were replaced */
  DM_TRY(dm_known_new(&of_one.known));
  examine_stack_stack s = {.trust = &of_one, .find = find};
  find->layout = DM_VIRTUAL;
  find->offset = -1;
  find->stack = true;
  find->meaning.missing = trust->missing;
  dm_status status =
      find->at.file[0] == '@' ? examine_stack_add_lines(&s) : add_matches(&s, &find->at);
  if (!status) status = examine_stack_add_all(&s);
  if (!status)
    status = dm_file_named(dm_composer_finish(&s.made, find->rows, find->cols, &find->composite),
                           &find->at);
  if (!status) dm_composite_sum_up(find);
  if (!status) dm_composite_sum_meanings(find);
  dm_composer_free(&s.made);
  dm_known_free(of_one.known);
  for (int64_t i = 0; i < s.count; i++) free(s.list[i].text);
  free(s.list);
  return status;
}
