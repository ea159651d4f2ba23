#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/checked.h"
#include "dataset/chunk_facts.h"
#include "dataset/composite.h"
#include "dataset/dataset.h"
#include "dataset/hdf5_use.h"
#include "dataset/naming.h"

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
static bool location_is_usual(const char *text, const char *last) {
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
  if (!last || location_is_usual(text, last)) return last ? last + 1 : NULL;
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
static const char *location_part_of(const char *text) {
  const char *end = text + strlen(text), *at = end;
  int depth = 0;
  if (at == text || at[-1] != ']' || names_a(text, strlen(text), S_IFREG)) return end;
  do {
    at--;
    depth += (*at == ']') - (*at == '[');
  } while (depth > 0 && at > text);
  return depth == 0 && at > text && at[-1] != '/' ? at : end;
}

static dm_status parse_dataset(const char *text, dm_location *location);

dm_status dm_location_parse(const char *text, dm_location *location) {
  const char *part = location_part_of(text);
  char whole[DM_ATTRIBUTE_TEXT];
  if (*part == '\0') return parse_dataset(text, location);
  if (strlen(text) >= sizeof whole || strlen(part) >= DM_PATH)
    return dm_fail(DM_E_USAGE, "the name '%.60s...' has more than %d characters", text,
                   DM_PATH - 1);
  snprintf(whole, sizeof whole, "%.*s", (int)(part - text), text);
  DM_TRY(parse_dataset(whole, location));
  strcpy(location->part, part);
  return DM_OK;
}

static dm_status parse_dataset(const char *text, dm_location *location) {
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
