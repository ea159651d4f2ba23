#include "engine/rates.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "core/version.h"
#include "run/cache_file.h"

enum { FILES = 3 }; /* rates of files come last */

static const double noise = 0.1, largest = 1e20;

void dm_rates_key(int number, char key[32], char label[32]) {
  static const char *const rest[][2] = {
      {"link_Bps", "links in a node"},         {"staged_Bps", "  through host memory"},
      {"network_Bps", "network, into a node"}, {"beside_products_Bps", "  by cores that multiply"},
      {"upload_Bps", "host to device"},        {"device_memory_Bps", "device memory"},
      {"host_memory_Bps", "host memory"},      {"file_read_Bps", "files, from the page cache"},
      {"file_cold_Bps", "  not from there"},   {"file_write_Bps", "  written and synced"}};
  const bool product = number < DM_OPERANDS;
  const char *const *words = rest[product ? 0 : number - DM_OPERANDS];
  snprintf(key, 32, product ? "%s_flops" : "%s", product ? dm_operand_name(number) : words[0]);
  snprintf(label, 32, product ? "products, %s" : "%s",
           product ? dm_operand_name(number) : words[1]);
}

/* Keeps three digits: more are noise. They survive the file unchanged. */
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
  for (int i = 0; i < DM_OPERANDS; i++) {
    if (r->flops[i] > 0) machine->speed_now = 1; /* measured on these cores */
    replace(&machine->flops[i], r->flops[i]);
  }
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
  const dm_mount *f = &rates->files;
  uint64_t hash = XXH3_64bits(rates->numbers, sizeof rates->numbers);
  hash = XXH3_64bits_withSeed(f->kind, strlen(f->kind), hash);
  hash = XXH3_64bits_withSeed(f->source, strlen(f->source), hash);
  hash = XXH3_64bits_withSeed(f->point, strlen(f->point), hash);
  snprintf(name, 24, "%016llx", (unsigned long long)hash);
}

dm_rates dm_rates_renewed(const dm_rates *old, const dm_rates *measured) {
  dm_rates renewed = *measured;
  const bool kept = !measured->files.kind[0];
  const bool moved = !kept && !dm_io_same_mount(&old->files, &measured->files);
  if (kept) renewed.files = old->files;
  for (int i = 0; i < DM_RATES; i++) {
    const bool file = i >= DM_RATES - FILES;
    const double before = file && moved ? 0 : old->numbers[i];
    double *now = &renewed.numbers[i];
    if (file && kept) *now = before;
    *now = fabs(*now - before) <= noise * before ? before : rounded(*now);
  }
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
  json_t *object = json_object();
  for (int i = 0; i < DM_RATES; i++) {
    char key[32], label[32];
    const double number = rates->numbers[i];
    dm_rates_key(i, key, label);
    if (number > 0 && json_object_set_new(object, key, json_real(number)) != 0) {
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

static dm_status check_facts(const json_t *facts, const dm_rates_facts *here) {
  const char *const words[][3] = {{"backend", here->backend, "backend"},
                                  {"device", here->device, "device"},
                                  {"library", here->library, "library"}};
  const int64_t numbers[2] = {here->ranks, here->threads};
  const char *const keys[2] = {"ranks_per_node", "threads"};
  if (!json_is_object(facts))
    return dm_fail(DM_E_INPUT, "it does not name the device it was measured on");
  for (int i = 0; i < 3; i++)
    if (strcmp(dm_cache_text(facts, words[i][0]), words[i][1]) != 0)
      return dm_fail(DM_E_INPUT, "it was measured with the %s '%.60s', here it is '%s'",
                     words[i][2], dm_cache_text(facts, words[i][0]), words[i][1]);
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
  size_t known = 0;
  if (!json_is_object(object)) return dm_fail(DM_E_INPUT, "it has no rates");
  for (int i = 0; i < DM_RATES; i++) {
    char key[32], label[32];
    dm_rates_key(i, key, label);
    const json_t *found = json_object_get(object, key);
    const double number = json_number_value(found);
    rates->numbers[i] = number;
    known += found != NULL;
    if (found && !(json_is_number(found) && number > 0 && number < largest))
      return dm_fail(DM_E_INPUT, "its rate %s is out of range", key);
  }
  if (known != json_object_size(object)) return dm_fail(DM_E_INPUT, "it has unknown rates");
  return DM_OK;
}

/* Reads the file system of the rates of files; without it there must be none. */
static dm_status parse_files(const json_t *object, dm_rates *rates) {
  dm_mount *m = &rates->files;
  snprintf(m->kind, sizeof m->kind, "%s", dm_cache_text(object, "file_system"));
  snprintf(m->source, sizeof m->source, "%s", dm_cache_text(object, "source"));
  snprintf(m->point, sizeof m->point, "%s", dm_cache_text(object, "mount"));
  const bool some = rates->file_read > 0 || rates->file_cold > 0 || rates->file_write > 0;
  const bool all = rates->file_read > 0 && rates->file_write > 0;
  if (some == (m->kind[0] != 0) && all == some) return DM_OK;
  return dm_fail(DM_E_INPUT, "it does not name the file system of its file rates");
}

static dm_status parse(const json_t *root, const void *facts, void *value) {
  dm_rates *rates = value;
  char name[24];
  if (strcmp(dm_cache_text(root, "damier"), DM_VERSION) != 0)
    return dm_fail(DM_E_INPUT, "it was measured with another version than " DM_VERSION);
  DM_TRY(check_facts(json_object_get(root, "facts"), facts));
  DM_TRY(parse_numbers(json_object_get(root, "rates"), rates));
  DM_TRY(parse_files(json_object_get(root, "files"), rates));
  snprintf(rates->transport, sizeof rates->transport, "%s", dm_cache_text(root, "transport"));
  snprintf(rates->date, sizeof rates->date, "%s", dm_cache_text(root, "date"));
  snprintf(rates->host, sizeof rates->host, "%s", dm_cache_text(root, "host"));
  dm_rates_name(rates, name);
  if (strcmp(dm_cache_text(root, "name"), name) != 0)
    return dm_fail(DM_E_INPUT, "its rates do not match their checksum");
  return DM_OK;
}

static const dm_cache_kind kind = {DM_RATES_SCHEMA, sizeof(dm_rates), parse};

dm_status dm_rates_parse(const char *text, size_t length, const dm_rates_facts *facts,
                         dm_rates *rates) {
  memset(rates, 0, sizeof *rates);
  return dm_cache_parse(&kind, text, length, facts, rates);
}

dm_status dm_rates_read(const char *path, const dm_rates_facts *facts, bool *found,
                        dm_rates *rates) {
  memset(rates, 0, sizeof *rates);
  return dm_cache_read(&kind, path, facts, found, rates);
}
