/* Parts of datasets: "[0:1000, ::2]", "[3]", "[@rows.h5:/i, :]". A part is a composite of one
 * source. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/composite.h"
#include "dataset/naming.h"
#include "dataset/stretches.h"
#include "inspect/inspect_impl.h"
#include "io/read.h"

static const double FAR = 9007199254740992.0; /* 2^53 */

/* What is taken of one axis. */
typedef struct examine_part_pick {
  bool single;  /* an index: the axis is dropped */
  dm_line line; /* of a slice or index */
  int64_t count;
  const int64_t *list; /* of indices, or NULL */
} examine_part_pick;

typedef struct selection {
  const dm_trust *trust;
  const dm_location *at;
  dm_axes axes; /* of the whole dataset */
  bool paired;  /* the last of them is that of paired parts */
  examine_part_pick pick[DM_AXES];
  int64_t *lists[DM_AXES]; /* to be freed */
} selection;

static const int64_t most_listed = (int64_t)1 << 31; /* entries of a list */

static dm_status examine_part_refuse(const selection *s, const char *why, const char *what) {
  char shape[DM_SHAPE_TEXT];
  return dm_hint(
      dm_fail_at(DM_E_INPUT, s->at, "%s%.100s; the shape is %s", why, what,
                 dm_axes_text(&s->axes, shape)),
      "[10:20, ::2] takes rows 10 to 19 and every other column; [3] an index, which "
      "drops its dimension; [-5:] the last five; [:, [3, 5:8]] listed columns; [@FILE:/list, :] "
      "rows of a list");
}

/* ---- one axis ---- */

/* A number at *TEXT, unless there is none. */
static bool examine_part_take_number(const char **text, int64_t *value, bool *present) {
  char *end;
  *text += strspn(*text, " ");
  *present = **text == '-' || **text == '+' || (**text >= '0' && **text <= '9');
  if (!*present) return true;
  const long long number = strtoll(*text, &end, 10);
  if (end == *text || number == INT64_MAX || number == INT64_MIN) return false;
  *text = end + strspn(end, " ");
  *value = number;
  return true;
}

/* START:STOP:STEP or INDEX. */
static dm_status read_slice(const selection *s, const char *text, int64_t extent,
                            examine_part_pick *p) {
  int64_t value[3] = {0, extent, 1};
  bool present[3] = {false, false, false};
  const char *at = text;
  int parts = 0;
  for (;; at++) {
    if (!examine_part_take_number(&at, &value[parts], &present[parts]))
      return examine_part_refuse(s, "is not a slice: ", text);
    parts++;
    if (*at != ':' || parts == 3) break;
  }
  if (*at || (parts == 1 && !present[0])) return examine_part_refuse(s, "is not a slice: ", text);
  for (int i = 0; i < 2; i++)
    if (present[i] && value[i] < 0) value[i] += extent;
  const bool single = parts == 1;
  if (value[2] < 1) return examine_part_refuse(s, "has a step that is not positive: ", text);
  if (value[0] < 0 || value[0] > extent - (single ? 1 : 0) || value[1] < 0 || value[1] > extent)
    return examine_part_refuse(s, "does not have all of ", text);
  if (single) {
    *p = (examine_part_pick){.single = true, .line = {value[0], 1}, .count = 1};
    return DM_OK;
  }
  if (value[0] >= value[1]) return examine_part_refuse(s, "selects nothing by ", text);
  *p = (examine_part_pick){.line = {value[0], value[2]},
                           .count = dm_ceil_div(value[1] - value[0], value[2])};
  return DM_OK;
}

/* Entry I of the list TEXT is INDEX, for an axis of EXTENT. */
static dm_status examine_part_outside(const selection *s, const char *text, int64_t i,
                                      int64_t index, int64_t extent) {
  char what[200];
  if (index == INT64_MAX)
    snprintf(what, sizeof what, "entry %lld of %.40s is far outside of 0 to %lld", (long long)i,
             text, (long long)extent - 1);
  else
    snprintf(what, sizeof what, "entry %lld of %.40s is %lld, outside of 0 to %lld", (long long)i,
             text, (long long)index, (long long)extent - 1);
  return examine_part_refuse(s, "", what);
}

/* The indices that the elements of LIST, read from OF, state; booleans: those of the true ones. */
static dm_status check_list(const selection *s, const char *text, const dm_dataset *of,
                            int64_t extent, int64_t *list, int64_t *count) {
  const bool booleans = of->dtype == DM_BOOL || of->bits;
  int64_t kept = 0;
  if (booleans && *count != extent)
    return examine_part_refuse(s,
                               "a list of booleans has another length than its dimension: ", text);
  for (int64_t i = 0; i < *count; i++) {
    if (of->bits && list[i] > 1)
      return examine_part_refuse(s, "a list of bit fields has others than 0 and 1: ", text);
    if (booleans) {
      if (list[i] != 0) list[kept++] = i;
      continue;
    }
    const int64_t index = list[i];
    if (index < 0) list[i] += extent;
    if (list[i] < 0 || list[i] >= extent) return examine_part_outside(s, text, i, index, extent);
    kept++;
  }
  *count = kept;
  return kept > 0 ? DM_OK : examine_part_refuse(s, "selects nothing by ", text);
}

/* As floating-point numbers, which hold every index of a matrix that exists, and stay in place. */
static dm_status read_indices(const dm_dataset *dataset, int64_t *list) {
  dm_reader *reader;
  const dm_view view = dm_view_row_major(list, DM_F64, 1, dataset->cols);
  DM_TRY(dm_reader_open(dataset, DM_F64, &reader));
  dm_status status = dm_reader_read(reader, 0, 0, &view, 1, false);
  dm_reader_close(reader);
  for (int64_t i = 0; !status && i < dataset->cols; i++) {
    double value;
    memcpy(&value, &list[i], sizeof value);
    list[i] = value > -FAR && value < FAR ? (int64_t)value : INT64_MAX; /* outside of any */
  }
  return status;
}

static dm_status check_kept(const dm_trust *trust, const dm_dataset *list) {
  struct stat info;
  if (!trust->replaced || stat(trust->replaced, &info) != 0 ||
      (uint64_t)info.st_dev != list->device || (uint64_t)info.st_ino != list->inode)
    return DM_OK;
  return dm_hint(
      dm_fail_at(DM_E_USAGE, &list->at, "is a list of this command: C cannot replace it"),
      "name another output file, or let --append add a dataset to this one");
}

/* @FILE:/list */
static dm_status examine_part_read_list(selection *s, const char *text, int axis) {
  dm_dataset dataset = {.rows = 0};
  dm_trust trust = *s->trust;
  examine_part_pick *p = &s->pick[axis];
  DM_TRY(dm_location_parse(text + 1, &dataset.at));
  trust.vectors = DM_AS_ROW;
  trust.row_axes = 0;
  trust.fold = (dm_fold){DM_NOT_FOLDED};
  trust.literal = false;
  trust.complex_axis = DM_COMPLEX_AUTO;
  trust.batch = trust.nan = false;
  trust.missing_value[0] = '\0';
  trust.missing = DM_MISSING_NAN; /* which is no index */
  DM_TRY(dm_examine_at(&trust, &dataset, NULL));
  const bool whole = dm_dtype_is_integer(dataset.dtype) && !dataset.meaning.packed;
  dm_status status = check_kept(s->trust, &dataset);
  if (!status && (!whole || dataset.rows != 1))
    status = dm_fail_at(DM_E_INPUT, &dataset.at, "is not a one-dimensional list of whole numbers");
  else if (!status && dataset.cols > most_listed)
    status =
        dm_fail_at(DM_E_INPUT, &dataset.at, "lists %lld rows or columns; at most %lld are read",
                   (long long)dataset.cols, (long long)most_listed);
  if (!status) status = dm_buffer_table(dm_max(1, dataset.cols), &s->lists[axis]);
  if (!status) status = read_indices(&dataset, s->lists[axis]);
  *p = (examine_part_pick){.count = dataset.cols, .list = s->lists[axis]};
  if (!status)
    status = check_list(s, text, &dataset, s->axes.extent[axis], s->lists[axis], &p->count);
  dm_dataset_free(&dataset);
  return status;
}

/* Adds what TEXT, a slice or an index, takes to the list of AXIS. */
static dm_status add_written(selection *s, const char *text, int axis, int64_t *room) {
  examine_part_pick p, *all = &s->pick[axis];
  text += strspn(text, " ");
  DM_TRY(read_slice(s, text, s->axes.extent[axis], &p));
  if (p.count > most_listed - all->count)
    return examine_part_refuse(s, "lists too many rows or columns by ", text);
  if (all->count + p.count > *room) {
    *room = 2 * (all->count + p.count);
    int64_t *list = realloc(s->lists[axis], (size_t)*room * sizeof *list);
    if (!list) return dm_fail_at(DM_E_FIT, s->at, "no memory for a list of rows or columns");
    s->lists[axis] = list;
  }
  for (int64_t i = 0; i < p.count; i++) s->lists[axis][all->count++] = dm_line_at(p.line, i);
  return DM_OK;
}

static char *examine_part_cut(char *text);

/* "3, 5:8, -1", of a list in brackets. */
static dm_status read_written(selection *s, char *text, int axis) {
  int64_t room = 0;
  s->pick[axis] = (examine_part_pick){.count = 0};
  for (char *next = text, *word = text; next; word = next) {
    next = examine_part_cut(word);
    const bool last = !next && word != text && strspn(word, " ") == strlen(word);
    if (!last) DM_TRY(add_written(s, word, axis, &room));
  }
  s->pick[axis].list = s->lists[axis];
  return DM_OK;
}

/* ---- all axes ---- */

static dm_status read_axis(selection *s, char *text, int axis) {
  text += strspn(text, " ");
  for (size_t n = strlen(text); n > 0 && text[n - 1] == ' '; n--) text[n - 1] = '\0';
  const size_t length = strlen(text);
  if (length > 1 && text[0] == '[' && text[length - 1] == ']') {
    text[length - 1] = '\0';
    return read_written(s, text + 1, axis);
  }
  return text[0] == '@' ? examine_part_read_list(s, text, axis)
                        : read_slice(s, text, s->axes.extent[axis], &s->pick[axis]);
}

/* Cuts off what is before the next comma outside of brackets; NULL: TEXT was the last. */
static char *examine_part_cut(char *text) {
  int depth = 0;
  for (; *text; text++) {
    depth += (*text == '[') - (*text == ']');
    if (*text != ',' || depth > 0) continue;
    *text = '\0';
    return text + 1;
  }
  return NULL;
}

/* The words of PART, "[...]", in TEXT, and their number: more than DM_AXES + 1 if there are more.
 */
static int examine_part_words_of(const char *part, char text[DM_PATH], char *word[DM_AXES + 1]) {
  int words = 0;
  char *next = text;
  const size_t length = strlen(part) - 2;
  memcpy(text, part + 1, length);
  text[length] = '\0';
  while (next && words <= DM_AXES) {
    word[words++] = next;
    next = examine_part_cut(next);
  }
  const bool open = words > 1 && strspn(word[words - 1], " ") == strlen(word[words - 1]);
  return next ? DM_AXES + 2 : words - open; /* a comma at the end, as NumPy allows */
}

static bool is_rest(const char *word) {
  word += strspn(word, " ");
  return strncmp(word, "...", 3) == 0 && strspn(word + 3, " ") == strlen(word + 3);
}

bool dm_part_reaches(const char *part, int count) {
  char text[DM_PATH], *word[DM_AXES + 1];
  const int words = examine_part_words_of(part, text, word);
  int rest = words; /* the place of "..." */
  for (int i = 0; i < words && words <= DM_AXES + 1; i++)
    if (is_rest(word[i])) rest = i;
  return rest < words ? rest < words - 1 : words >= count;
}

/* Axes that the user sees: not the one of paired parts. */
static int stated_axes(const selection *s) {
  return s->axes.count - s->paired;
}

/* "[:, 3, 5, 9]" of a matrix: nothing but a list of columns is meant; *is. The words of PART, as in
 * examine_part_words_of, say where it begins. */
static dm_status read_columns(selection *s, bool *is) {
  char text[DM_PATH], *word = text;
  const size_t length = strlen(s->at->part) - 2;
  memcpy(text, s->at->part + 1, length);
  text[length] = '\0';
  char *second = examine_part_cut(text);
  *is = false;
  if (s->axes.count != 2 || s->paired || !second || !strchr(second, ',')) return DM_OK;
  if (strspn(second, "0123456789, -+") < strlen(second)) return DM_OK;
  if (strchr(second, ',')[1 + strspn(strchr(second, ',') + 1, " ")] == '\0') return DM_OK;
  *is = true;
  DM_TRY(read_axis(s, word, 0));
  return read_written(s, second, 1);
}

static dm_status read_part(selection *s) {
  char text[DM_PATH], *item[DM_AXES + 1];
  bool columns;
  DM_TRY(read_columns(s, &columns));
  if (columns) return DM_OK;
  const int items = examine_part_words_of(s->at->part, text, item);
  int axis = 0;
  if (items > stated_axes(s) + 1)
    return examine_part_refuse(s, "has fewer dimensions than ", s->at->part);
  bool filled = false;
  for (int i = 0; i < items; i++) {
    const bool rest = !filled && is_rest(item[i]);
    filled |= rest;
    if (rest) {
      axis += stated_axes(s) - (items - 1);
      continue;
    }
    if (axis >= stated_axes(s))
      return examine_part_refuse(s, "has fewer dimensions than ", s->at->part);
    DM_TRY(read_axis(s, item[i], axis++));
  }
  return DM_OK;
}

/* ---- sides of the matrix ---- */

/* The indices that P takes. */
static dm_status stretches_of(const examine_part_pick *p, dm_stretches *all) {
  DM_TRY(dm_buffer_table(p->list ? p->count : 1, &all->list));
  all->count = 0;
  if (!p->list) all->list[all->count++] = (dm_run_of_line){p->line, p->count};
  for (int64_t i = 0; p->list && i < p->count; i++) {
    dm_run_of_line *last = all->count > 0 ? &all->list[all->count - 1] : NULL;
    if (last && last->count == 1 && p->list[i] > last->line.first)
      last->line.step = p->list[i] - last->line.first;
    if (last && p->list[i] == dm_line_at(last->line, last->count) && p->list[i] > last->line.first)
      last->count++;
    else
      all->list[all->count++] = (dm_run_of_line){{p->list[i], 1}, 1};
  }
  return DM_OK;
}

static dm_status examine_part_side_of(const selection *s, int first, int end, dm_stretches *all) {
  int64_t size = 1;
  DM_TRY(dm_stretches_one(all));
  for (int i = end - 1; i >= first; i--) {
    dm_stretches outer;
    DM_TRY(stretches_of(&s->pick[i], &outer));
    dm_status status = dm_stretches_before(&outer, size, all);
    free(outer.list);
    DM_TRY(status);
    size *= s->axes.extent[i];
  }
  return DM_OK;
}

/* The first axis of the columns in the dataset, and the leading axes of a batch. */
static dm_status examine_part_split(const selection *s, int *of_rows, dm_leads *leads) {
  int kept[DM_AXES], count = 0;
  for (int i = 0; i < s->axes.count; i++)
    if (!s->pick[i].single) kept[count++] = i;
  if (count == 0) return examine_part_refuse(s, "is a single element, not a matrix: ", s->at->part);
  if (count > 1 && s->trust->row_axes > count)
    return examine_part_refuse(s, "has too few dimensions for --row-axes: ", s->at->part);
  if (count > 1 && s->trust->row_axes > 0) {
    *of_rows = s->trust->row_axes == count ? s->axes.count : kept[s->trust->row_axes];
    return DM_OK;
  }
  if (count > 2 && s->trust->batch) {
    *of_rows = kept[count - 1];
    for (int i = 0; i < count - 2; i++) leads->extent[leads->count++] = s->pick[kept[i]].count;
    return DM_OK;
  }
  if (count > 2) return examine_part_refuse(s, "has more than 2 dimensions: ", s->at->part);
  if (count == 1 && s->trust->vectors == DM_NO_VECTOR)
    return dm_hint(dm_fail_at(DM_E_INPUT, s->at, "has 1 dimension; a matrix has 2"),
                   "--as-column or --as-row takes it as a matrix; [3:4] keeps a dimension that [3] "
                   "drops");
  *of_rows = count == 2 ? kept[1] : s->trust->vectors == DM_AS_COLUMN ? s->axes.count : 0;
  return DM_OK;
}

/* Whether all dimensions but one are dropped. */
static bool examine_part_keeps_one(const selection *s) {
  int kept = 0;
  for (int i = 0; i < s->axes.count; i++) kept += !s->pick[i].single;
  return kept == 1;
}

static dm_status examine_part_make(const selection *s, dm_dataset *whole, dm_composer *made,
                                   dm_dataset *find) {
  dm_stretches rows = {NULL, 0}, cols = {NULL, 0};
  int of_rows = 0;
  DM_TRY(examine_part_split(s, &of_rows, &find->leads));
  if ((whole->by_columns || whole->composite) && of_rows != dm_dataset_axes(whole).of_rows)
    return examine_part_refuse(s, "cannot be turned; take [3:4] rather than [3] in ", s->at->part);
  if (!whole->by_columns && !whole->composite) (void)dm_dataset_lay(whole, &s->axes, of_rows);
  dm_status status = examine_part_side_of(s, 0, of_rows, &rows);
  if (!status) status = examine_part_side_of(s, of_rows, s->axes.count, &cols);
  const bool constant = whole->composite && whole->composite->sources == 0;
  if (!status && !constant) status = dm_stretches_compose(whole, NULL, NULL, &rows, &cols, made);
  if (!status)
    status = dm_composer_finish_dataset(made, dm_stretches_total(&rows), dm_stretches_total(&cols),
                                        whole, find);
  if (!status && constant)
    memcpy(find->composite->fill, whole->composite->fill, sizeof find->composite->fill);
  find->vector = examine_part_keeps_one(s) ? s->trust->vectors : DM_NO_VECTOR;
  free(rows.list);
  free(cols.list);
  return dm_file_named(status, s->at);
}

static void start_selection(selection *s, const dm_trust *trust, const dm_dataset *find) {
  *s = (selection){.trust = trust,
                   .at = &find->at,
                   .axes = dm_dataset_axes(find),
                   .paired = find->parts == DM_PARTS_PAIRED};
  for (int i = 0; i < s->axes.count; i++)
    s->pick[i] = (examine_part_pick){
        .single = s->paired && i == s->axes.count - 1, .line = {0, 1}, .count = s->axes.extent[i]};
}

int dm_examine_part_rows(const dm_trust *trust, const dm_dataset *find) {
  selection s;
  dm_leads leads = {0};
  int of_rows = -1;
  start_selection(&s, trust, find);
  dm_status status = read_part(&s);
  if (!status) status = examine_part_split(&s, &of_rows, &leads);
  for (int i = 0; i < DM_AXES; i++) free(s.lists[i]);
  if (status) of_rows = -1;
  dm_status_free(status);
  return of_rows;
}

dm_status dm_examine_part(const dm_trust *trust, dm_dataset *find) {
  selection s;
  start_selection(&s, trust, find);
  dm_dataset whole = *find;
  dm_composer made = {NULL};
  whole.at.part[0] = '\0';
  find->composite = NULL;
  find->leads.count = 0;
  dm_status status =
      dm_dataset_is_empty(find) ? examine_part_refuse(&s, "has no elements", "") : read_part(&s);
  if (!status) status = examine_part_make(&s, &whole, &made, find);
  for (int i = 0; i < DM_AXES; i++) free(s.lists[i]);
  dm_composer_free(&made);
  dm_dataset_free(&whole);
  return status;
}
