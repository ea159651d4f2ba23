#include "engine/tunings.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "core/version.h"

enum { FIELDS = 11, MOST_SIZE = 1 << 24 };

static const dm_dtype types[DM_TILING_TYPES] = {DM_F32, DM_F64};
static const char *const fields[FIELDS] = {"bm",   "bn",     "bk",    "stages", "wm",     "wn",
                                           "down", "blocks", "group", "parts",  "by_rows"};

/* In the order of FIELDS, which is that of the structure. */
_Static_assert(sizeof(dm_tiling) == FIELDS * sizeof(int), "every number of a tiling has a name");

static void numbers_of(const dm_tiling *t, int numbers[FIELDS]) {
  memcpy(numbers, t, sizeof *t);
}

static dm_tiling tiling_of(const int numbers[FIELDS]) {
  dm_tiling tiling;
  memcpy(&tiling, numbers, sizeof tiling);
  return tiling;
}

dm_tilings dm_tunings_tilings(const dm_tunings *tunings) {
  dm_tilings tilings = dm_tilings_built_in();
  for (int t = 0; t < DM_TILING_TYPES; t++)
    for (int i = 0; i < DM_TILING_CLASSES; i++)
      if (tunings->of[t][i].measured) tilings.of[t][i] = tunings->of[t][i].tiling;
  return tilings;
}

uint64_t dm_tilings_hash(const dm_tilings *tilings, dm_dtype type) {
  int64_t all[DM_TILING_CLASSES][FIELDS] = {{0}};
  const int t = dm_tiling_type(type);
  for (int i = 0; t >= 0 && i < DM_TILING_CLASSES; i++) {
    int numbers[FIELDS];
    numbers_of(&tilings->of[t][i], numbers);
    for (int f = 0; f < FIELDS; f++) all[i][f] = numbers[f];
  }
  return XXH3_64bits(all, sizeof all);
}

void dm_tilings_name(const dm_tilings *tilings, dm_dtype type, char name[32]) {
  snprintf(name, 32, "jit:%016llx", (unsigned long long)dm_tilings_hash(tilings, type));
}

/* ---- writing ---- */

static json_t *facts_json(const dm_jit_facts *f) {
  return json_pack("{s:s, s:i, s:i, s:i, s:i}", "gpu", f->gpu, "capability", f->capability,
                   "processors", f->processors, "driver", f->driver, "nvrtc", f->compiler);
}

static json_t *tuned_json(const dm_tuned *tuned, dm_dtype type, dm_tiling_class kind) {
  int numbers[FIELDS];
  numbers_of(&tuned->tiling, numbers);
  json_t *entry =
      json_pack("{s:s, s:s}", "type", dm_dtype_name(type), "class", dm_tiling_class_name(kind));
  bool failed = !entry;
  for (int f = 0; f < FIELDS; f++)
    failed |= json_object_set_new(entry, fields[f], json_integer(numbers[f])) != 0;
  failed |= json_object_set_new(entry, "size", json_integer(tuned->size)) != 0;
  failed |= json_object_set_new(entry, "flops", json_real(tuned->flops)) != 0;
  failed |= json_object_set_new(entry, "built_in_flops", json_real(tuned->built_in_flops)) != 0;
  if (!failed) return entry;
  json_decref(entry);
  return NULL;
}

static json_t *list_json(const dm_tunings *tunings) {
  json_t *list = json_array();
  for (int t = 0; t < DM_TILING_TYPES; t++)
    for (int i = 0; i < DM_TILING_CLASSES; i++) {
      if (!tunings->of[t][i].measured) continue;
      json_t *entry = tuned_json(&tunings->of[t][i], types[t], (dm_tiling_class)i);
      if (!entry || json_array_append_new(list, entry) != 0) {
        json_decref(list);
        return NULL;
      }
    }
  return list;
}

dm_status dm_tunings_format(const dm_tunings *tunings, const dm_jit_facts *facts, char **text) {
  const dm_tilings tilings = dm_tunings_tilings(tunings);
  char date[32] = "", f32[32], f64[32];
  time_t now = time(NULL);
  struct tm utc;
  if (gmtime_r(&now, &utc)) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
  dm_tilings_name(&tilings, DM_F32, f32);
  dm_tilings_name(&tilings, DM_F64, f64);
  /* json_pack takes what it is given, and fails where one of it is NULL. */
  json_t *root =
      json_pack("{s:s, s:s, s:s, s:s, s:o, s:{s:s, s:s}, s:o}", "schema", DM_TUNINGS_SCHEMA,
                "damier", DM_VERSION, "git", DM_GIT, "date", date, "facts", facts_json(facts),
                "names", "f32", f32, "f64", f64, "tilings", list_json(tunings));
  *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) : NULL;
  json_decref(root);
  return *text ? DM_OK : dm_fail(DM_E_FIT, "no memory for the table of tilings");
}

/* ---- reading ---- */

static bool integer_of(const json_t *object, const char *key, int64_t least, int64_t most,
                       int64_t *value) {
  const json_t *found = json_object_get(object, key);
  *value = json_integer_value(found);
  return json_is_integer(found) && *value >= least && *value <= most;
}

static bool rate_of(const json_t *object, const char *key, double *value) {
  const json_t *found = json_object_get(object, key);
  *value = json_number_value(found);
  return json_is_number(found) && isfinite(*value) && *value >= 0.0 && *value < 1e20;
}

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

static dm_status check_facts(const json_t *facts, const dm_jit_facts *here) {
  const char *const keys[] = {"capability", "processors", "driver", "nvrtc"};
  const int wanted[] = {here->capability, here->processors, here->driver, here->compiler};
  if (!json_is_object(facts)) return dm_fail(DM_E_INPUT, "it does not say what it was measured on");
  if (strcmp(text_of(facts, "gpu"), here->gpu) != 0)
    return dm_fail(DM_E_INPUT, "it was measured on another GPU than %s", here->gpu);
  for (int i = 0; i < 4; i++) {
    int64_t value;
    if (!integer_of(facts, keys[i], 0, INT32_MAX, &value))
      return dm_fail(DM_E_INPUT, "it does not say with which %s it was measured", keys[i]);
    if (value != wanted[i])
      return dm_fail(DM_E_INPUT, "it was measured with %s %lld, here it is %d", keys[i],
                     (long long)value, wanted[i]);
  }
  return DM_OK;
}

static int find_class(const char *name) {
  for (int i = 0; i < DM_TILING_CLASSES; i++)
    if (strcmp(name, dm_tiling_class_name((dm_tiling_class)i)) == 0) return i;
  return -1;
}

static dm_status parse_tuned(const json_t *entry, const dm_jit_facts *facts, dm_tunings *tunings) {
  const char *type = text_of(entry, "type");
  const int t = strcmp(type, "f32") == 0 ? 0 : strcmp(type, "f64") == 0 ? 1 : -1;
  const int kind = find_class(text_of(entry, "class"));
  if (t < 0 || kind < 0) return dm_fail(DM_E_INPUT, "a tiling is of no known type or class");
  dm_tuned *tuned = &tunings->of[t][kind];
  if (tuned->measured) return dm_fail(DM_E_INPUT, "it has two tilings for the same products");
  int numbers[FIELDS];
  for (int f = 0; f < FIELDS; f++) {
    int64_t value;
    if (!integer_of(entry, fields[f], 0, 4096, &value))
      return dm_fail(DM_E_INPUT, "%s of a tiling is missing or out of range", fields[f]);
    numbers[f] = (int)value;
  }
  *tuned = (dm_tuned){.measured = true, .tiling = tiling_of(numbers)};
  char why[128];
  if (!dm_tiling_fits(&tuned->tiling, types[t], &facts->limits, why))
    return dm_fail(DM_E_INPUT, "a tiling cannot be used: %s", why);
  if (!integer_of(entry, "size", 1, MOST_SIZE, &tuned->size) ||
      !rate_of(entry, "flops", &tuned->flops) ||
      !rate_of(entry, "built_in_flops", &tuned->built_in_flops))
    return dm_fail(DM_E_INPUT, "the rates of a tiling are missing or out of range");
  return DM_OK;
}

/* The names that stand beside the tilings are those of what is read: nothing was lost. */
static dm_status check_names(const json_t *names, const dm_tunings *tunings) {
  const dm_tilings tilings = dm_tunings_tilings(tunings);
  for (int t = 0; t < DM_TILING_TYPES; t++) {
    char name[32];
    dm_tilings_name(&tilings, types[t], name);
    if (strcmp(text_of(names, dm_dtype_name(types[t])), name) != 0)
      return dm_fail(DM_E_INPUT, "its tilings are not those that it was written with");
  }
  return DM_OK;
}

static dm_status parse(const json_t *root, const dm_jit_facts *facts, dm_tunings *tunings) {
  if (strcmp(text_of(root, "schema"), DM_TUNINGS_SCHEMA) != 0)
    return dm_fail(DM_E_INPUT, "it is not of the form " DM_TUNINGS_SCHEMA);
  DM_TRY(check_facts(json_object_get(root, "facts"), facts));
  const json_t *list = json_object_get(root, "tilings");
  const size_t count = json_array_size(list);
  if (!json_is_array(list) || count > (size_t)DM_TILING_TYPES * DM_TILING_CLASSES)
    return dm_fail(DM_E_INPUT, "it has no list of tilings");
  for (size_t i = 0; i < count; i++) DM_TRY(parse_tuned(json_array_get(list, i), facts, tunings));
  return check_names(json_object_get(root, "names"), tunings);
}

dm_status dm_tunings_parse(const char *text, size_t length, const dm_jit_facts *facts,
                           dm_tunings *tunings) {
  json_error_t error;
  memset(tunings, 0, sizeof *tunings);
  json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
  if (!root) return dm_fail(DM_E_INPUT, "it is not JSON: %s", error.text);
  dm_status status = parse(root, facts, tunings);
  json_decref(root);
  if (status) memset(tunings, 0, sizeof *tunings);
  return status;
}
