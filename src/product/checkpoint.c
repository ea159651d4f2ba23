#include "product/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/units.h"
#include "dataset/naming.h"
#include "io/journal.h"
#include "io/read.h"
#include "plan/partition.h"
#include "product/checkpoint_impl.h"
#include "product/commit.h"
#include "run/run.h"

static const double between_looks = 0.05; /* seconds */

/* ---- every rank records what it has on the disk ---- */

static bool writes(const dm_checkpoint *c) {
  return c->run->rank < c->used;
}

/* The tile of this run in PLACE and, if it is another one, that of its mirror image. */
static int checkpoint_tiles_of(const dm_checkpoint *c, int64_t place, int64_t tiles[2]) {
  tiles[0] = dm_plan_todo_tile(c->plan, place);
  tiles[1] = dm_triangle_twin(c->plan, tiles[0]);
  return tiles[1] == tiles[0] ? 1 : 2;
}

/* *LIST, to be freed: COUNT records of the tiles in the places from BEGIN to END, of all of them,
 * or, if MINE, of this rank's part. */
static dm_status list_records(const dm_checkpoint *c, int64_t begin, int64_t end, bool mine,
                              dm_tile_record **list, int64_t *count) {
  *count = 0;
  DM_TRY(dm_buffer_table(2 * (end - begin), list));
  for (int64_t place = begin; place < end; place++) {
    int64_t tiles[2];
    const int more = checkpoint_tiles_of(c, place, tiles);
    for (int i = 0; i < more; i++) {
      dm_tile_record *record = &(*list)[(*count)++];
      *record = c->records[tiles[i]];
      if (mine) record->checksum = c->mine[tiles[i]];
    }
  }
  return DM_OK;
}

static dm_status begin_journal(dm_checkpoint *c) {
  return dm_journal_state_of(c->journal) == DM_JOURNAL_PRESENT
             ? DM_OK
             : dm_journal_begin(c->journal, &c->fields);
}

/* A thread does this once the data of the tiles is on the disk. Rank 0 begins the journal, for
 * which the others wait. */
static dm_status record_behind(void *context) {
  dm_checkpoint *c = context;
  bool ready;
  if (c->run->rank == 0) DM_TRY(begin_journal(c));
  DM_TRY(dm_journal_part_ready(c->part, &ready));
  if (ready) DM_TRY(dm_journal_part_append(c->part, c->behind, c->behinds));
  if (ready) c->behinds = 0;
  return DM_OK;
}

/* Collective, if C has several tiles: ranks can record some while others are computed. */
static dm_status open_part_of_journal(dm_checkpoint *c) {
  dm_status status = DM_OK;
  if (c->on && c->tiles > 1 && writes(c))
    status =
        dm_journal_part_open(&c->multiply->out, &c->found.place, c->run->rank, c->used, &c->part);
  return dm_comm_agree(c->run->world, status);
}

/* Rank 0: records all that is not recorded, as whole tiles. */
static dm_status append_rest(void *context, const dm_keepalive *keepalive) {
  dm_checkpoint *c = context;
  int64_t count;
  DM_FREED dm_tile_record *list = NULL;
  (void)keepalive; /* writes few bytes */
  DM_TRY(begin_journal(c));
  DM_TRY(list_records(c, c->recorded, c->stored, false, &list, &count));
  DM_TRY(dm_journal_append(c->journal, list, count));
  c->recorded = c->stored;
  return DM_OK;
}

static dm_status record_rest(dm_checkpoint *c) {
  return c->recorded < c->stored ? dm_watch_work(c->run->watch, append_rest, c) : DM_OK;
}

/* Rank 0: *tiles that another run would reuse. */
static dm_status count_resumable(dm_checkpoint *c, int64_t *tiles) {
  *tiles = 0;
  if (c->journal) DM_TRY(dm_journal_count(c->journal, c->found.run, tiles));
  *tiles += c->taken;
  return DM_OK;
}

/* ---- the start ---- */

static dm_status start_afresh(dm_checkpoint *c, const dm_problem *p) {
  const bool old = c->journal && dm_journal_existed(c->journal); /* left by an unfinished start */
  if (old) DM_TRY(dm_journal_clear(c->journal));
  DM_TRY(dm_output_create_early(&c->multiply->out, p->c, p->m, p->n, &c->multiply->form.leads,
                                &c->file, &c->reservation));
  c->created = true;
  return DM_OK;
}

/* If there is no earlier run, and C needs little of the memory that the planner will count, its
 * space is reserved while a GPU starts. */
static dm_status start_early(dm_checkpoint *c, const dm_problem *p) {
  const bool first = c->found.records == 0 && !(c->journal && dm_journal_existed(c->journal));
  if (!first || dm_sat_bytes(p->m, p->n, dm_dtype_size(p->c)) > dm_memory_available() / 8)
    return DM_OK;
  return start_afresh(c, p);
}

/* Rank 0's opinion; only rank 0 uses it. */
static bool is_replaced(const dm_multiply *m) {
  dm_dataset out = {.at = m->out};
  dm_status none = dm_dataset_identify(&out);
  const bool same = !none && out.device == m->c.device && out.inode == m->c.inode;
  dm_status_free(none);
  return same;
}

/* Rank 0's first findings. */
typedef struct opening {
  dm_checkpoint *checkpoint;
  const dm_problem *problem;
  const dm_setup *setup;
} opening;

static dm_status checkpoint_inspect(void *context, const dm_keepalive *keepalive) {
  const opening *o = context;
  const dm_multiply *m = o->checkpoint->multiply;
  (void)keepalive;
  o->checkpoint->found.in_place = m->has_c && !m->form.existing.at.file[0] && is_replaced(m);
  return dm_found_inspect(o->checkpoint, o->problem);
}

static dm_status checkpoint_start(void *context, const dm_keepalive *keepalive) {
  const opening *o = context;
  (void)keepalive;
  DM_TRY(dm_found_settle(o->checkpoint));
  return o->checkpoint->found.done ? DM_OK : start_early(o->checkpoint, o->problem);
}

dm_status dm_checkpoint_open(dm_run *run, const dm_multiply *multiply, const dm_problem *problem,
                             dm_checkpoint **checkpoint) {
  dm_checkpoint *c = calloc(1, sizeof *c);
  DM_TRY(dm_comm_agree(run->world, c ? DM_OK : dm_fail(DM_E_FIT, "no memory for checkpoints")));
  *checkpoint = c;
  c->run = run;
  c->multiply = multiply;
  c->file.made = -1;
  c->on = multiply->checkpoint;

  c->interval = multiply->checkpoint_interval;
  opening one = {c, problem, NULL};
  DM_TRY(dm_comm_agree(
      run->world, run->rank == 0 ? dm_watch_work(run->watch, checkpoint_inspect, &one) : DM_OK));
  DM_TRY(dm_comm_broadcast(run->world, &c->found, sizeof c->found, 0));
  if (c->found.named > 0) DM_TRY(dm_found_verify(c));
  DM_TRY(dm_comm_agree(run->world,
                       run->rank == 0 ? dm_watch_work(run->watch, checkpoint_start, &one) : DM_OK));
  c->sums = c->on || c->found.in_place || multiply->read_back == DM_READ_BACK_ALWAYS;
  return dm_comm_broadcast(run->world, &c->found, sizeof c->found, 0);
}

bool dm_checkpoint_is_done(const dm_checkpoint *c) {
  return c->found.done;
}

int64_t dm_checkpoint_recorded(const dm_checkpoint *c) {
  return c->found.records;
}

/* Seconds that a tile takes if each is recorded at once. */
static const double least_interval = 1;

static double longest_tile(const dm_checkpoint *c) {
  return c->interval > 0 ? c->interval : least_interval;
}

void dm_checkpoint_impose(const dm_checkpoint *c, dm_wishes *wishes) {
  const dm_found *f = &c->found;
  if (c->on) wishes->tile_seconds = longest_tile(c);
  if (f->records == 0) return;
  wishes->tiles_m = f->tiles_m;
  wishes->tiles_n = f->tiles_n;
  wishes->down = f->down != 0;
  if (f->ranks != c->run->ranks) return;
  if (!wishes->pm) wishes->pm = (int)f->pm, wishes->pn = (int)f->pn, wishes->pk = (int)f->pk;
  if (!wishes->panel) wishes->panel = f->panel;
}

/* ---- the part file ---- */

static dm_status checkpoint_take_up(dm_checkpoint *c) {
  const dm_problem *p = &c->plan->problem;
  int64_t count;
  bool there = false;
  const dm_tile_record *records = dm_journal_tiles(c->journal, &count);
  for (int64_t i = 0, t = -1; i < count; i++)
    if ((t = dm_recorded_tile(c, &records[i], t + 1)) < 0)
      return dm_fail(DM_E_IO, "%s cannot be resumed: C is divided into different tiles",
                     c->multiply->out.file);
  c->file = (dm_output_file){.at = c->multiply->out,
                             .rows = p->m,
                             .cols = p->n,
                             .leads = c->multiply->form.leads,
                             .dtype = p->c};
  memcpy(c->file.id, c->found.id, DM_ID);
  DM_TRY(dm_output_reopen(&c->file, c->found.offset, &there));
  if (!there) c->found.records = 0;
  return DM_OK;
}

static dm_status add_cut(dm_checkpoint *c) {
  const dm_plan *plan = c->plan;
  DM_TRY(dm_attributes_add(&c->fields, "part", "%s", c->file.id));
  const struct {
    const char *name;
    int64_t value;
  } numbers[] = {{"offset", c->file.offset}, {"ranks", c->run->ranks},   {"pm", plan->pm},
                 {"pn", plan->pn},           {"pk", plan->pk},           {"panel", plan->kb},
                 {"tiles_m", plan->tiles_m}, {"tiles_n", plan->tiles_n}, {"down", plan->down}};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    DM_TRY(dm_attributes_add(&c->fields, numbers[i].name, "%lld", (long long)numbers[i].value));
  return DM_OK;
}

static dm_status checkpoint_open_part(void *context, const dm_keepalive *keepalive) {
  dm_checkpoint *c = ((opening *)context)->checkpoint;
  const dm_setup *setup = ((opening *)context)->setup;
  DM_FREED dm_attributes *wanted = NULL;
  (void)keepalive;
  DM_TRY(dm_buffer_table(1, &wanted));
  DM_TRY(dm_fields_of_setup(c->multiply, setup, wanted));
  if (c->found.records > 0) DM_TRY(dm_found_compare(c, wanted));
  if (c->found.records > 0) DM_TRY(checkpoint_take_up(c));
  if (c->found.records == 0 && !c->created) DM_TRY(start_afresh(c, &c->plan->problem));
  const dm_engine_options *engine = &c->multiply->engine;
  DM_TRY(
      dm_output_choose_way(&c->file, engine->write_by, dm_run_writers(c->run, engine->io_threads)));
  for (int i = 0; i < wanted->count; i++)
    DM_TRY(dm_attributes_add(&c->fields, wanted->list[i].name, "%s", wanted->list[i].text));
  DM_TRY(add_cut(c));
  if (c->found.records == 0) c->found.run = 0;
  return c->on ? dm_journal_place_of(c->journal, &c->fields, &c->found.place) : DM_OK;
}

static dm_status share_records(dm_checkpoint *c) {
  dm_status status = dm_recorded_list(c);
  DM_TRY(dm_comm_agree(c->run->world, status));
  DM_TRY(dm_comm_broadcast(c->run->world, c->states->state, c->tiles, 0));
  return dm_comm_broadcast(c->run->world, c->records, c->tiles * (int64_t)sizeof *c->records, 0);
}

/* Before the work: what an interruption would leave of a long run. */
static void say_resumable(const dm_checkpoint *c) {
  const double worth_saying = 10; /* seconds */
  char every[32];
  if (!c->on || c->plan->forecast.total < worth_saying) return;
  if (c->tiles == 1)
    dm_log_line(&c->run->log, DM_LOG_NOTE,
                "C is computed as a whole: after an interruption the same command starts over "
                "(--checkpoint-interval 1s keeps parts)");
  else
    dm_log_line(&c->run->log, DM_LOG_NOTE,
                "if interrupted, the same command keeps the finished ones of %lld tiles, recorded "
                "every %s",
                (long long)c->tiles, dm_format_seconds(fmax(c->interval, least_interval), every));
}

bool dm_checkpoint_is_slow(const dm_checkpoint *c, double part, double seconds, double *slower) {
  const dm_forecast *f = &c->plan->forecast;
  const double slow = 10, passed = dm_now() - c->started;
  if (!c->on || c->tiles > 1 || part <= 0) return false;
  *slower = seconds / part / (f->gemm + f->exposed + f->reduce);
  return passed >= longest_tile(c) && passed >= slow * f->total &&
         seconds / part > seconds + passed;
}

dm_status dm_checkpoint_begin(dm_checkpoint *c, const dm_setup *setup, dm_output_file *file,
                              dm_tile_states *states) {
  c->states = states;
  c->plan = &setup->plan;
  c->tiles = dm_plan_tiles(c->plan);
  c->used = dm_plan_used(c->plan);
  opening one = {c, NULL, setup};
  dm_status status =
      c->run->rank == 0 ? dm_watch_work(c->run->watch, checkpoint_open_part, &one) : DM_OK;
  DM_TRY(dm_comm_agree(c->run->world, status));
  DM_TRY(dm_comm_broadcast(c->run->world, &c->found, sizeof c->found, 0));
  const int made = c->file.made;
  DM_TRY(dm_comm_broadcast(c->run->world, &c->file, sizeof c->file, 0));
  c->file.made = made;
  DM_TRY(share_records(c));
  if (c->found.records > 0) DM_TRY(dm_recorded_compare(c));
  dm_recorded_list_others(c);
  if (c->run->rank == 0 && c->found.records > 0)
    dm_log_line(&c->run->log, DM_LOG_NOTE, "resuming: %lld of %lld tiles are done",
                (long long)c->taken, (long long)c->tiles);
  say_resumable(c);
  *file = c->file;
  if (dm_comm_is_one_process(c->run->world))
    DM_TRY(dm_comm_broadcast(c->run->world, &c->reservation, sizeof c->reservation, 0));
  DM_TRY(dm_comm_agree(c->run->world, dm_buffer_table(c->tiles, &c->mine)));
  DM_TRY(open_part_of_journal(c));
  DM_TRY(dm_comm_barrier(c->run->world)); /* intervals start at the same time */
  c->started = dm_now();
  c->begun = true;
  return DM_OK;
}

/* Ends what rank 0 still reserves; the others only forget it. */
static dm_status end_reserving(dm_checkpoint *c, bool all) {
  dm_reservation *reservation = c->run->rank == 0 ? c->reservation : NULL;
  c->reservation = NULL;
  return dm_reservation_end(reservation, all);
}

dm_status dm_checkpoint_reserved(dm_checkpoint *c, bool everything) {
  if (!everything && dm_comm_is_one_process(c->run->world)) return DM_OK;
  return dm_comm_agree(c->run->world, end_reserving(c, true));
}

dm_status dm_checkpoint_has_space(const dm_checkpoint *c, int64_t rows, bool *has) {
  return dm_reservation_has(c->reservation, rows, has);
}

/* ---- while tiles are computed ---- */

void dm_checkpoint_watch(dm_checkpoint *c, dm_output *output) {
  c->output = output;
}

bool dm_checkpoint_sums(const dm_checkpoint *c) {
  return c->sums;
}

void dm_checkpoint_add(dm_checkpoint *c, int64_t tile, uint64_t checksum) {
  if (c->sums) c->mine[tile] += checksum;
}

dm_status dm_checkpoint_stored(dm_checkpoint *c, int64_t tile) {
  c->stored = dm_plan_todo_place(c->plan, tile) + 1;
  c->next = 0;
  return dm_checkpoint_poll(c);
}

/* Intervals have a common start, so that all ranks sync at about the same time. */
static bool is_due(dm_checkpoint *c, double now) {
  if (c->interval <= 0) return true;
  const int64_t turn = (int64_t)((now - c->started) / c->interval);
  if (turn == c->turn) return false;
  c->turn = turn;
  return true;
}

/* After a sync, whose tiles are recorded later if rank 0 had not begun the journal. */
static void take_recorded(dm_checkpoint *c) {
  if (c->behinds == 0) c->recorded = c->syncing;
}

dm_status dm_checkpoint_poll(dm_checkpoint *c) {
  const double now = dm_now();
  if (!c->part || !c->output || now < c->next) return DM_OK;
  c->next = now + between_looks;
  bool done;
  DM_TRY(dm_output_syncing(c->output, false, &done));
  if (!done) return DM_OK;
  take_recorded(c);
  if (c->stored == c->recorded || !is_due(c, now)) return DM_OK;
  free(c->behind);
  c->behind = NULL;
  DM_TRY(list_records(c, c->recorded, c->stored, true, &c->behind, &c->behinds));
  c->syncing = c->stored;
  return dm_output_sync_start(c->output, &c->run->of_thread, record_behind, c);
}

static dm_status sync_all(void *context, const dm_keepalive *keepalive) {
  dm_checkpoint *c = context;
  bool done;
  DM_TRY(dm_output_syncing(c->output, true, &done));
  take_recorded(c);
  return dm_output_sync(c->output, keepalive);
}

/* Afterwards all ranks know which tiles are on the disk and in the journal, and their checksums. */
static dm_status sync_and_sum(dm_checkpoint *c) {
  dm_run_phase(c->run, "syncing", DM_SYNC_PATIENCE);
  DM_TRY(dm_comm_agree(c->run->world, dm_watch_work(c->run->watch, sync_all, c)));
  int64_t most[] = {-c->stored, -c->recorded};
  if (!writes(c)) most[0] = most[1] = -dm_plan_todo(c->plan);
  DM_TRY(dm_comm_max_i64(c->run->world, most, 2));
  c->stored = -most[0];
  c->recorded = -most[1];
  DM_TRY(dm_comm_sum_i64(c->run->world, (int64_t *)c->mine, c->tiles));
  for (int64_t t = 0; t < c->tiles; t++) c->records[t].checksum += c->mine[t];
  c->flushed = true;
  return DM_OK;
}

dm_status dm_checkpoint_flush(dm_checkpoint *c, bool record) {
  dm_status status = DM_OK;
  if (c->output && !c->flushed) status = sync_and_sum(c);
  const bool late = dm_now() - c->started >= c->interval || c->taken + c->recorded > 0;
  if (!status && c->flushed && c->run->rank == 0 && c->on && (record || late))
    status = record_rest(c);
  return dm_comm_agree(c->run->world, status);
}

/* ---- the end ---- */

dm_status dm_checkpoint_intend(dm_checkpoint *c, dm_output_completion *completion) {
  const dm_output_form *form = &c->multiply->form;
  const bool packed = dm_output_is_chunked(form) || dm_output_is_recast(form);
  completion->tiles = c->records;
  completion->count = c->sums && c->stored == dm_plan_todo(c->plan) ? c->tiles : 0;
  if (c->journal && (c->found.in_place || packed || c->multiply->keep_journal))
    DM_TRY(record_rest(c));
  completion->journal = c->journal;
  completion->unrecorded = !c->journal || c->taken + c->recorded == 0;
  return DM_OK;
}

void dm_checkpoint_named(dm_checkpoint *c) {
  c->named = true;
}

/* Keeps the hint of rejected input, and adds the reason if something does not fit. */
static dm_status checkpoint_report_resumable(const dm_checkpoint *c, dm_status status,
                                             int64_t kept) {
  const char *out = c->multiply->out.file;
  if (!c->begun && status->code == DM_E_FIT)
    return dm_hint(status,
                   "the tiles of the earlier run, on %lld ranks, are kept: use as many ranks or "
                   "memory, or remove %.200s.part and %.200s.journal to start over",
                   (long long)c->found.ranks, out, out);
  if (!c->begun && status->hint[0] && status->code != DM_E_STOPPED) return status;
  if (!c->begun)
    return dm_hint(status, "the same command resumes after the %lld tiles of the earlier run",
                   (long long)kept);
  return dm_hint(status, "%lld of %lld tiles are kept: the same command resumes from them",
                 (long long)kept, (long long)c->tiles);
}

/* A result that could not be packed is complete and on the disk: with its records the same command
 * packs it again. A result that failed its verification must not be resumed. */
static bool is_to_be_packed(dm_checkpoint *c, const dm_error *error) {
  if (!c->on || error->code == DM_E_VERIFY || error->code == DM_E_CORRUPT) return false;
  if (!dm_path_names(c->file.part, c->file.made)) return false; /* it was removed, or replaced */
  if (c->flushed) dm_status_free(record_rest(c));               /* may fail, too, on a full disk */
  int64_t kept;
  dm_status status = count_resumable(c, &kept);
  const bool all = !status && kept == c->tiles;
  dm_status_free(status);
  return all;
}

/* A journal that cannot be removed is no reason to reject a result. */
static void remove_journal(dm_checkpoint *c) {
  dm_status status = dm_journal_remove(c->journal);
  if (status) dm_log_line(&c->run->log, DM_LOG_WARNING, "%s", status->message);
  dm_status_free(status);
}

/* If C was computed from the matrix it replaced, the user must know of a journal that remains. */
static dm_status hint_at_journal(dm_status status) {
  return dm_hint(status, "C is complete: the same command now ends without multiplying again, and "
                         "removes the journal");
}

static dm_status end_in_place(void *journal) {
  dm_status status = hint_at_journal(dm_journal_remove(journal));
  dm_journal_close(journal);
  return status;
}

/* Without its journal, the same command adds the product once more. */
static dm_status tidy_in_place(dm_checkpoint *c, dm_status status) {
  if (status || !c->run->ends)
    return hint_at_journal(status ? status : dm_journal_remove(c->journal));
  c->run->at_end = end_in_place;
  c->run->what = c->journal;
  c->journal = NULL;
  return DM_OK;
}

static dm_status tidy(dm_checkpoint *c, dm_status status, bool keep_part) {
  if (c->found.in_place && c->journal && (c->named || c->found.done))
    return tidy_in_place(c, status);
  if (c->named || c->found.done) {
    if (c->journal && !c->multiply->keep_journal) remove_journal(c);
    return status;
  }
  if (status && keep_part && is_to_be_packed(c, status))
    return dm_hint(
        status, "the complete result is '%.200s.part', contiguous; the same command resumes there",
        c->multiply->out.file);
  int64_t tiles = c->found.records;
  if (c->begun) dm_status_free(count_resumable(c, &tiles));
  if (status && tiles > 0 && !keep_part) return checkpoint_report_resumable(c, status, tiles);
  if (status && c->created && !keep_part) dm_commit_give_up(c->run, &c->file, status);
  /* A journal that this run could not interpret must not be removed. */
  if (c->journal && (c->begun || !dm_journal_existed(c->journal))) remove_journal(c);
  return status;
}

dm_status dm_checkpoint_close(dm_checkpoint *c, dm_status status, bool keep_part) {
  if (!c) return status;
  status = dm_status_first(status, end_reserving(c, false));
  /* All have recorded what they can: rank 0 counts it. */
  if (c->begun && status && status->agreed)
    status = dm_status_first(status, dm_comm_barrier(c->run->world));
  if (c->run->rank == 0) status = tidy(c, status, keep_part);
  dm_output_release(&c->file);
  dm_journal_part_close(c->part);
  dm_journal_close(c->journal);
  free(c->behind);
  free(c->records);
  free(c->mine);
  free(c);
  return status;
}
