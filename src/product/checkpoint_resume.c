/* What an earlier run left: found, compared with this command, trusted after its tiles were read
 * again; and what a wrong C leaves for the next round. */
#include "dataset/dataset_text.h"
#include "inspect/inspect.h"
#include "product/checkpoint_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/compute.h"
#include "core/element_sum.h"
#include "core/version.h"
#include "dataset/file_system.h"
#include "io/journal.h"
#include "io/read.h"
#include "io/tile_sums.h"
#include "plan/partition.h"
#include "product/provenance.h"
#include "run/run.h"

/* ---- what must be equal ---- */

static dm_status add_number(dm_attributes *list, const char *name, int64_t value) {
  return dm_attributes_add(list, name, "%lld", (long long)value);
}

/* Without the file's name: the same command may run in another directory. What is in memory is
 * identified by its elements, once the backend can reach them; what has none, by k. */
static dm_status add_input(dm_attributes *list, const char *letter, const dm_dataset *input,
                           bool in_memory) {
  if (in_memory || dm_dataset_is_empty(input)) return DM_OK;
  char name[4][DM_ATTRIBUTE_NAME];
  uint64_t sample;
  const char *const about[] = {"dataset", "bytes", "modified", "sample"};
  for (int i = 0; i < 4; i++) snprintf(name[i], sizeof name[i], "%s_%s", letter, about[i]);
  DM_TRY(dm_checksum_sample(input, &sample));
  char values[DM_MEANING_TEXT + 64];
  dm_dataset_describe_meaning(input, values, sizeof values);
  DM_TRY(
      dm_attributes_add(list, name[0], "%s%s%s", input->at.dataset, values[0] ? ", " : "", values));
  DM_TRY(add_number(list, name[1], input->file_bytes));
  DM_TRY(add_number(list, name[2], input->modified_ns));
  return dm_attributes_add(list, name[3], "%016llx", (unsigned long long)sample);
}

static dm_status add_problem(dm_attributes *list, const dm_problem *p) {
  DM_TRY(add_number(list, "m", p->m));
  DM_TRY(add_number(list, "n", p->n));
  DM_TRY(add_number(list, "k", p->k));
  if (p->batch > 1) DM_TRY(add_number(list, "batch", p->batch));
  DM_TRY(dm_attributes_add(list, "products_in", "%s",
                           p->fastest ? "fastest" : dm_compute_products(&p->compute, p->work)));
  DM_TRY(dm_attributes_add(list, "sums_in", "%s", dm_dtype_name(p->accumulator)));
  return dm_attributes_add(list, "type_c", "%s", dm_dtype_name(p->c));
}

dm_status dm_fields_of_problem(const dm_multiply *m, const dm_problem *problem,
                               dm_attributes *list) {
  const dm_equation *e = &m->equation;
  DM_TRY(dm_attributes_add(list, "software", "damier %s (git %s)", DM_VERSION, DM_GIT));
  DM_TRY(add_problem(list, problem));
  DM_TRY(dm_attributes_add(list, "op_a", "%s", dm_op_name(e->op_a)));
  DM_TRY(dm_attributes_add(list, "op_b", "%s%s%s", dm_op_name(e->op_b),
                           e->symmetric ? ", triangle " : "",
                           e->symmetric ? dm_half_name(e->half) : ""));
  DM_TRY(dm_provenance_centering(list, m, true));
  DM_TRY(dm_attributes_add(list, "alpha", "%.17g,%.17g", e->alpha[0], e->alpha[1]));
  DM_TRY(dm_attributes_add(list, "beta", "%.17g,%.17g", e->beta[0], e->beta[1]));
  DM_TRY(dm_attributes_add(list, "c_dataset", "%s", m->out.dataset));
  DM_TRY(
      dm_attributes_add(list, "reproducible", "%s", m->engine.wishes.reproducible ? "yes" : "no"));
  DM_TRY(add_input(list, "a", &m->a, m->in_memory[DM_A]));
  DM_TRY(add_input(list, "b", &m->b, m->in_memory[DM_B]));
  return problem->reads_c ? add_input(list, "old_c", &m->c, m->in_memory[DM_OLD]) : DM_OK;
}

dm_status dm_fields_of_setup(const dm_multiply *m, const dm_setup *setup, dm_attributes *list) {
  DM_TRY(dm_attributes_add(list, "backend", "%s", setup->backend->ops->name));
  DM_TRY(dm_attributes_add(list, "kernel", "%s", setup->plan.kernel));
  static const char *const names[] = {"a_elements", "b_elements", NULL, "old_c_elements"};
  for (int x = 0; x < 4; x++)
    if (m->in_memory[x] && names[x])
      DM_TRY(dm_attributes_add(list, names[x], "%016llx", (unsigned long long)m->elements[x]));
  DM_TRY(dm_attributes_add(list, "multiplied_in", "%s", setup->plan.problem.compute.name));
  return dm_attributes_add(list, "device", "%s",
                           m->engine.wishes.reproducible ? setup->device.name : "any");
}

const char *dm_fields_differ(const dm_attributes *recorded, const dm_attributes *wanted,
                             bool in_place) {
  for (int i = 0; i < wanted->count; i++) {
    if (in_place && strncmp(wanted->list[i].name, "old_c_", 6) == 0) continue;
    const char *text = dm_attributes_find(recorded, wanted->list[i].name);
    if (!text || strcmp(text, wanted->list[i].text) != 0) return wanted->list[i].name;
  }
  return NULL;
}

int64_t dm_fields_number(const dm_attributes *recorded, const char *name) {
  const char *text = dm_attributes_find(recorded, name);
  char *end;
  if (!text) return -1;
  int64_t value = strtoll(text, &end, 10);
  return end == text || *end ? -1 : value;
}

/* ---- rank 0 finds what an earlier run left ---- */

/* The --compute value that repeats that run's mode, which may depend on the contents of A and B.
 * For "fastest" it does not: the recorded choice then differs. */
static const char *compute_of(const dm_checkpoint *c, const char *field) {
  if (strcmp(field, "products_in") != 0) return NULL;
  const char *text = dm_attributes_find(dm_journal_fields(c->journal), field);
  dm_compute_choice choice;
  if (text && strcmp(text, "c128") == 0) text = "f64";
  if (text && strcmp(text, "c64") == 0) text = "f32";
  return text && dm_compute_parse(text, &choice) ? text : NULL;
}

static dm_status checkpoint_refuse(const dm_checkpoint *c, const char *field) {
  const dm_multiply *m = c->multiply;
  const char *compute = compute_of(c, field);
  return dm_hint(
      dm_fail(DM_E_IO, "%s cannot be resumed: %s differs from the stopped run", m->out.file, field),
      "give the command of that run%s%s, or start over with --force",
      compute ? " with --compute " : "", compute ? compute : "");
}

dm_status dm_found_compare(dm_checkpoint *c, const dm_attributes *wanted) {
  const char *field = dm_fields_differ(dm_journal_fields(c->journal), wanted, false);
  if (!field) return DM_OK;
  if (!c->multiply->force) return checkpoint_refuse(c, field);
  dm_log_line(&c->run->log, DM_LOG_WARNING, "starting over: %s differs from the earlier run",
              field);
  c->found.records = 0;
  return DM_OK;
}

static void note_found(dm_checkpoint *c) {
  const dm_attributes *f = dm_journal_fields(c->journal);
  dm_found *found = &c->found;
  dm_journal_tiles(c->journal, &found->records);
  found->run = dm_journal_last_run(c->journal) + 1;
  const struct {
    const char *name;
    int64_t *value;
  } numbers[] = {
      {"offset", &found->offset},   {"ranks", &found->ranks}, {"tiles_m", &found->tiles_m},
      {"tiles_n", &found->tiles_n}, {"down", &found->down},   {"pm", &found->pm},
      {"pn", &found->pn},           {"pk", &found->pk},       {"panel", &found->panel}};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    *numbers[i].value = dm_fields_number(f, numbers[i].name);
  const char *id = dm_attributes_find(f, "part");
  snprintf(found->id, sizeof found->id, "%s", id ? id : "");
}

/* Whether the file with C's name may be what the journal describes: the same command recorded all
 * of its tiles. */
static dm_status inspect_existing(dm_checkpoint *c, const dm_problem *p) {
  const dm_dataset *whole = &c->multiply->existing;
  int64_t count;
  if (!whole->at.file[0] || whole->rows != p->m || whole->cols != p->n || whole->dtype != p->c ||
      dm_fields_differ(dm_journal_fields(c->journal), &c->fields, c->found.in_place))
    return DM_OK;
  if (!dm_journal_covers(c->journal, p->m, p->n)) return DM_OK;
  const dm_tile_record *tiles = dm_journal_tiles(c->journal, &count);
  DM_TRY(dm_buffer_table(count, &c->records));
  memcpy(c->records, tiles, (size_t)count * sizeof *tiles);
  c->found.named = count;
  return DM_OK;
}

/* Without --force: of what cannot be read, nobody knows how much work is lost. */
static dm_status refuse_unreadable(const dm_checkpoint *c, const dm_journal *journal) {
  const dm_journal_state state = dm_journal_state_of(journal);
  const char *out = c->multiply->out.file;
  if (c->multiply->force) return DM_OK;
  if (state == DM_JOURNAL_DAMAGED)
    return dm_hint(dm_fail(DM_E_IO, "%s cannot be resumed: its journal is damaged", out),
                   "start over with --force");
  if (state == DM_JOURNAL_STRANGE)
    return dm_hint(
        dm_fail(DM_E_IO, "%s cannot be resumed: another version of damier wrote its journal", out),
        "resume with that version, or start over with --force");
  return DM_OK;
}

static dm_status inspect_journal(dm_checkpoint *c, const dm_problem *problem) {
  const dm_multiply *m = c->multiply;
  bool locked = true;
  DM_TRY(dm_journal_open(&m->out, &c->journal, &locked));
  if (!locked)
    dm_log_line(
        &c->run->log, DM_LOG_WARNING,
        "the file system of %s has no locks: a second run on the same output would not be noticed",
        m->out.file);
  DM_TRY(refuse_unreadable(c, c->journal));
  if (dm_journal_state_of(c->journal) == DM_JOURNAL_PRESENT) note_found(c);
  DM_TRY(dm_fields_of_problem(m, problem, &c->fields));
  return dm_journal_state_of(c->journal) == DM_JOURNAL_PRESENT ? inspect_existing(c, problem)
                                                               : DM_OK;
}

/* Without checkpoints a journal still prevents a run, like the part file beside it. */
static dm_status inspect_unused(const dm_checkpoint *c) {
  const dm_multiply *m = c->multiply;
  bool present, locked;
  DM_TRY(dm_journal_inspect(&m->out, &present));
  if (!present) return DM_OK;
  dm_journal *journal;
  int64_t records;
  DM_TRY(dm_journal_open(&m->out, &journal, &locked));
  (void)dm_journal_tiles(journal, &records);
  dm_status status = refuse_unreadable(c, journal);
  if (!status)
    status = records > 0 && !m->force
                 ? dm_hint(dm_fail(DM_E_IO, "an earlier run on %s can be resumed", m->out.file),
                           "leave out --no-checkpoint, or start over with --force")
                 : dm_journal_remove(journal);
  dm_journal_close(journal);
  return status;
}

dm_status dm_found_inspect(dm_checkpoint *c, const dm_problem *problem) {
  return c->on || c->found.in_place ? inspect_journal(c, problem) : inspect_unused(c);
}

/* ---- tiles are read again: those of an earlier run before they are trusted, and, if requested,
 * all written tiles before C gets its name ---- */

enum { CHECKPOINT_STRIP = 4 << 20 }; /* fits in a cache between reading and summing */

/* auto: read C again if that takes at most this fraction of the run's time so far. */
static const double cheap = 0.01, unnoticed = 0.01; /* fraction; seconds */
static const double assumed_rate = 1e9; /* bytes per second that a rank reads and checksums */

/* The state of a recorded tile. */
enum { TAKEN_UP = DM_TILE_COMPUTED | DM_TILE_STORED | DM_TILE_RECORDED };

static dm_tile_record trust_record(const dm_plan *plan, int64_t t) {
  const dm_tile tile = dm_plan_tile(plan, t);
  return (dm_tile_record){.row = tile.rows.begin,
                          .col = tile.cols.begin,
                          .rows = dm_range_size(tile.rows),
                          .cols = dm_range_size(tile.cols)};
}

int64_t dm_recorded_tile(const dm_checkpoint *c, const dm_tile_record *r, int64_t from) {
  for (int64_t i = 0; i < c->tiles; i++) {
    const int64_t t = (from + i) % c->tiles;
    const dm_tile_record cut = trust_record(c->plan, t);
    if (r->row == cut.row && r->col == cut.col && r->rows == cut.rows && r->cols == cut.cols)
      return t;
  }
  return -1;
}

dm_status dm_recorded_list(dm_checkpoint *c) {
  int64_t count = 0;
  const dm_tile_record *old = c->journal ? dm_journal_tiles(c->journal, &count) : NULL;
  DM_TRY(dm_buffer_table(c->tiles, &c->records));
  for (int64_t i = 0, t = -1; i < dm_min(count, c->found.records); i++) {
    t = dm_recorded_tile(c, &old[i], t + 1);
    c->records[t] = old[i];
    dm_tile_reach(c->states, t, TAKEN_UP);
  }
  return DM_OK;
}

void dm_recorded_list_others(dm_checkpoint *c) {
  for (int64_t t = 0; t < c->tiles; t++) /* images are computed with what they are images of */
    if (!dm_tile_has(c->states, dm_triangle_twin(c->plan, t), TAKEN_UP))
      dm_tile_give_back(c->states, t);
  for (int64_t t = 0; t < c->tiles; t++) {
    if (dm_tile_has(c->states, t, TAKEN_UP)) {
      c->taken++;
      continue;
    }
    c->records[t] = trust_record(c->plan, t);
    c->records[t].run = c->found.run;
  }
}

/* The checksum of this rank's part of one tile. */
static dm_status sum_of(dm_checkpoint *c, dm_reader *reader, const dm_dataset *set,
                        const dm_tile_record *tile, uint64_t *sum) {
  const dm_range rows = dm_split(tile->rows, c->run->ranks, c->run->rank, 1);
  const int64_t row_bytes = dm_max(1, tile->cols * dm_dtype_size(set->dtype));
  const int64_t height =
      dm_min(dm_max(1, CHECKPOINT_STRIP / row_bytes), dm_max(1, dm_range_size(rows)));
  DM_FREED void *strip = NULL;
  *sum = 0;
  DM_TRY(dm_buffer_alloc(height * row_bytes, &strip));
  for (int64_t at = rows.begin; at < rows.end; at += height) {
    dm_view view = dm_view_row_major(strip, set->dtype, dm_min(height, rows.end - at), tile->cols);
    DM_TRY(dm_reader_read(reader, tile->row + at, tile->col, &view, 1, false));
    *sum += dm_checksum_view(view, tile->row + at, tile->col, set->cols);
  }
  return DM_OK;
}

/* Computes the checksums of this rank's part of the tiles in LIST of SET, or of those WANTED (NULL:
 * all). */
static dm_status trust_sums(dm_checkpoint *c, const dm_dataset *set, const dm_tile_record *list,
                            int64_t count, const bool *wanted, uint64_t *sums) {
  dm_reader *reader;
  DM_TRY(dm_reader_open(set, DM_DTYPE_NONE, &reader));
  dm_reader_keepalive(reader, &c->run->keepalive);
  dm_status status = DM_OK;
  for (int64_t t = 0; t < count && !status; t++)
    if (!wanted || wanted[t]) status = sum_of(c, reader, set, &list[t], &sums[t]);
  dm_reader_close(reader);
  return status;
}

static dm_status part_sums(dm_checkpoint *c, const dm_tile_record *list, int64_t count,
                           const bool *wanted, uint64_t *sums) {
  dm_dataset part;
  DM_TRY(dm_output_part(&c->file, &part));
  return trust_sums(c, &part, list, count, wanted, sums);
}

static dm_status sums_of_recorded(dm_checkpoint *c, uint64_t *sums) {
  DM_FREED bool *recorded = NULL;
  DM_TRY(dm_buffer_table(c->tiles, &recorded));
  for (int64_t t = 0; t < c->tiles; t++) recorded[t] = dm_tile_has(c->states, t, DM_TILE_RECORDED);
  return part_sums(c, c->records, c->tiles, recorded, sums);
}

static void checkpoint_warn(const dm_checkpoint *c, int64_t tile) {
  const dm_tile_record *r = &c->records[tile];
  dm_log_line(
      &c->run->log, DM_LOG_WARNING,
      "tile %lld, %lld x %lld at (%lld, %lld), differs from its checksum: computing it again",
      (long long)tile + 1, (long long)r->rows, (long long)r->cols, (long long)r->row,
      (long long)r->col);
}

dm_status dm_recorded_compare(dm_checkpoint *c) {
  DM_FREED uint64_t *sums = NULL;
  dm_run_phase(c->run, "checking the recorded tiles", 1);
  DM_TRY(dm_buffer_table(c->tiles, &sums));
  DM_TRY(dm_comm_agree(c->run->world, sums_of_recorded(c, sums)));
  DM_TRY(dm_comm_sum_i64(c->run->world, (int64_t *)sums, c->tiles));
  for (int64_t t = 0; t < c->tiles; t++) {
    if (!dm_tile_has(c->states, t, DM_TILE_RECORDED) || sums[t] == c->records[t].checksum) continue;
    if (c->run->rank == 0) checkpoint_warn(c, t);
    dm_tile_give_back(c->states, t);
  }
  return DM_OK;
}

/* ---- tiles written by this run ---- */

/* Rank 0's estimate: whether C can be read again cheaply, from the page cache. */
static bool is_cheap(const dm_checkpoint *c) {
  const dm_problem *p = &c->plan->problem;
  const int64_t bytes = dm_sat_bytes(p->m, p->n, dm_dtype_size(p->c));
  const double seconds = (double)bytes / assumed_rate / c->run->ranks;
  return seconds <= unnoticed + cheap * (dm_now() - c->started) &&
         bytes <= dm_memory_available() / 2;
}

static dm_status compare_written(dm_checkpoint *c, uint64_t *sums) {
  DM_TRY(dm_comm_agree(c->run->world, part_sums(c, c->records, c->tiles, NULL, sums)));
  DM_TRY(dm_comm_sum_i64(c->run->world, (int64_t *)sums, c->tiles));
  dm_status status = DM_OK;
  for (int64_t t = 0; t < c->tiles && !status && c->run->rank == 0; t++)
    if (sums[t] != c->records[t].checksum)
      status = dm_tile_differs(&c->records[t], t + 1, c->file.part);
  return dm_comm_agree(c->run->world, status);
}

dm_status dm_checkpoint_read_back(dm_checkpoint *c, dm_read_back wish, bool *done) {
  int64_t wanted = wish == DM_READ_BACK_ALWAYS;
  if (c->run->rank == 0 && wish == DM_READ_BACK_AUTO) wanted = is_cheap(c);
  DM_TRY(dm_comm_broadcast(c->run->world, &wanted, sizeof wanted, 0));
  *done = c->sums && wanted;
  if (!*done) return DM_OK;
  DM_FREED uint64_t *sums = NULL;
  dm_run_phase(c->run, "reading C again", DM_SYNC_PATIENCE);
  DM_TRY(dm_comm_agree(c->run->world, dm_buffer_table(c->tiles, &sums)));
  return compare_written(c, sums);
}

/* ---- a result that has C's name already ---- */

/* A file that cannot be read is not the result. */
static dm_status compare_existing(dm_checkpoint *c, uint64_t *sums) {
  const int64_t count = c->found.named;
  dm_status status = dm_comm_agree(
      c->run->world, trust_sums(c, &c->multiply->existing, c->records, count, NULL, sums));
  c->found.done = !status;
  dm_status_free(status);
  DM_TRY(dm_comm_sum_i64(c->run->world, (int64_t *)sums, count));
  for (int64_t t = 0; t < count; t++) c->found.done &= sums[t] == c->records[t].checksum;
  return DM_OK;
}

dm_status dm_found_verify(dm_checkpoint *c) {
  const int64_t count = c->found.named;
  DM_FREED uint64_t *sums = NULL;
  dm_run_phase(c->run, "comparing C with its journal", 1);
  dm_status status = c->run->rank == 0 ? DM_OK : dm_buffer_table(count, &c->records);
  if (!status) status = dm_buffer_table(count, &sums);
  DM_TRY(dm_comm_agree(c->run->world, status));
  DM_TRY(dm_comm_broadcast(c->run->world, c->records, count * (int64_t)sizeof *c->records, 0));
  status = compare_existing(c, sums);
  free(c->records);
  c->records = NULL;
  return status;
}

/* A command that cannot replace the file, or that would add A B to a damaged result. */
static dm_status refuse_existing(const dm_checkpoint *c) {
  const dm_multiply *m = c->multiply;
  const bool in_place = c->found.in_place;
  if (!m->only_done && !(in_place && c->found.named > 0 && !dm_output_is_left(&m->out) &&
                         dm_fields_differ(dm_journal_fields(c->journal), &c->fields, false)))
    return DM_OK;
  const dm_attributes *then = dm_journal_fields(c->journal);
  const char *field = in_place ? NULL : dm_fields_differ(then, &c->fields, false);
  if (field) {
    const char *was = dm_attributes_find(then, field), *is = dm_attributes_find(&c->fields, field);
    return dm_hint(dm_fail(DM_E_USAGE,
                           "%s exists, and its run had other options: %s was %.100s, not %.100s",
                           m->out.file, field, was ? was : "not stated", is ? is : "stated"),
                   "name another output; --force replaces it");
  }
  return dm_hint(dm_fail(in_place ? DM_E_IO : DM_E_USAGE,
                         "%s exists, and is not the result that its journal describes",
                         m->out.file),
                 in_place ? "it was damaged or changed after this command had replaced it; to add "
                            "A B to what it holds now, remove %.200s.journal"
                          : "was it changed? remove %.200s.journal, or name another output",
                 m->out.file);
}

dm_status dm_found_settle(dm_checkpoint *c) {
  const dm_multiply *m = c->multiply;
  if (c->found.done) {
    dm_status_free(dm_output_forget(&m->out)); /* a file of the user is no leftover */
    return dm_folder_sync_name(&m->out);
  }
  DM_TRY(refuse_existing(c));
  if (!c->on) c->found.records = 0;
  return c->found.records > 0 ? dm_found_compare(c, &c->fields) : DM_OK;
}

/* ---- keeps what is good of a wrong C for the run that repairs it: the journal names the good
 * tiles ---- */

enum { MOST_TILES = 16, FEWEST_ROWS = 64 /* per rank and tile */ };

/* The parts that are good, as tiles of CUT. */
typedef struct leftover {
  dm_plan cut;
  int64_t tiles;
  dm_tile_record *list;
  bool *good;
  uint64_t *sums;
} leftover;

static bool is_wrong(const dm_tile_record *r, const dm_extent *wrong, int64_t count) {
  const dm_range rows = {r->row, r->row + r->rows}, cols = {r->col, r->col + r->cols};
  bool is = false;
  for (int64_t i = 0; i < count; i++)
    is |= dm_range_meets(rows, wrong[i].rows) && dm_range_meets(cols, wrong[i].cols);
  return is;
}

/* Cuts a single tile, so that only part of it must be computed again. */
static void choose_cut(const dm_checkpoint *c, leftover *l) {
  const dm_plan *plan = c->plan;
  l->cut = *plan;
  l->cut.todo = NULL;
  if (c->tiles == 1) {
    const int64_t least = dm_max(FEWEST_ROWS, plan->border) * plan->pm * plan->pk;
    l->cut.tiles_m = dm_max(1, dm_min(MOST_TILES, plan->problem.m / least));
    if (plan->problem.symmetry != DM_NO_SYMMETRY) l->cut.tiles_n = l->cut.tiles_m;
  }
  l->tiles = dm_plan_tiles(&l->cut);
}

static dm_status open_list(dm_checkpoint *c, const dm_extent *wrong, int64_t count, leftover *l) {
  DM_TRY(dm_buffer_table(l->tiles, &l->list));
  DM_TRY(dm_buffer_table(l->tiles, &l->good));
  DM_TRY(dm_buffer_table(dm_max(l->tiles, c->tiles), &l->sums));
  for (int64_t t = 0; t < l->tiles; t++) {
    l->list[t] = l->tiles == c->tiles ? c->records[t] : trust_record(&l->cut, t);
    if (l->tiles != c->tiles) l->list[t].run = c->records[0].run;
    l->good[t] = !is_wrong(&l->list[t], wrong, count);
  }
  for (int64_t t = 0; t < l->tiles; t++)
    if (!l->good[t]) l->good[dm_triangle_twin(&l->cut, t)] = false;
  return DM_OK;
}

/* Collective: computes checksums of the smaller tiles if the whole still has the checksum it was
 * written with. */
static dm_status sum_anew(dm_checkpoint *c, leftover *l) {
  const dm_comm *world = c->run->world;
  DM_TRY(dm_comm_agree(world, part_sums(c, c->records, c->tiles, NULL, l->sums)));
  DM_TRY(dm_comm_sum_i64(world, (int64_t *)l->sums, c->tiles));
  int64_t as_written = l->sums[0] == c->records[0].checksum; /* only rank 0 knows */
  DM_TRY(dm_comm_broadcast(world, &as_written, sizeof as_written, 0));
  if (!as_written) memset(l->good, 0, (size_t)l->tiles * sizeof *l->good);
  memset(l->sums, 0, (size_t)l->tiles * sizeof *l->sums);
  DM_TRY(dm_comm_agree(world, part_sums(c, l->list, l->tiles, l->good, l->sums)));
  DM_TRY(dm_comm_sum_i64(world, (int64_t *)l->sums, l->tiles));
  for (int64_t t = 0; t < l->tiles; t++) l->list[t].checksum = l->sums[t];
  return DM_OK;
}

static void name_cut(const leftover *l, dm_attributes *fields) {
  for (int i = 0; i < fields->count; i++) {
    dm_attribute *field = &fields->list[i];
    const bool down = strcmp(field->name, "tiles_m") == 0;
    if (down || strcmp(field->name, "tiles_n") == 0)
      snprintf(field->text, sizeof field->text, "%lld",
               (long long)(down ? l->cut.tiles_m : l->cut.tiles_n));
  }
}

/* The leftover and its checkpoint. */
typedef struct leaving {
  dm_checkpoint *checkpoint;
  leftover *leftover;
} leaving;

static dm_status record_good(void *context, const dm_keepalive *keepalive) {
  dm_checkpoint *c = ((leaving *)context)->checkpoint;
  leftover *l = ((leaving *)context)->leftover;
  int64_t count = 0;
  (void)keepalive; /* writes few bytes */
  for (int64_t t = 0; t < l->tiles; t++)
    if (l->good[t]) l->list[count++] = l->list[t];
  name_cut(l, &c->fields);
  DM_TRY(dm_journal_begin(c->journal, &c->fields));
  DM_TRY(dm_journal_append(c->journal, l->list, count));
  c->taken = count;
  return DM_OK;
}

static dm_status checkpoint_give_back(dm_checkpoint *c, const dm_extent *wrong, int64_t count,
                                      leftover *l) {
  choose_cut(c, l);
  DM_TRY(dm_comm_agree(c->run->world, open_list(c, wrong, count, l)));
  if (l->tiles != c->tiles) DM_TRY(sum_anew(c, l));
  leaving one = {c, l};
  dm_status status = c->run->rank == 0 ? dm_watch_work(c->run->watch, record_good, &one) : DM_OK;
  return dm_comm_agree(c->run->world, status);
}

/* This run removes a part file of which nothing is kept, whoever created it. */
dm_status dm_checkpoint_give_back(dm_checkpoint *c, const dm_extent *wrong, int64_t count,
                                  int64_t *good, int64_t *tiles) {
  leftover l = {.tiles = c->tiles};
  c->taken = 0;
  c->recorded = c->stored; /* wrong tiles are not recorded later, either */
  c->found.run = -1;       /* all that is kept is taken */
  dm_status status = c->on ? checkpoint_give_back(c, wrong, count, &l) : DM_OK;
  free(l.list);
  free(l.good);
  free(l.sums);
  DM_TRY(status);
  *good = c->taken;
  DM_TRY(dm_comm_broadcast(c->run->world, good, sizeof *good, 0));
  *tiles = *good > 0 ? l.tiles : c->tiles;
  c->created |= *good == 0;
  return DM_OK;
}
