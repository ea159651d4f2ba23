/* Virtual datasets: finds all sources and examines each like a dataset of its own. HDF5 would put
 * the fill value, in silence, wherever it cannot open a source. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "dataset/composite.h"
#include "dataset/hdf5_use.h"
#include "inspect/hdf5_selection.h"
#include "inspect/inspect_impl.h"
#include "inspect/known_files.h"
#include "inspect/virtual_slabs.h"

enum {
  DEEPEST = 8,
  EXAMINE_VIRTUAL_FEW =
      64, /* mappings that one process examines; it sees whether their sources differ */
  EXAMINE_VIRTUAL_BLOCK = 4096 /* sources that are examined ahead at a time */
};

/* The outermost virtual dataset. */
struct dm_nesting {
  int depth;
  char folder[2][PATH_MAX]; /* without symbolic links: of the file's name, and of the file */
};

typedef struct virtual {
  const dm_trust *trust;
  dm_dataset *find;
  struct dm_nesting nesting; /* of its sources */
  hid_t creation;
  dm_known_files *known; /* sources that were examined */
  dm_ahead ahead;        /* sources of the mappings that come next */
  dm_location source;    /* of the mapping that is being read */
  dm_dataset last;       /* the source of the last one with more than two dimensions, as examined */
  bool slabs;            /* it, or its sources, have more than two dimensions */
  dm_composer made;
  dm_composer mapped; /* patches of one mapping; its sources are those that are virtual */
}
virtual;

/* ---- files of sources ---- */

static void folder_of(const char *file, char folder[DM_PATH]) {
  const char *slash = strrchr(file, '/');
  snprintf(folder, DM_PATH, "%.*s", slash ? (int)(slash - file + 1) : 0, file);
}

/* The folder without symbolic links and with a slash at its end. */
static bool real_folder(const char *path, char folder[PATH_MAX]) {
  if (!realpath(path[0] ? path : ".", folder)) return false;
  const size_t length = strlen(folder);
  if (length + 1 >= PATH_MAX) return false;
  if (folder[length - 1] != '/') strcpy(folder + length, "/");
  return true;
}

static void find_folders(const char *file, struct dm_nesting *nesting) {
  char folder[DM_PATH], whole[PATH_MAX];
  folder_of(file, folder);
  if (!real_folder(folder, nesting->folder[0])) nesting->folder[0][0] = '\0';
  nesting->folder[1][0] = '\0';
  if (!realpath(file, whole)) return;
  char *slash = strrchr(whole, '/');
  if (!slash) return;
  slash[1] = '\0';
  strcpy(nesting->folder[1], whole);
}

/* Whether PATH is a plain file in the folder OWN, and no link. */
static bool is_file_in(const char *own, const char *path) {
  const size_t length = strlen(own);
  struct stat info;
  return strncmp(path, own, length) == 0 && !strchr(path + length, '/') &&
         lstat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* Whether the existing PATH leads to a file in the folder of the virtual dataset, or below. OWN is
 * the folder of the file that names it. */
static bool examine_virtual_is_inside(const struct dm_nesting *nesting, const char *own,
                                      const char *path) {
  char whole[PATH_MAX];
  if (nesting->depth == 1 && nesting->folder[0][0] && is_file_in(own, path)) return true;
  if (!realpath(path, whole)) return false;
  for (int i = 0; i < 2; i++) {
    const size_t length = strlen(nesting->folder[i]);
    if (length > 0 && strncmp(whole, nesting->folder[i], length) == 0) return true;
  }
  return false;
}

static bool goes_up(const char *name) {
  for (const char *at = name; (at = strstr(at, "..")) != NULL; at += 2)
    if ((at == name || at[-1] == '/') && (at[2] == '/' || at[2] == '\0')) return true;
  return false;
}

static bool examine_virtual_exists(const char *folder, const char *name, char path[DM_PATH]) {
  struct stat info;
  const int length = snprintf(path, DM_PATH, "%s%s%s", folder,
                              folder[0] && folder[strlen(folder) - 1] != '/' ? "/" : "", name);
  return length < DM_PATH && stat(path, &info) == 0;
}

/* Searches the folders of HDF5_VDS_PREFIX, which are separated by colons. */
static bool exists_at_prefix(const char *own, const char *name, char path[DM_PATH]) {
  static const char origin[] = "${ORIGIN}";
  const char *list = getenv("HDF5_VDS_PREFIX");
  while (list && *list) {
    char folder[DM_PATH];
    const int length = (int)strcspn(list, ":");
    const bool from_own = strncmp(list, origin, sizeof origin - 1) == 0;
    const int skipped = from_own ? (int)sizeof origin - 1 : 0;
    const int used = snprintf(folder, sizeof folder, "%s%.*s", from_own ? own[0] ? own : "./" : "",
                              length - skipped, list + skipped);
    if (length > 0 && used < DM_PATH && examine_virtual_exists(folder, name, path)) return true;
    list += length + (list[length] == ':');
  }
  return false;
}

static dm_status examine_virtual_outside(const virtual *v, const char *name, const char *why) {
  return dm_hint(dm_fail_at(DM_E_INPUT, &v->find->at, "refused: its source '%.200s' %s", name, why),
                 "--allow-virtual reads sources outside of the folder of the virtual dataset");
}

/* Finds the file that HDF5 would find for the source NAME; the first that exists. */
static dm_status find_file(const virtual *v, const char *name, char path[DM_PATH]) {
  const char *file = v->find->at.file;
  char own[DM_PATH], real[PATH_MAX];
  if (strcmp(name, ".") == 0) {
    memcpy(path, file, DM_PATH);
    return DM_OK;
  }
  folder_of(file, own);
  if (!v->trust->virtual && name[0] == '/')
    return examine_virtual_outside(v, name, "has an absolute path");
  if (!v->trust->virtual && goes_up(name))
    return examine_virtual_outside(v, name, "has a path with '..'");
  bool found = name[0] == '/' && examine_virtual_exists("", name, path);
  const char *last = name[0] == '/' ? strrchr(name, '/') + 1 : name;
  found = found || exists_at_prefix(own, last, path) || examine_virtual_exists(own, last, path) ||
          examine_virtual_exists("", last, path);
  char *slash = !found && realpath(file, real) ? strrchr(real, '/') : NULL;
  if (slash) *slash = '\0';
  found = found || (slash && examine_virtual_exists(real, last, path));
  if (!found) return dm_fail_at(DM_E_IO, &v->find->at, "its source '%.300s' does not exist", name);
  if (!v->trust->virtual && !examine_virtual_is_inside(&v->nesting, own, path))
    return examine_virtual_outside(v, path, "lies in another folder");
  return DM_OK;
}

static dm_status examine_virtual_unreadable(const virtual *v) {
  return dm_h5_fail(DM_E_INPUT, &v->find->at, "its mappings cannot be read");
}

/* ---- patches of a mapping ---- */

/* HDF5 maps the elements of two selections in their order. DOWN: one dimension taken as a column,
 * of the virtual dataset and of the source. */
typedef struct weave {
  dm_composer *to;
  bool down[2];
  int64_t before, current; /* first patch of the previous row, and of this one */
} weave;

/* Joins the patches of the row that has ended with those of the row above, if they match. */
static void end_row(weave *w) {
  dm_patch *above = w->to->patch + w->before, *here = w->to->patch + w->current;
  const int64_t count = w->to->patches - w->current;
  bool same = count > 0 && count == w->current - w->before;
  for (int64_t i = 0; i < count && same; i++)
    same = above[i].col == here[i].col && above[i].cols == here[i].cols &&
           above[i].source_col == here[i].source_col &&
           above[i].row + above[i].rows == here[i].row &&
           above[i].source_row + above[i].rows == here[i].source_row;
  if (same) {
    for (int64_t i = 0; i < count; i++) above[i].rows += here[i].rows;
    w->to->patches = w->current;
  } else {
    w->before = w->current;
    w->current = w->to->patches;
  }
}

/* Maps LENGTH elements from TO on to those from FROM on. */
static dm_status map_run(weave *w, const dm_row_run *to, const dm_row_run *from, int64_t length) {
  dm_patch p = {.row = to->row, .col = to->col, .rows = 1, .cols = length};
  p.source_row = from->row;
  p.source_col = from->col;
  if (w->down[0] && w->down[1])
    p = (dm_patch){
        .row = to->col, .rows = length, .cols = 1, .source_row = from->col, .source_col = 0};
  if (w->down[0] == w->down[1]) return dm_composer_add_patch(w->to, &p);
  for (int64_t i = 0; i < length; i++) {
    p = (dm_patch){.row = w->down[0] ? to->col + i : to->row,
                   .col = w->down[0] ? 0 : to->col + i,
                   .rows = 1,
                   .cols = 1,
                   .source_row = w->down[1] ? from->col + i : from->row,
                   .source_col = w->down[1] ? 0 : from->col + i};
    DM_TRY(dm_composer_add_patch(w->to, &p));
    if (w->down[0]) end_row(w);
  }
  return DM_OK;
}

static int64_t examine_virtual_elements_of(const dm_selection *s) {
  int64_t sum = 0;
  for (int64_t i = 0; i < s->run_count; i++) sum += s->runs[i].length;
  return sum;
}

static dm_status map_runs(virtual *v, weave *w, dm_selection *to, dm_selection *from) {
  DM_TRY(dm_selection_list(&v->find->at, to));
  DM_TRY(dm_selection_list(&v->find->at, from));
  char name[DM_NAME];
  if (examine_virtual_elements_of(to) != examine_virtual_elements_of(from))
    return dm_fail_at(DM_E_INPUT, &v->find->at, "maps %lld elements to %lld of its source %s",
                      (long long)examine_virtual_elements_of(to),
                      (long long)examine_virtual_elements_of(from),
                      dm_location_name(&v->source, name));
  for (int64_t i = 0, j = 0; i < to->run_count;) {
    dm_row_run *a = &to->runs[i], *b = &from->runs[j];
    const int64_t length = dm_min(a->length, b->length), row = a->row;
    DM_TRY(dm_file_named(map_run(w, a, b, length), &v->find->at));
    a->length -= length;
    a->col += length;
    b->length -= length;
    b->col += length;
    i += a->length == 0;
    j += b->length == 0;
    if (!w->down[0] && (i == to->run_count || to->runs[i].row != row)) end_row(w);
  }
  return DM_OK;
}

/* Fills v->mapped with the patches of a mapping. */
static dm_status map_all(virtual *v, dm_selection *to, dm_selection *from, dm_vector source) {
  v->mapped.patches = 0;
  weave w = {.to = &v->mapped,
             .down = {to->rank == 1 && v->trust->vectors == DM_AS_COLUMN,
                      from->rank == 1 && source == DM_AS_COLUMN}};
  if (!dm_selection_is_block(to) || !dm_selection_is_block(from) ||
      to->block[0] != from->block[0] || to->block[1] != from->block[1] || w.down[0] || w.down[1])
    return map_runs(v, &w, to, from);
  const dm_patch one = {.row = to->start[0],
                        .col = to->start[1],
                        .rows = to->block[0],
                        .cols = to->block[1],
                        .source_row = from->start[0],
                        .source_col = from->start[1]};
  return dm_composer_add_patch(&v->mapped, &one);
}

/* ---- sources ---- */

/* Whether HDF5 converts FROM to TO, and damier does the same. */
static bool converts(dm_dtype from, dm_dtype to) {
  if (from == to) return true;
  if (from == DM_BOOL || to == DM_BOOL || from == DM_BF16 || to == DM_BF16) return false;
  if (dm_dtype_is_complex(from) || dm_dtype_is_complex(to))
    return dm_dtype_is_complex(from) && dm_dtype_is_complex(to);
  if ((to == DM_F64 || to == DM_F32) && !dm_dtype_is_integer(from)) return true;
  return to != DM_F16 && dm_dtype_holds(to, from);
}

static dm_status examine_virtual_check_type(const virtual *v, const dm_dataset *source) {
  const dm_dtype to = v->find->dtype;
  bool good = converts(source->dtype, to);
  /* The way through two virtual datasets must not round twice. */
  for (int64_t i = 0; good && source->composite && i < source->composite->sources; i++) {
    dm_dataset inner;
    dm_composite_source(source->composite, i, &inner);
    good = inner.dtype == source->dtype || source->dtype == to ||
           dm_dtype_holds(source->dtype, inner.dtype);
  }
  if (good) return DM_OK;
  char name[DM_NAME];
  return dm_fail_at(DM_E_INPUT, &v->find->at, "is %s; its source %s is %s, which is not converted",
                    dm_dtype_name(to), dm_location_name(&source->at, name),
                    dm_dtype_name(source->dtype));
}

/* Completes FROM if it is all of SOURCE, which then must have the shape of the elements TO.
 * Otherwise dm_composer_finish checks that the source is large enough. */
static dm_status examine_virtual_check_shape(const virtual *v, const dm_selection *to,
                                             dm_selection *from, const dm_dataset *source) {
  const int rank = source->vector == DM_NO_VECTOR ? 2 : 1;
  const int64_t wanted[2] = {to->count[0] * to->block[0], to->count[1] * to->block[1]};
  const int64_t extent[2] = {rank == 2 ? source->rows : 1,
                             rank == 2 ? source->cols : source->rows * source->cols};
  char name[DM_NAME];
  if (!from->all && from->rank != rank)
    return dm_fail_at(DM_E_INPUT, &v->find->at, "maps %d dimensions of its source %s, which has %d",
                      from->rank, dm_location_name(&source->at, name), rank);
  if (!from->all) return DM_OK;
  const bool line = rank == 1 && (wanted[0] == 1 || wanted[1] == 1);
  if (!to->runs && !(line && wanted[0] * wanted[1] == extent[1]) &&
      memcmp(wanted, extent, sizeof extent) != 0)
    return dm_fail_at(DM_E_INPUT, &v->find->at,
                      "maps its source %s as %lld x %lld, but that is %lld x %lld",
                      dm_location_name(&source->at, name), (long long)wanted[0],
                      (long long)wanted[1], (long long)extent[0], (long long)extent[1]);
  from->rank = rank;
  memcpy(from->extent, extent, sizeof extent);
  memcpy(from->block, extent, sizeof extent);
  memcpy(from->stride, extent, sizeof extent);
  return DM_OK;
}

static dm_status too_deep(const virtual *v) {
  return dm_fail_at(DM_E_INPUT, &v->find->at,
                    "refused: virtual datasets are nested more than %d deep, or in a circle",
                    DEEPEST);
}

static dm_trust trust_in_sources(const virtual *v, dm_vector vector) {
  dm_trust trust = *v->trust;
  trust.vectors = vector;
  trust.row_axes = 0;
  trust.laid = 0;
  trust.fold = (dm_fold){DM_NOT_FOLDED};
  trust.any_shape = v->slabs;
  trust.batch = false;
  trust.nesting = &v->nesting;
  trust.known = v->known;
  trust.log = NULL;
  return trust;
}

/* Whether the numbers of a SOURCE are not its values. */
static bool is_packed_source(const dm_dataset *source) {
  dm_dataset inner = *source;
  if (source->composite && source->composite->sources > 0)
    dm_composite_source(source->composite, 0, &inner); /* other composites were looked at */
  return inner.meaning.active && !inner.meaning.asked;
}

/* Examines the source AT of mapping I as a dataset of its own. */
static dm_status examine_source(virtual *v, size_t i, const dm_location *at, dm_vector vector,
                                dm_dataset *source) {
  char name[DM_NAME];
  const bool known = dm_ahead_find(&v->ahead, (int64_t)i, vector, source);
  const dm_trust trust = trust_in_sources(v, vector);
  if (!known) *source = (dm_dataset){.at = *at};
  dm_status status = known ? DM_OK : dm_examine_at(&trust, source, NULL);
  if (status && !v->trust->nesting)
    return dm_context(status, "%s: its source", dm_location_name(&v->find->at, name));
  DM_TRY(status);
  if (is_packed_source(source)) { /* HDF5 reads its numbers as they are stored: which is meant? */
    status = dm_hint(
        dm_fail_at(DM_E_INPUT, &source->at,
                   "is a source of a virtual dataset, and its attributes say what its numbers mean "
                   "(%.200s)",
                   source->meaning.text),
        "multiply it itself, or copy it; --raw takes the stored numbers");
    dm_dataset_free(source);
    return status;
  }
  if (source->at.dataset[0] == '/') return DM_OK;
  return dm_fail_at(DM_E_INPUT, &v->find->at, "its source '%.300s' is not an HDF5 file", at->file);
}

/* Examines the source of the mapping, unless it is known: in v->mapped if it is virtual itself,
 * else in v->made. */
static dm_status note_source(virtual *v, size_t i, dm_vector vector, const dm_selection *to,
                             dm_selection *from, dm_dataset *source) {
  const dm_composer *const lists[] = {&v->made, &v->mapped};
  int64_t number;
  for (int x = 0; x < 2; x++) {
    number = dm_composer_find(lists[x], &v->source, vector, NULL);
    if (number < 0) continue;
    dm_composer_source(lists[x], number, source);
    return examine_virtual_check_shape(v, to, from, source);
  }
  DM_TRY(examine_source(v, i, &v->source, vector, source));
  dm_status status = examine_virtual_check_type(v, source);
  if (!status) status = examine_virtual_check_shape(v, to, from, source);
  if (!status)
    status =
        dm_file_named(dm_composer_add_source(source->layout == DM_VIRTUAL ? &v->mapped : &v->made,
                                             source, &number),
                      &v->find->at);
  if (status) dm_dataset_free(source);
  return status;
}

/* ---- mappings ---- */

/* A name in which "%%" stands for "%". */
static dm_status take_name(const virtual *v, char name[DM_PATH]) {
  char *out = name;
  for (const char *in = name; *in; in++) {
    if (in[0] == '%' && in[1] == 'b')
      return dm_fail_at(DM_E_INPUT, &v->find->at,
                        "names its sources by number ('%.200s'), which is not supported", name);
    if (in[0] == '%' && in[1] == '%') in++;
    *out++ = *in;
  }
  *out = '\0';
  return DM_OK;
}

static dm_status read_names(const virtual *v, size_t i, char file[DM_PATH], char dataset[DM_PATH]) {
  const ssize_t of_file = H5Pget_virtual_filename(v->creation, i, file, DM_PATH);
  const ssize_t of_set = H5Pget_virtual_dsetname(v->creation, i, dataset, DM_PATH);
  if (of_file < 0 || of_set < 0) return examine_virtual_unreadable(v);
  if (of_file == 0 || of_file >= DM_PATH || of_set == 0 || of_set >= DM_PATH - 1)
    return dm_fail_at(DM_E_INPUT, &v->find->at,
                      "names a source with no character, or with more than %d", DM_PATH - 2);
  DM_TRY(take_name(v, file));
  return take_name(v, dataset);
}

/* Where source NAME:DATASET of mapping I is. */
static dm_status examine_virtual_locate(const virtual *v, size_t i, dm_location *at) {
  char name[DM_PATH], dataset[DM_PATH], text[DM_PATH + 8];
  memset(at, 0, sizeof *at);
  DM_TRY(read_names(v, i, name, dataset));
  DM_TRY(find_file(v, name, at->file));
  snprintf(text, sizeof text, "x:/%s", dataset);
  dm_location normal;
  DM_TRY(dm_location_parse(text, &normal)); /* for comparisons of names */
  memcpy(at->dataset, normal.dataset, sizeof at->dataset);
  return DM_OK;
}

static dm_status add_mapping(virtual *v, size_t i, dm_selection *to, dm_selection *from) {
  dm_dataset source;
  const bool down = to->rank == 1 ? v->trust->vectors == DM_AS_COLUMN : dm_selection_is_column(to);
  const dm_vector vector = down ? DM_AS_COLUMN : DM_AS_ROW; /* if it has one dimension */
  if (dm_ahead_find(&v->ahead, (int64_t)i, vector, &source))
    v->source = source.at;
  else
    DM_TRY(examine_virtual_locate(v, i, &v->source));
  DM_TRY(note_source(v, i, vector, to, from, &source));
  DM_TRY(map_all(v, to, from, vector));
  dm_status status = DM_OK;
  for (int64_t n = 0; n < v->mapped.patches && !status; n++)
    status = dm_composer_add_part(&v->made, &source, &v->mapped.patch[n]);
  return dm_file_named(status, &v->find->at);
}

/* The same with more than two dimensions. */
static dm_status add_slab(virtual *v, size_t i, const dm_slab *to, dm_slab *from) {
  const dm_axes axes = dm_dataset_axes(v->find);
  dm_dataset source;
  DM_TRY(examine_virtual_locate(v, i, &v->source));
  /* One source often fills several places, one after another. */
  const bool same = v->last.at.file[0] && strcmp(v->last.at.file, v->source.file) == 0 &&
                    strcmp(v->last.at.dataset, v->source.dataset) == 0;
  if (same) source = v->last;
  if (!same) DM_TRY(examine_source(v, i, &v->source, DM_AS_ROW, &source));
  if (!source.composite) v->last = source;
  dm_status status = same ? DM_OK : examine_virtual_check_type(v, &source);
  if (!status) status = dm_slab_map(&v->find->at, to, axes.of_rows, from, &source, &v->made);
  dm_dataset_free(&source);
  return status;
}

static dm_status locate_next(const void *owner, int64_t i, dm_location *at) {
  return examine_virtual_locate(owner, (size_t)i, at);
}

/* From mapping I on, if so far most had a source of their own. */
static void examine_ahead(virtual *v, size_t i, size_t count) {
  if (v->made.sources + v->mapped.sources < (int64_t)i / 2) return;
  const dm_trust trust = trust_in_sources(v, DM_AS_ROW);
  dm_ahead_examine(&v->ahead, &trust, locate_next, v, (int64_t)i,
                   dm_min((int64_t)(count - i), EXAMINE_VIRTUAL_BLOCK));
}

static dm_status read_mapping(virtual *v, size_t i) {
  DM_H5_HELD hid_t to = H5Pget_virtual_vspace(v->creation, i);
  DM_H5_HELD hid_t from = to < 0 ? -1 : H5Pget_virtual_srcspace(v->creation, i);
  dm_selection mine = {0}, theirs = {0};
  dm_status status = to < 0 || from < 0 ? examine_virtual_unreadable(v) : DM_OK;
  if (!status && v->slabs && H5Sget_select_type(to) != H5S_SEL_NONE) {
    dm_slab into, out_of;
    DM_TRY(dm_slab_read(&v->find->at, to, &into));
    DM_TRY(dm_slab_read(&v->find->at, from, &out_of));
    return add_slab(v, i, &into, &out_of);
  }
  if (!status && H5Sget_select_type(to) != H5S_SEL_NONE) {
    status = dm_selection_read(&v->find->at, to, "", &mine);
    if (!status) status = dm_selection_read(&v->find->at, from, "a source of it ", &theirs);
    if (!status) status = add_mapping(v, i, &mine, &theirs);
  }
  free(mine.runs);
  free(theirs.runs);
  return status;
}

static dm_status read_fill(const virtual *v, hid_t set, dm_composite *composite) {
  H5D_fill_value_t fill = H5D_FILL_VALUE_UNDEFINED;
  if (H5Pfill_value_defined(v->creation, &fill) < 0) return examine_virtual_unreadable(v);
  if (fill == H5D_FILL_VALUE_UNDEFINED) return DM_OK;
  DM_H5_HELD hid_t type = H5Dget_type(set);
  if (type < 0 || H5Pget_fill_value(v->creation, type, composite->fill) < 0)
    return examine_virtual_unreadable(v);
  if (v->find->swapped) dm_swap_bytes(composite->fill, v->find->dtype, 1);
  return DM_OK;
}

static dm_status examine_virtual_finish(virtual *v, hid_t set) {
  dm_dataset *find = v->find;
  DM_TRY(dm_file_named(dm_composer_finish(&v->made, find->rows, find->cols, &find->composite),
                       &find->at));
  const int64_t missing = find->composite->missing;
  if (missing > 0 && !v->trust->no_data)
    return dm_hint(dm_fail_at(DM_E_INPUT, &find->at, "has no source for %lld of its %lld elements",
                              (long long)missing, (long long)(find->rows * find->cols)),
                   "--allow-no-data reads the fill value instead");
  DM_TRY(read_fill(v, set, find->composite));
  dm_composite_sum_up(find);
  return DM_OK;
}

/* Whether the source of the first mapping has more than two dimensions. */
static bool has_deep_source(const virtual *v, size_t count) {
  DM_H5_HELD hid_t from = count > 0 ? H5Pget_virtual_srcspace(v->creation, 0) : -1;
  const int rank = from < 0 ? 0 : H5Sget_simple_extent_ndims(from);
  H5Eclear2(H5E_DEFAULT);
  return rank > 2;
}

static dm_status examine_virtual_examine(virtual *v, hid_t set) {
  dm_dataset *find = v->find;
  size_t count = 0;
  int64_t elements;
  if (H5Pget_virtual_count(v->creation, &count) < 0) return examine_virtual_unreadable(v);
  dm_axes axes;
  DM_TRY(dm_h5_extents(&find->at, set, &axes));
  v->slabs = axes.count > 2 || v->trust->row_axes == axes.count || has_deep_source(v, count);
  dm_trust trust = *v->trust;
  trust.batch &= v->slabs;
  if (v->slabs) DM_TRY(dm_examine_lay(&trust, &axes, find));
  for (size_t i = 0; i < count; i++) {
    if (i % EXAMINE_VIRTUAL_BLOCK == EXAMINE_VIRTUAL_FEW) examine_ahead(v, i, count);
    DM_TRY(read_mapping(v, i));
  }
  if (!v->slabs) DM_TRY(dm_examine_lay(&trust, &axes, find));
  if (dm_mul_overflows(find->rows, find->cols, &elements) ||
      dm_mul_overflows(elements, dm_dtype_size(find->dtype), &elements))
    return dm_fail_at(DM_E_INPUT, &find->at, "declares more bytes than 64 bits can count");
  return examine_virtual_finish(v, set);
}

dm_status dm_examine_virtual(int64_t set, int64_t creation, const dm_trust *trust,
                             dm_dataset *find) {
  virtual *v;
  DM_TRY(dm_buffer_table(1, &v));
  v->trust = trust;
  v->find = find;
  v->creation = creation;
  find->layout = DM_VIRTUAL;
  find->vector = trust->vectors;
  if (trust->nesting)
    v->nesting = *trust->nesting;
  else
    find_folders(find->at.file, &v->nesting);
  dm_status status = dm_known_new(&v->known);
  if (!status)
    status = v->nesting.depth++ < DEEPEST ? examine_virtual_examine(v, set) : too_deep(v);
  if (status) dm_dataset_free(find);
  dm_ahead_free(&v->ahead);
  dm_known_free(v->known);
  dm_composer_free(&v->made);
  for (int64_t i = 0; i < v->mapped.sources; i++) {
    dm_dataset source;
    dm_composer_source(&v->mapped, i, &source);
    dm_dataset_free(&source);
  }
  dm_composer_free(&v->mapped);
  free(v);
  return status;
}
