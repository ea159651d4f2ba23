#include "product/repair.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "plan/tiles.h"

enum { MOST_ROUNDS = 5 }; /* damage at new places each time: the machine cannot be trusted */
enum { MOST_TOLD = 4 };   /* blocks reported in a line of their own */
enum { WORDS = 400 };

/* Describes ONE, with details from its rank; the same on all ranks. */
static dm_status describe(const dm_job *j, const dm_damaged *one, char words[WORDS]) {
  const int64_t rows = one->last - one->first + 1;
  int length = snprintf(words, WORDS, "row%s %lld", rows > 1 ? "s" : "", (long long)one->first);
  if (rows > 1)
    length += snprintf(words + length, (size_t)(WORDS - length), " to %lld", (long long)one->last);
  snprintf(words + length, (size_t)(WORDS - length),
           " of C, columns %lld to %lld, tile %lld of %lld, rank %d (%.100s on %.60s)",
           (long long)one->cols.begin, (long long)one->cols.end - 1, (long long)one->tile + 1,
           (long long)dm_plan_tiles(&j->setup.plan), one->rank, j->setup.device.name,
           dm_comm_host(j->run->world));
  return dm_comm_broadcast(j->run->world, words, WORDS, one->rank);
}

static void describe_size(const dm_verdict *verdict, char words[64]) {
  if (verdict->exact)
    snprintf(words, 64, "whole numbers differ");
  else
    snprintf(words, 64, "off by %.3g times the bound", verdict->residual);
}

/* The first block that was computed again before, or NULL. */
static const dm_damaged *repeated(const dm_repair *repair, const dm_damage *damage) {
  for (int64_t i = 0; i < damage->count; i++)
    if (dm_damage_at(&repair->seen, &damage->list[i])) return &damage->list[i];
  return repair->round >= MOST_ROUNDS ? &damage->list[0] : NULL;
}

static dm_status say(const dm_job *j, const dm_damage *damage) {
  char words[WORDS], size[64];
  describe_size(&j->verdict, size);
  for (int64_t i = 0; i < dm_min(damage->count, MOST_TOLD); i++) {
    DM_TRY(describe(j, &damage->list[i], words));
    dm_log_line(&j->run->log, DM_LOG_WARNING, "wrong and computed again: %s; %s", words, size);
  }
  if (damage->count > MOST_TOLD)
    dm_log_line(&j->run->log, DM_LOG_WARNING, "and %lld more blocks",
                (long long)(damage->count - MOST_TOLD));
  return DM_OK;
}

static dm_status wrong_again(const dm_job *j, const dm_damaged *one) {
  char words[WORDS], size[64];
  describe_size(&j->verdict, size);
  DM_TRY(describe(j, one, words));
  dm_status status = dm_fail(DM_E_CORRUPT, "%s is wrong again after it was computed again: %s; %s",
                             j->sink.checkpoint ? j->multiply->out.file : "C", words, size);
  status->agreed = true;
  return status;
}

/* C in memory: the next round computes the wrong tiles of the same plan; *good tiles remain. */
static dm_status mark_wrong(dm_job *j, const dm_damage *damage, dm_repair *repair, int64_t *good) {
  repair->plan = j->setup.plan;
  repair->plan.todo = NULL;
  free(repair->wrong);
  repair->wrong = NULL;
  *good = repair->wrong_tiles = dm_plan_tiles(&repair->plan);
  DM_TRY(dm_comm_agree(j->run->world, dm_buffer_table(repair->wrong_tiles, &repair->wrong)));
  for (int64_t i = 0; i < damage->count; i++) {
    *good -= !repair->wrong[damage->list[i].tile];
    repair->wrong[damage->list[i].tile] = true;
  }
  repair->tiles += repair->wrong_tiles - *good;
  return DM_OK;
}

/* Removes what is wrong from the journal; *good tiles remain. */
static dm_status give_back(dm_job *j, const dm_damage *damage, dm_repair *repair, int64_t *good) {
  if (!j->sink.checkpoint) return mark_wrong(j, damage, repair, good);
  dm_wrong_part *wrong;
  int64_t tiles = 0;
  DM_TRY(dm_comm_agree(j->run->world, dm_buffer_table(damage->count, &wrong)));
  for (int64_t i = 0; i < damage->count; i++)
    wrong[i] = (dm_wrong_part){.rows = {damage->list[i].first, damage->list[i].last + 1},
                               .cols = damage->list[i].cols};
  dm_status status =
      dm_checkpoint_give_back(j->sink.checkpoint, wrong, damage->count, good, &tiles);
  repair->tiles += tiles - *good;
  free(wrong);
  return status;
}

static dm_status remember(dm_repair *repair, const dm_damage *damage) {
  for (int64_t i = 0; i < damage->count; i++)
    DM_TRY(dm_damage_add(&repair->seen, &damage->list[i]));
  return DM_OK;
}

static dm_status act_on(dm_job *j, const dm_damage *damage, dm_repair *repair, bool *again) {
  const dm_damaged *twice = repeated(repair, damage);
  int64_t good = 0;
  const int64_t before = repair->tiles;
  DM_TRY(give_back(j, damage, repair, &good));
  if (twice) {
    repair->tiles = before;
    j->keep_part = good == 0; /* else the journal refers to it */
    return wrong_again(j, twice);
  }
  DM_TRY(say(j, damage));
  *again = true;
  return dm_comm_agree(j->run->world, remember(repair, damage));
}

dm_status dm_repair_try(dm_job *j, const dm_verify *verify, dm_repair *repair, bool *again) {
  dm_damage damage;
  *again = false;
  dm_log_line(&j->run->log, DM_LOG_NOTE,
              "the verification failed: A, B and C are read again to find what is wrong");
  DM_TRY(dm_damage_find(j->run, verify, &j->setup.plan, &damage, &j->verdict));
  j->verdict.repaired = repair->tiles;
  if (j->verdict.pass)
    dm_log_line(&j->run->log, DM_LOG_WARNING,
                "C agrees with A and B in their files: the verification itself was wrong");
  dm_status status = j->verdict.pass ? DM_OK : act_on(j, &damage, repair, again);
  dm_damage_free(&damage);
  return status;
}
