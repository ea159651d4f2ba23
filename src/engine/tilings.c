#include "engine/tilings.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/version.h"
#include "run/cache_file.h"

static const dm_dtype types[DM_TILING_TYPES] = {DM_F32, DM_F64};

void dm_tilings_name(const dm_tilings *tilings, dm_dtype type, char name[32]) {
  const int t = dm_tiling_type(type);
  const uint64_t hash = t < 0 ? 0 : XXH3_64bits(tilings->of[t], sizeof tilings->of[t]);
  snprintf(name, 32, "jit:%016llx", (unsigned long long)hash);
}

/* ---- the file ---- */

/* The facts that the speed of tile sizes depends on. */
static void machine_text(const dm_jit_facts *f, char text[192]) {
  snprintf(text, 192, "%s, capability %d, %d processors, driver %d, NVRTC %d", f->gpu,
           f->capability, f->processors, f->driver, f->compiler);
}

static json_t *type_json(const dm_tilings *tilings, int type) {
  char name[32], text[4][128];
  dm_tilings_name(tilings, types[type], name);
  for (int i = 0; i < DM_TILING_CLASSES; i++) dm_tiling_format(&tilings->of[type][i], text[i]);
  return json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", name, dm_tiling_class_name(DM_TILES_TINY),
                   text[0], dm_tiling_class_name(DM_TILES_SMALL), text[1],
                   dm_tiling_class_name(DM_TILES_MEDIUM), text[2],
                   dm_tiling_class_name(DM_TILES_LARGE), text[3]);
}

dm_status dm_tilings_format(const dm_tilings *tilings, const dm_jit_facts *facts, char **text) {
  char machine[192];
  machine_text(facts, machine);
  /* json_pack takes ownership of its arguments, and fails if one is NULL. */
  json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "schema", DM_TILINGS_SCHEMA, "damier",
                           DM_VERSION, "git", DM_GIT, "machine", machine, "f32",
                           type_json(tilings, 0), "f64", type_json(tilings, 1));
  *text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
  json_decref(root);
  return *text ? DM_OK : dm_fail(DM_E_FIT, "no memory for the table of tilings");
}

/* The name stored with the tilings must be that of the tilings read: detects changes. */
static dm_status parse_type(const json_t *list, int type, dm_tilings *tilings) {
  char name[32];
  for (int i = 0; i < DM_TILING_CLASSES; i++) {
    const char *class = dm_tiling_class_name((dm_tiling_class)i);
    const dm_tiling *found = dm_tiling_find(type, dm_cache_text(list, class));
    if (!found)
      return dm_fail(DM_E_INPUT, "it has no tile sizes for %s, %s that jit supports",
                     dm_dtype_name(types[type]), class);
    tilings->of[type][i] = *found;
  }
  dm_tilings_name(tilings, types[type], name);
  if (strcmp(dm_cache_text(list, "name"), name) == 0) return DM_OK;
  return dm_fail(DM_E_INPUT, "its tile sizes do not match their checksum");
}

static dm_status parse(const json_t *root, const void *facts, void *value) {
  char machine[192];
  machine_text(facts, machine);
  if (strcmp(dm_cache_text(root, "machine"), machine) != 0)
    return dm_fail(DM_E_INPUT, "it was measured on '%.190s', this is %s",
                   dm_cache_text(root, "machine"), machine);
  DM_TRY(parse_type(json_object_get(root, "f32"), 0, value));
  return parse_type(json_object_get(root, "f64"), 1, value);
}

static const dm_cache_kind kind = {DM_TILINGS_SCHEMA, sizeof(dm_tilings), parse};

dm_status dm_tilings_parse(const char *text, size_t length, const dm_jit_facts *facts,
                           dm_tilings *tilings) {
  *tilings = dm_tilings_built_in();
  return dm_cache_parse(&kind, text, length, facts, tilings);
}

dm_status dm_tilings_path(const char *gpu, char path[DM_PATH]) {
  return dm_cache_path("tilings", gpu, path);
}

dm_status dm_tilings_read(const char *path, const dm_jit_facts *facts, bool *found,
                          dm_tilings *tilings) {
  *tilings = dm_tilings_built_in();
  return dm_cache_read(&kind, path, facts, found, tilings);
}

dm_status dm_tilings_write(const char *path, bool make_directory, const dm_tilings *tilings,
                           const dm_jit_facts *facts) {
  char *text;
  DM_TRY(dm_tilings_format(tilings, facts, &text));
  dm_status status = dm_cache_write(path, make_directory, text);
  free(text);
  return status;
}

/* ---- use in a job ---- */

/* Rank 0's choice; warns of an invalid file and ignores it. */
static dm_tilings choose(const dm_run *run, const dm_jit_facts *facts) {
  dm_tilings tilings = dm_tilings_built_in();
  char path[DM_PATH];
  bool found = false;
  dm_status none = dm_tilings_path(facts->gpu, path), status = DM_OK;
  if (!none) status = dm_tilings_read(path, facts, &found, &tilings);
  if (status)
    dm_log_line(&run->log, DM_LOG_WARNING,
                "%s: ignored, using built-in tile sizes ('damier tune' renews it)",
                status->message);
  dm_log_line(&run->log, DM_LOG_DETAIL, "tile sizes of jit: %s%s", found ? "from " : "built in",
              found ? path : "");
  dm_status_free(dm_status_first(none, status));
  return tilings;
}

dm_status dm_tilings_agree(dm_run *run, dm_backend *backend, const char *kernel, dm_dtype work,
                           char name[32]) {
  const dm_jit_ops *jit = backend->ops->jit;
  dm_jit_facts facts = {.capability = 0};
  dm_tilings tilings;
  snprintf(name, 32, "%s", kernel);
  if (strcmp(kernel, "jit") != 0 || !jit) return DM_OK;
  DM_TRY(dm_comm_agree(run->world, jit->facts(backend, &facts)));
  if (run->rank == 0) tilings = choose(run, &facts);
  DM_TRY(dm_comm_broadcast(run->world, &tilings, sizeof tilings, 0));
  DM_TRY(dm_comm_agree(run->world, jit->use(backend, &tilings)));
  dm_tilings_name(&tilings, work, name);
  return DM_OK;
}

void dm_tilings_describe(dm_backend *backend, const char *path, dm_record *record) {
  dm_jit_facts facts;
  dm_tilings tilings;
  char file[DM_PATH];
  bool found = false;
  dm_status missing = backend->ops->jit->facts(backend, &facts), status = DM_OK;
  if (!missing) status = dm_tilings_path(facts.gpu, file);
  if (!missing && !status) status = dm_tilings_read(file, &facts, &found, &tilings);
  if (missing)
    dm_record_text(record, path, "  tilings", "none: %s", missing->message);
  else if (status)
    dm_record_text(record, path, "  tilings", "built in; not used: %s", status->message);
  else
    dm_record_text(record, path, "  tilings", "%s%s",
                   found ? "" : "built in; 'damier tune' would write ", file);
  dm_status_free(dm_status_first(missing, status));
}
