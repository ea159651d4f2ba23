#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/version.h"
#include "engine/tilings.h"
#include "run/cache_file.h"

static const dm_dtype types[DM_TILING_TYPES] = {DM_F32, DM_F64};

void dm_tilings_name(const dm_tilings *tilings, dm_dtype type, char name[32]) {
  const int t = dm_tiling_type(type);
  const uint64_t hash = t < 0 ? 0 : XXH3_64bits(tilings->of[t], sizeof tilings->of[t]);
  snprintf(name, 32, "jit:%016llx", (unsigned long long)hash);
}

/* What the speed of tile sizes depends on. */
static void machine_text(const dm_jit_facts *f, char text[192]) {
  snprintf(text, 192, "%s, capability %d, %d processors, driver %d, NVRTC %d", f->gpu,
           f->capability, f->processors, f->driver, f->compiler);
}

/* ---- writing ---- */

static json_t *type_json(const dm_tilings *tilings, int type) {
  char name[32], text[128];
  dm_tilings_name(tilings, types[type], name);
  json_t *list = json_pack("{s:s}", "name", name);
  for (int i = 0; i < DM_TILING_CLASSES && list; i++)
    if (json_object_set_new(list, dm_tiling_class_name((dm_tiling_class)i),
                            json_string(dm_tiling_format(&tilings->of[type][i], text)))) {
      json_decref(list);
      list = NULL;
    }
  return list;
}

dm_status dm_tilings_format(const dm_tilings *tilings, const dm_jit_facts *facts, char **text) {
  char machine[192];
  machine_text(facts, machine);
  /* json_pack takes what it is given, and fails where one of it is NULL. */
  json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "schema", DM_TILINGS_SCHEMA, "damier",
                           DM_VERSION, "git", DM_GIT, "machine", machine, "f32",
                           type_json(tilings, 0), "f64", type_json(tilings, 1));
  *text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
  json_decref(root);
  return *text ? DM_OK : dm_fail(DM_E_FIT, "no memory for the table of tilings");
}

/* ---- reading ---- */

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

/* The name that stands beside the tilings is that of what is read: nothing was changed. */
static dm_status parse_type(const json_t *list, int type, const dm_jit_facts *facts,
                            dm_tilings *tilings) {
  char why[128], name[32];
  for (int i = 0; i < DM_TILING_CLASSES; i++) {
    const char *class = dm_tiling_class_name((dm_tiling_class)i);
    if (!dm_tiling_parse(text_of(list, class), &tilings->of[type][i]))
      return dm_fail(DM_E_INPUT, "it has no tile sizes of %s, %s", dm_dtype_name(types[type]),
                     class);
    if (!dm_tiling_runs(&tilings->of[type][i], types[type], facts->shared, why))
      return dm_fail(DM_E_INPUT, "its tile sizes cannot be used: %s", why);
  }
  dm_tilings_name(tilings, types[type], name);
  if (strcmp(text_of(list, "name"), name) == 0) return DM_OK;
  return dm_fail(DM_E_INPUT, "its tile sizes are not those that it was written with");
}

static dm_status parse(const json_t *root, const dm_jit_facts *facts, dm_tilings *tilings) {
  char machine[192];
  machine_text(facts, machine);
  if (strcmp(text_of(root, "schema"), DM_TILINGS_SCHEMA) != 0)
    return dm_fail(DM_E_INPUT, "it is not of the form " DM_TILINGS_SCHEMA);
  if (strcmp(text_of(root, "machine"), machine) != 0)
    return dm_fail(DM_E_INPUT, "it was measured on '%.190s', this is %s", text_of(root, "machine"),
                   machine);
  DM_TRY(parse_type(json_object_get(root, "f32"), 0, facts, tilings));
  return parse_type(json_object_get(root, "f64"), 1, facts, tilings);
}

dm_status dm_tilings_parse(const char *text, size_t length, const dm_jit_facts *facts,
                           dm_tilings *tilings) {
  json_error_t error;
  json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
  dm_status status =
      root ? parse(root, facts, tilings) : dm_fail(DM_E_INPUT, "it is not JSON: %s", error.text);
  json_decref(root);
  if (status) *tilings = dm_tilings_built_in();
  return status;
}

/* ---- the file ---- */

dm_status dm_tilings_path(const char *gpu, char path[DM_PATH]) {
  return dm_cache_path("tilings", gpu, path);
}

dm_status dm_tilings_read(const char *path, const dm_jit_facts *facts, bool *found,
                          dm_tilings *tilings) {
  char *text;
  size_t length;
  *tilings = dm_tilings_built_in();
  *found = false;
  DM_TRY(dm_cache_read(path, &text, &length));
  if (!text) return DM_OK;
  dm_status status = dm_tilings_parse(text, length, facts, tilings);
  free(text);
  *found = status == DM_OK;
  return dm_context(status, "%s", path);
}

dm_status dm_tilings_write(const char *path, bool make_directory, const dm_tilings *tilings,
                           const dm_jit_facts *facts) {
  char *text;
  DM_TRY(dm_tilings_format(tilings, facts, &text));
  dm_status status = dm_cache_write(path, make_directory, text);
  free(text);
  return status;
}
