#include "engine/rates.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "core/version.h"
#include "run/cache_file.h"

enum { SCALARS = 10, FILES = 3, NUMBERS = DM_OPERANDS + SCALARS }; /* those of files last */

static const double noise = 0.1, largest = 1e20;

static const char *const scalars[SCALARS] = {
    "link_Bps",      "staged_Bps",        "network_Bps",     "beside_products_Bps",
    "upload_Bps",    "device_memory_Bps", "host_memory_Bps", "file_read_Bps",
    "file_cold_Bps", "file_write_Bps"};

/* All numbers in one order. */
static void numbers_of(const dm_rates *r, double numbers[NUMBERS]) {
  const double rest[SCALARS] = {r->link,   r->staged,    r->network,   r->beside,    r->upload,
                                r->memory, r->host_copy, r->file_read, r->file_cold, r->file_write};
  memcpy(numbers, r->flops, sizeof r->flops);
  memcpy(numbers + DM_OPERANDS, rest, sizeof rest);
}

static void set_numbers(dm_rates *r, const double numbers[NUMBERS]) {
  double *const rest[SCALARS] = {&r->link,      &r->staged,    &r->network,   &r->beside,
                                 &r->upload,    &r->memory,    &r->host_copy, &r->file_read,
                                 &r->file_cold, &r->file_write};
  memcpy(r->flops, numbers, sizeof r->flops);
  for (int i = 0; i < SCALARS; i++) *rest[i] = numbers[DM_OPERANDS + i];
}

/* "f64_flops", ..., "link_Bps" */
static void key_of(int number, char key[32]) {
  if (number < DM_OPERANDS)
    snprintf(key, 32, "%s_flops", dm_operand_name(number));
  else
    snprintf(key, 32, "%s", scalars[number - DM_OPERANDS]);
}

/* Three digits: more are noise, and they come back from the file as they went in. */
static double rounded(double rate) {
  char text[32];
  snprintf(text, sizeof text, "%.2e", rate);
  return strtod(text, NULL);
}

static void replace(double *stated, double measured) {
  if (measured > 0) *stated = measured;
}

void dm_rates_apply(const dm_rates *r, const char *transport, dm_machine *machine) {
  const bool same = !transport || strcmp(r->transport, transport) == 0;
  for (int i = 0; i < DM_OPERANDS; i++) replace(&machine->flops[i], r->flops[i]);
  replace(&machine->staged, r->staged);
  replace(&machine->link, same ? r->link : machine->device_links ? 0 : r->staged);
  replace(&machine->network, r->network);
  replace(&machine->beside, r->beside);
  replace(&machine->upload, r->upload);
  replace(&machine->memory, r->memory);
  replace(&machine->host_copy, r->host_copy);
  dm_rates_name(r, machine->rates);
}

void dm_rates_name(const dm_rates *rates, char name[24]) {
  double numbers[NUMBERS];
  const dm_mount *f = &rates->files;
  numbers_of(rates, numbers);
  uint64_t hash = XXH3_64bits(numbers, sizeof numbers);
  hash = XXH3_64bits_withSeed(f->kind, strlen(f->kind), hash);
  hash = XXH3_64bits_withSeed(f->source, strlen(f->source), hash);
  hash = XXH3_64bits_withSeed(f->point, strlen(f->point), hash);
  snprintf(name, 24, "%016llx", (unsigned long long)hash);
}

dm_rates dm_rates_renewed(const dm_rates *old, const dm_rates *measured) {
  double before[NUMBERS], now[NUMBERS];
  dm_rates renewed = *measured;
  const bool kept = !measured->files.kind[0];
  const bool moved = !kept && !dm_io_same_mount(&old->files, &measured->files);
  numbers_of(old, before);
  numbers_of(measured, now);
  for (int i = NUMBERS - FILES; i < NUMBERS; i++) {
    if (kept) now[i] = before[i];
    if (moved) before[i] = 0;
  }
  if (kept) renewed.files = old->files;
  for (int i = 0; i < NUMBERS; i++)
    now[i] = fabs(now[i] - before[i]) <= noise * before[i] ? before[i] : rounded(now[i]);
  set_numbers(&renewed, now);
  return renewed;
}

dm_status dm_rates_path(const dm_rates_facts *facts, char path[DM_PATH]) {
  char name[128];
  snprintf(name, sizeof name, "%s %s %lldx%lld", facts->device, facts->several_nodes ? "n" : "1",
           (long long)facts->ranks, (long long)facts->threads);
  return dm_cache_path("rates", name, path);
}

/* ---- writing ---- */

static json_t *facts_json(const dm_rates_facts *f) {
  return json_pack("{s:s, s:s, s:s, s:b, s:I, s:I}", "backend", f->backend, "device", f->device,
                   "library", f->library, "several_nodes", (int)f->several_nodes, "ranks_per_node",
                   (json_int_t)f->ranks, "threads", (json_int_t)f->threads);
}

static json_t *files_json(const dm_mount *m) {
  return json_pack("{s:s, s:s, s:s}", "file_system", m->kind, "source", m->source, "mount",
                   m->point);
}

static json_t *numbers_json(const dm_rates *rates) {
  double numbers[NUMBERS];
  numbers_of(rates, numbers);
  json_t *object = json_object();
  for (int i = 0; i < NUMBERS; i++) {
    char key[32];
    key_of(i, key);
    if (numbers[i] > 0 && json_object_set_new(object, key, json_real(numbers[i])) != 0) {
      json_decref(object);
      return NULL;
    }
  }
  return object;
}

dm_status dm_rates_format(const dm_rates *rates, const dm_rates_facts *facts, char **text) {
  char name[24];
  dm_rates_name(rates, name);
  json_t *root =
      json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:s}", "schema", DM_RATES_SCHEMA,
                "damier", DM_VERSION, "git", DM_GIT, "date", rates->date, "host", rates->host,
                "transport", rates->transport, "facts", facts_json(facts), "files",
                files_json(&rates->files), "rates", numbers_json(rates), "name", name);
  *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) : NULL;
  json_decref(root);
  return *text ? DM_OK : dm_fail(DM_E_FIT, "no memory for the table of rates");
}

/* ---- reading ---- */

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

static dm_status check_facts(const json_t *facts, const dm_rates_facts *here) {
  const char *const words[][3] = {{"backend", here->backend, "backend"},
                                  {"device", here->device, "device"},
                                  {"library", here->library, "library"}};
  const int64_t numbers[2] = {here->ranks, here->threads};
  const char *const keys[2] = {"ranks_per_node", "threads"};
  if (!json_is_object(facts)) return dm_fail(DM_E_INPUT, "it does not say what it was measured on");
  for (int i = 0; i < 3; i++)
    if (strcmp(text_of(facts, words[i][0]), words[i][1]) != 0)
      return dm_fail(DM_E_INPUT, "it was measured with the %s '%.60s', here it is '%s'",
                     words[i][2], text_of(facts, words[i][0]), words[i][1]);
  for (int i = 0; i < 2; i++) {
    const json_t *found = json_object_get(facts, keys[i]);
    if (!json_is_integer(found) || json_integer_value(found) != numbers[i])
      return dm_fail(DM_E_INPUT, "it was measured with other %s than %lld", keys[i],
                     (long long)numbers[i]);
  }
  const json_t *several = json_object_get(facts, "several_nodes");
  if (!json_is_boolean(several) || json_is_true(several) != here->several_nodes)
    return dm_fail(DM_E_INPUT, "it was measured on %s",
                   here->several_nodes ? "one node" : "several nodes");
  return DM_OK;
}

static dm_status parse_numbers(const json_t *object, dm_rates *rates) {
  double numbers[NUMBERS];
  size_t known = 0;
  if (!json_is_object(object)) return dm_fail(DM_E_INPUT, "it has no rates");
  for (int i = 0; i < NUMBERS; i++) {
    char key[32];
    key_of(i, key);
    const json_t *found = json_object_get(object, key);
    numbers[i] = json_number_value(found);
    known += found != NULL;
    if (found && !(json_is_number(found) && numbers[i] > 0 && numbers[i] < largest))
      return dm_fail(DM_E_INPUT, "its rate %s is none", key);
  }
  if (known != json_object_size(object)) return dm_fail(DM_E_INPUT, "it has unknown rates");
  set_numbers(rates, numbers);
  return DM_OK;
}

/* Where rates of files hold, and that there are none without it. */
static dm_status parse_files(const json_t *object, dm_rates *rates) {
  dm_mount *m = &rates->files;
  snprintf(m->kind, sizeof m->kind, "%s", text_of(object, "file_system"));
  snprintf(m->source, sizeof m->source, "%s", text_of(object, "source"));
  snprintf(m->point, sizeof m->point, "%s", text_of(object, "mount"));
  const bool some = rates->file_read > 0 || rates->file_cold > 0 || rates->file_write > 0;
  const bool all = rates->file_read > 0 && rates->file_write > 0;
  if (some == (m->kind[0] != 0) && all == some) return DM_OK;
  return dm_fail(DM_E_INPUT, "it does not say of which file system its rates of files are");
}

static dm_status parse(const json_t *root, const dm_rates_facts *facts, dm_rates *rates) {
  char name[24];
  if (strcmp(text_of(root, "schema"), DM_RATES_SCHEMA) != 0)
    return dm_fail(DM_E_INPUT, "it is not of the form " DM_RATES_SCHEMA);
  if (strcmp(text_of(root, "damier"), DM_VERSION) != 0)
    return dm_fail(DM_E_INPUT, "it was measured with another version than " DM_VERSION);
  DM_TRY(check_facts(json_object_get(root, "facts"), facts));
  DM_TRY(parse_numbers(json_object_get(root, "rates"), rates));
  DM_TRY(parse_files(json_object_get(root, "files"), rates));
  snprintf(rates->transport, sizeof rates->transport, "%s", text_of(root, "transport"));
  snprintf(rates->date, sizeof rates->date, "%s", text_of(root, "date"));
  snprintf(rates->host, sizeof rates->host, "%s", text_of(root, "host"));
  dm_rates_name(rates, name);
  if (strcmp(text_of(root, "name"), name) != 0)
    return dm_fail(DM_E_INPUT, "its rates are not those that it was written with");
  return DM_OK;
}

dm_status dm_rates_parse(const char *text, size_t length, const dm_rates_facts *facts,
                         dm_rates *rates) {
  json_error_t error;
  memset(rates, 0, sizeof *rates);
  json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
  if (!root) return dm_fail(DM_E_INPUT, "it is not JSON: %s", error.text);
  dm_status status = parse(root, facts, rates);
  json_decref(root);
  if (status) memset(rates, 0, sizeof *rates);
  return status;
}

dm_status dm_rates_read(const char *path, const dm_rates_facts *facts, bool *found,
                        dm_rates *rates) {
  char *text;
  size_t length;
  memset(rates, 0, sizeof *rates);
  *found = false;
  DM_TRY(dm_cache_read(path, &text, &length));
  if (!text) return DM_OK;
  dm_status status = dm_rates_parse(text, length, facts, rates);
  free(text);
  *found = status == DM_OK;
  return dm_context(status, "%s", path);
}
