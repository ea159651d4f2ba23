#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/checked.h"
#include "file/chunk_facts.h"
#include "file/composite.h"
#include "file/dataset.h"
#include "file/hdf5_use.h"
#include "file/inspect.h"
#include "file/naming.h"

/* Whether the first LENGTH characters of TEXT name what has the MODE, S_IFREG or S_IFDIR. */
static bool names_a(const char *text, size_t length, mode_t mode) {
  char path[DM_PATH];
  struct stat info;
  if (length == 0 || length >= sizeof path) return false;
  memcpy(path, text, length);
  path[length] = '\0';
  return stat(path, &info) == 0 && (info.st_mode & S_IFMT) == mode;
}

/* Whether FILE.h5:/dataset is the only way to read TEXT, whose last ":/" is at LAST: files have a
 * suffix and datasets have none. Then no file system is asked, which might not answer. */
static bool is_usual(const char *text, const char *last) {
  const char *slash = memrchr(text, '/', (size_t)(last - text)), *name = slash ? slash + 1 : text;
  return strstr(text, ":/") == last && memchr(name, '.', (size_t)(last - name)) &&
         !strchr(last, '.');
}

/* The start of the dataset's name, a slash after a colon: the last one whose file exists, else the
 * last one, unless what is before it is a folder with a colon in its name. NULL: there is none. */
static const char *dataset_part(const char *text, bool *ambiguous) {
  const char *last = NULL, *existing = NULL;
  *ambiguous = false;
  for (const char *at = strstr(text, ":/"); at; at = strstr(at + 1, ":/")) last = at;
  if (!last || is_usual(text, last)) return last ? last + 1 : NULL;
  for (const char *at = strstr(text, ":/"); at; at = strstr(at + 1, ":/"))
    if (names_a(text, (size_t)(at - text), S_IFREG)) existing = at;
  const bool folder = last[2] && names_a(text, (size_t)(last + 1 - text), S_IFDIR);
  *ambiguous = folder && existing == last;
  return existing ? existing + 1 : folder ? NULL : last + 1;
}

/* If TEXT is FILE.h5:dataset, without the slash, and no file has that name: the dataset, else
 * NULL. */
static const char *without_slash(const char *text) {
  static const char *const endings[] = {".h5:",  ".hdf5:", ".he5:",    ".hdf:",  ".nc:", ".nc4:",
                                        ".mat:", ".h5ad:", ".h5part:", ".zarr:", NULL};
  for (int i = 0; endings[i]; i++) {
    const char *found = strcasestr(text, endings[i]);
    const char *name = found ? found + strlen(endings[i]) : "";
    if (*name && *name != '/' && !names_a(text, strlen(text), S_IFREG)) return name;
  }
  return NULL;
}

/* Removes repeated slashes, "." and a trailing slash, so that names can be compared. */
static void normalize(char *path) {
  char *out = path;
  for (const char *in = path; *in;) {
    while (*in == '/') in++;
    size_t length = strcspn(in, "/");
    if (length > 0 && !(length == 1 && *in == '.')) {
      *out++ = '/';
      memmove(out, in, length);
      out += length;
    }
    in += length;
  }
  if (out == path) *out++ = '/';
  *out = '\0';
}

/* The start of the part of TEXT, "[...]" at its end; its end: there is none, or a file has that
 * name. Brackets that follow a slash are a name. */
static const char *part_of(const char *text) {
  const char *end = text + strlen(text), *at = end;
  int depth = 0;
  if (at == text || at[-1] != ']' || names_a(text, strlen(text), S_IFREG)) return end;
  do {
    at--;
    depth += (*at == ']') - (*at == '[');
  } while (depth > 0 && at > text);
  return depth == 0 && at > text && at[-1] != '/' ? at : end;
}

static dm_status parse_whole(const char *text, dm_location *location);

dm_status dm_location_parse(const char *text, dm_location *location) {
  const char *part = part_of(text);
  char whole[DM_ATTRIBUTE_TEXT];
  if (*part == '\0') return parse_whole(text, location);
  if (strlen(text) >= sizeof whole || strlen(part) >= DM_PATH)
    return dm_fail(DM_E_USAGE, "the name '%.60s...' has more than %d characters", text,
                   DM_PATH - 1);
  snprintf(whole, sizeof whole, "%.*s", (int)(part - text), text);
  DM_TRY(parse_whole(whole, location));
  strcpy(location->part, part);
  return DM_OK;
}

static dm_status parse_whole(const char *text, dm_location *location) {
  bool ambiguous;
  const char *dataset = dataset_part(text, &ambiguous);
  size_t length = dataset ? (size_t)(dataset - 1 - text) : strlen(text);
  if (length == 0)
    return dm_hint(dm_fail(DM_E_USAGE, "'%.200s' names no file", text),
                   "a matrix is named FILE.h5:/path/to/dataset");
  if (ambiguous)
    return dm_hint(dm_fail(DM_E_USAGE, "'%.200s' names a dataset, or a file in the folder '%.*s'",
                           text, (int)dm_min(dataset - text, 200), text),
                   "the file's dataset is '%.200s:/dataset'; else rename the folder", text);
  const char *name = dataset ? NULL : without_slash(text);
  if (name)
    return dm_hint(dm_fail(DM_E_USAGE, "'%.200s': the name of a dataset begins with a slash", text),
                   "did you mean '%.*s/%.100s'?", (int)dm_min(name - text, 200), text, name);
  if (length >= DM_PATH || (dataset && strlen(dataset) >= DM_PATH))
    return dm_fail(DM_E_USAGE, "the name '%.60s...' has more than %d characters", text,
                   DM_PATH - 1);
  if (strlen(text) >= DM_ATTRIBUTE_TEXT) /* provenance records it */
    return dm_fail(DM_E_USAGE, "the name '%.60s...' has more than %d characters", text,
                   DM_ATTRIBUTE_TEXT - 1);
  memset(location, 0, sizeof *location);
  memcpy(location->file, text, length);
  if (dataset) {
    memcpy(location->dataset, dataset, strlen(dataset));
    normalize(location->dataset);
  }
  return DM_OK;
}

const char *dm_location_name(const dm_location *at, char text[DM_NAME]) {
  snprintf(text, DM_NAME, "%s%s%s%s", at->file, at->dataset[0] ? ":" : "", at->dataset, at->part);
  return text;
}

dm_status dm_file_named(dm_status status, const dm_location *at) {
  char name[DM_NAME];
  if (!status) return DM_OK;
  return dm_context(status, "%s", dm_location_name(at, name));
}

/* Bytes of the UTF-8 character at TEXT; 0 if it is invalid or a control character. */
static int character_bytes(const unsigned char *text) {
  if (text[0] < 0x20 || text[0] == 0x7f) return 0;
  if (text[0] < 0x80) return 1;
  int length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : text[0] >= 0xc2 ? 2 : 0;
  if (text[0] > 0xf4) return 0;
  for (int i = 1; i < length; i++)
    if ((text[i] & 0xc0) != 0x80) return 0;
  return text[0] == 0xc2 && text[1] < 0xa0 ? 0 : length;
}

bool dm_text_clean(char *text) {
  bool clean = true;
  for (unsigned char *at = (unsigned char *)text; *at;) {
    int length = character_bytes(at);
    if (length == 0) *at = '?', clean = false, length = 1;
    at += length;
  }
  return clean;
}

dm_status dm_attributes_add(dm_attributes *attributes, const char *name, const char *format, ...) {
  if (attributes->count < 0 || attributes->count >= DM_ATTRIBUTES)
    return dm_fail(DM_E_BUG, "no room for the attribute '%s' after %d others", name,
                   attributes->count);
  dm_attribute *attribute = &attributes->list[attributes->count++];
  memset(attribute, 0, sizeof *attribute);
  snprintf(attribute->name, sizeof attribute->name, "%s", name);
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(attribute->text, sizeof attribute->text, format, arguments);
  va_end(arguments);
  if (length >= 0 && length < (int)sizeof attribute->text) return DM_OK;
  attributes->count--;
  return dm_fail(DM_E_BUG, "the text of the attribute '%s' has more than %d characters", name,
                 DM_ATTRIBUTE_TEXT - 1);
}

const char *dm_attributes_find(const dm_attributes *attributes, const char *name) {
  for (int i = 0; i < attributes->count; i++)
    if (strcmp(attributes->list[i].name, name) == 0) return attributes->list[i].text;
  return NULL;
}

dm_status dm_file_sibling(const dm_location *at, const char *ending, char path[DM_SIBLING_PATH]) {
  const int length = snprintf(path, DM_SIBLING_PATH, "%s%s", at->file, ending);
  const char *slash = strrchr(path, '/');
  if (length >= DM_PATH || strlen(slash ? slash + 1 : path) > NAME_MAX)
    return dm_fail_at(DM_E_USAGE, at, "its name is too long");
  return DM_OK;
}

dm_status dm_file_failed(const dm_location *at, const char *path, const char *what) {
  return dm_fail_at(DM_E_IO, at, "'%s' cannot be %s: %s", path, what, strerror(errno));
}

dm_status dm_file_hint_home(dm_status status) {
  return dm_hint(status, "shells replace ~ only where a word begins, without quotes: $HOME/... "
                         "always works");
}

bool dm_path_names(const char *path, int fd) {
  struct stat named, held;
  return lstat(path, &named) == 0 && fstat(fd, &held) == 0 && named.st_ino == held.st_ino &&
         named.st_dev == held.st_dev;
}

void dm_path_directory(const char *file, char directory[DM_PATH]) {
  snprintf(directory, DM_PATH, "%s", file);
  char *slash = strrchr(directory, '/');
  if (!slash)
    snprintf(directory, DM_PATH, ".");
  else if (slash == directory)
    slash[1] = '\0';
  else
    *slash = '\0';
}

void dm_dataset_set_memory(dm_dataset *dataset, dm_view view) {
  dataset->memory = view;
  dataset->by_columns = view.row_stride < view.col_stride;
}

bool dm_dataset_is_same(const dm_dataset *a, const dm_dataset *b) {
  char names[2][DM_NAME];
  return a->device == b->device && a->inode == b->inode && a->at.row_axes == b->at.row_axes &&
         a->at.complex_axis == b->at.complex_axis && a->at.fold.way == b->at.fold.way &&
         a->at.fold.rows == b->at.fold.rows && a->at.fold.cols == b->at.fold.cols &&
         strcmp(dm_location_name(&a->at, names[0]), dm_location_name(&b->at, names[1])) == 0;
}

/* ---- how a dataset is stored ---- */

void dm_h5_library(char *text, int64_t size) {
  DM_H5_ALONE;
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  unsigned version = major * 10000 + minor * 100 + release;
  const char *warning = "";
  if (major != H5_VERS_MAJOR || minor != H5_VERS_MINOR)
    warning = "; these do not fit together";
  else if (version < 11404)
    warning = "; before 1.14.4 crafted files can crash it";
  snprintf(text, (size_t)size, "HDF5 %u.%u.%u (loaded), built with %d.%d.%d%s", major, minor,
           release, H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE, warning);
}

const char *dm_parts_text(dm_parts where) {
  static const char *const texts[] = {
      [DM_PARTS_TOGETHER] = "",
      [DM_PARTS_PAIRED] = "complex: the last axis has real and imaginary parts",
      [DM_PARTS_LAST] = "complex: the last axis has real and imaginary parts",
      [DM_PARTS_FIRST] = "complex: the first axis has real and imaginary parts"};
  return texts[where];
}

const char *dm_fold_text(const dm_fold *fold, char text[DM_FOLD_TEXT]) {
  static const char *const ways[] = {[DM_FOLD_ROWS] = "row after row",
                                     [DM_FOLD_COLUMNS] = "column after column",
                                     [DM_FOLD_LOWER] = "lower",
                                     [DM_FOLD_UPPER] = "upper"};
  text[0] = '\0';
  if (fold->way == DM_FOLD_ROWS || fold->way == DM_FOLD_COLUMNS)
    snprintf(text, DM_FOLD_TEXT, "a line of numbers as %lld x %lld, %s", (long long)fold->rows,
             (long long)fold->cols, ways[fold->way]);
  else if (fold->way != DM_NOT_FOLDED)
    snprintf(text, DM_FOLD_TEXT, "the %s triangle of a symmetric matrix, row after row",
             ways[fold->way]);
  return text;
}

void dm_dataset_describe_meaning(const dm_dataset *dataset, char *text, int64_t size) {
  static const char *const done[DM_MISSING_END] = {"refused",
                                                   "read as NaN",
                                                   "read as 0",
                                                   "replaced by the mean",
                                                   "left out pair by pair",
                                                   "left out with their observations"};
  const dm_meaning *m = &dataset->meaning;
  const bool says = m->found;
  const char *complex = dataset->compound.pairs
                            ? "complex: two equal members are real and imaginary parts"
                            : dm_parts_text(dataset->parts);
  char folded[DM_FOLD_TEXT];
  dm_fold_text(&dataset->at.fold, folded);
  snprintf(text, (size_t)size, "%s%s%s%s%s%s%s", folded,
           folded[0] && (complex[0] || m->text[0]) ? "; " : "", complex,
           complex[0] && m->text[0] ? "; " : "", m->text, says ? "; missing values are " : "",
           says ? done[m->missing] : "");
}

/* Appends to TEXT, which stays terminated. */
static void append(char *text, int64_t size, int64_t *used, const char *more) {
  if (*used < size) *used += snprintf(text + *used, (size_t)(size - *used), "%s", more);
}

/* *source: what the composite DATASET is, if it only holds what its meaning points to. */
static bool is_wrapped(const dm_dataset *dataset, dm_dataset *source) {
  if (!dataset->composite || dataset->composite->sources != 1 || dataset->at.part[0]) return false;
  dm_composite_source(dataset->composite, 0, source);
  return dm_meaning_points(&source->meaning) && dm_dataset_is_same(dataset, source);
}

void dm_dataset_describe(const dm_dataset *dataset, char *text, int64_t size) {
  dm_dataset source;
  if (is_wrapped(dataset, &source)) dataset = &source;
  static const char *const layouts[] = {"contiguous", "chunked", "compact", "virtual"};
  int64_t used = 0;
  if (dataset->composite && dataset->composite->sources == 0) {
    append(text, size, &used, "one number for all elements");
    return;
  }
  append(text, size, &used, layouts[dataset->layout]);
  if (dataset->layout == DM_CHUNKED) {
    char shape[64];
    snprintf(shape, sizeof shape, " %lld x %lld", (long long)dataset->chunk_rows,
             (long long)dataset->chunk_cols);
    append(text, size, &used, shape);
  }
  if (dataset->composite) {
    char count[64];
    const long long sources = dataset->composite->sources;
    snprintf(count, sizeof count, ", %lld source%s", sources, sources == 1 ? "" : "s");
    append(text, size, &used, count);
  }
  for (const dm_filter *f = dm_filters; f->flag; f++) {
    if (!(dataset->filters & f->flag)) continue;
    append(text, size, &used, ", ");
    append(text, size, &used, f->name);
  }
  if (dataset->filters & DM_FILTER_OTHER) append(text, size, &used, ", other filters");
  if (dataset->zarr)
    append(text, size, &used, ", of Zarr");
  else if (!dataset->at.dataset[0] && !dataset->stack)
    append(text, size, &used,
           dataset->genotypes ? ", 2 bits each, in a file of PLINK" : " in a file of NumPy");
  if (dataset->by_columns) append(text, size, &used, ", by columns");
  if (dataset->swapped) append(text, size, &used, ", other byte order");
  if (dataset->layout != DM_VIRTUAL && dataset->stored_bytes == 0)
    append(text, size, &used, ", no data");
}
