/* Rank 0 finds what an earlier run left. */
#include <stdio.h>
#include <string.h>

#include "core/compute_choice.h"
#include "io/pack.h"
#include "job/checkpoint_fields.h"
#include "job/checkpoint_impl.h"

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

static dm_status refuse(const dm_checkpoint *c, const char *field) {
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
  if (!c->multiply->force) return refuse(c, field);
  dm_log_line(&c->run->log, DM_LOG_WARNING, "starting over: %s differs from the earlier run",
              field);
  c->found.records = 0;
  return DM_OK;
}

static void note_found(dm_checkpoint *c) {
  const dm_attributes *f = dm_journal_fields(c->journal);
  dm_found *found = &c->found;
  dm_journal_records(c->journal, &found->records);
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

/* Whether the file with C's name was created by the run of this journal, with the same command. */
static bool is_done(const dm_checkpoint *c) {
  return c->found.id[0] && strcmp(c->found.id, c->multiply->whole) == 0 &&
         !dm_fields_differ(dm_journal_fields(c->journal), &c->fields, c->in_place);
}

static dm_status look_at_journal(dm_checkpoint *c, const dm_problem *problem) {
  const dm_multiply *m = c->multiply;
  bool locked = true;
  DM_TRY(dm_journal_open(&m->out, &c->journal, &locked));
  if (!locked)
    dm_log_line(
        &c->run->log, DM_LOG_WARNING,
        "the file system of %s has no locks: a second run on the same output would not be noticed",
        m->out.file);
  if (dm_journal_state_of(c->journal) == DM_JOURNAL_DAMAGED && !m->force)
    return dm_hint(dm_fail(DM_E_IO, "%s cannot be resumed: its journal is damaged", m->out.file),
                   "start over with --force");
  if (dm_journal_state_of(c->journal) == DM_JOURNAL_PRESENT) note_found(c);
  DM_TRY(dm_fields_of_problem(m, problem, &c->fields));
  c->found.done = is_done(c);
  if (c->found.done) {
    DM_TRY(dm_output_forget(&m->out));
    DM_TRY(dm_pack_forget(&m->out));
    return dm_output_sync_name(&m->out);
  }
  if (!c->on) c->found.records = 0;
  return c->found.records > 0 ? dm_found_compare(c, &c->fields) : DM_OK;
}

/* Without checkpoints a journal still prevents a run, like the part file beside it. */
static dm_status look_without(const dm_checkpoint *c) {
  const dm_multiply *m = c->multiply;
  bool present, locked;
  DM_TRY(dm_journal_look(&m->out, &present));
  if (!present) return DM_OK;
  if (!m->force)
    return dm_hint(dm_fail(DM_E_IO, "an earlier run on %s can be resumed", m->out.file),
                   "leave out --no-checkpoint, or start over with --force");
  dm_journal *journal;
  DM_TRY(dm_journal_open(&m->out, &journal, &locked));
  dm_status status = dm_journal_remove(journal);
  dm_journal_close(journal);
  return status;
}

dm_status dm_found_look(dm_checkpoint *c, const dm_problem *problem) {
  return c->on || c->in_place ? look_at_journal(c, problem) : look_without(c);
}
