#include "product/multiply_record.h"
#include "plan/plan_text.h"

#include <math.h>

#include "core/checked.h"
#include "core/units.h"
#include "engine/phases.h"
#include "file/inspect.h"
#include "product/centered.h"
#include "product/provenance.h"
#include "run/facts.h"

static const dm_dataset *in_file(const dm_multiplied *done, int matrix, const dm_dataset *set) {
  return done->multiply->in_memory[matrix] ? NULL : set;
}

static void record_files(const dm_multiplied *done, dm_record *record) {
  const dm_dataset *inputs[] = {&done->multiply->a, &done->multiply->b};
  const char *const paths[] = {"files.a", "files.b"}, *const labels[] = {"A", "B"};
  for (int i = 0; i < 2; i++) {
    const dm_dataset *d = inputs[i];
    char layout[160], name[DM_NAME], shape[DM_SHAPE_TEXT];
    dm_dataset_text(d, shape);
    if (done->multiply->in_memory[i]) {
      dm_record_text(record, paths[i], labels[i], "in memory, %s %s", shape,
                     dm_dtype_name(d->dtype));
      continue;
    }
    dm_io_describe(d, layout, sizeof layout);
    dm_record_text(record, paths[i], labels[i], "%s, %s %s, %s", dm_location_name(&d->at, name),
                   shape, dm_dtype_name(d->dtype), layout);
    dm_facts_file_system(i == 0 ? "a" : "b", d->at.file, record);
  }
  dm_provenance_record(
      (const dm_dataset *const[3]){
          in_file(done, DM_A, &done->multiply->a), in_file(done, DM_B, &done->multiply->b),
          done->setup->plan.problem.reads_c ? in_file(done, DM_OLD, &done->multiply->c) : NULL},
      record);
  if (inputs[0]->centering || inputs[1]->centering) dm_centering_record(inputs, record);
  if (done->unpacked > 0) {
    dm_record_integer(record, "files.chunks", "chunks in A and B", DM_SHOWN_PLAIN,
                      dm_dataset_chunks(inputs[0]) + dm_dataset_chunks(inputs[1]));
    dm_record_integer(record, "files.chunks_unpacked", "chunks unpacked", DM_SHOWN_PLAIN,
                      done->unpacked);
  }
  if (done->multiply->in_memory[DM_C]) {
    dm_record_text(record, "files.c", "C", "in memory");
    return;
  }
  char form[96], name[DM_NAME];
  dm_output_form_text(done->form, form, sizeof form);
  const dm_location *out = &done->multiply->out;
  dm_record_text(record, "files.c", "C", "%s, %s",
                 done->form->npy ? out->file : dm_location_name(out, name), form);
  dm_facts_file_system("c", done->multiply->out.file, record);
  dm_record_text(record, "files.write_way", "C is written by", "%s", dm_write_way_name(done->way));
}

/* A machine that others use, or whose CPU is limited or throttled, makes the prediction useless. */
static void comment_slowness(const dm_multiplied *done) {
  const double long_run = 10, slow = 5; /* seconds, times the prediction */
  const dm_forecast *f = &done->setup->plan.forecast;
  char took[32], predicted[32];
  if (done->seconds < long_run || done->seconds < slow * (f->start + f->total)) return;
  dm_log_line(&done->run->log, DM_LOG_NOTE,
              "took %s, predicted were %s: is the machine busy, or its CPU limited or throttled? "
              "(docs/howto/slow.md)",
              dm_format_seconds(done->seconds, took),
              dm_format_seconds(f->start + f->total, predicted));
}

void dm_multiply_record(const dm_multiplied *done, dm_record *record) {
  const dm_plan *plan = &done->setup->plan;
  const dm_problem *p = &plan->problem;
  const dm_phases *worst = done->worst;
  const dm_verdict *verdict = done->verdict;
  record_files(done, record);
  comment_slowness(done);
  dm_setup_record(done->setup, done->run, record);
  if (p->symmetry != DM_NO_SYMMETRY)
    dm_record_text(record, "problem.symmetry", "symmetry", "%s: half of C multiplied and mirrored",
                   p->symmetry == DM_HERMITIAN ? "Hermitian" : "symmetric");
  if (p->compute.moduli > 0)
    dm_record_integer(record, "problem.moduli", NULL, DM_SHOWN_PLAIN, p->compute.moduli);
  const double factor = fmax(done->factor, dm_compute_factor(&p->compute, p->work, p->k));
  if (factor > 0.0)
    dm_record_real(record, "problem.factor", "rounding at most f u |A||B|, f", DM_SHOWN_PLAIN,
                   factor);
  dm_run_record_launch(done->run, record);
  dm_phases_record(worst, done->mean, plan, done->seconds, record);
  const dm_equation *e = &done->multiply->equation;
  const dm_checked checked = {.problem = p,
                              .alpha = done->sums ? NULL : e->alpha,
                              .beta = done->sums ? NULL : e->beta,
                              .standard = e->standard};
  if (verdict) dm_verdict_record(verdict, &checked, &done->run->log, record);
  if (done->repeated > 0.0)
    dm_record_real(record, "times.repeated_s", "before the repair", DM_SHOWN_SECONDS,
                   done->repeated);
  dm_record_flag(record, "verification.read_back", NULL, done->read_back);
  char seed[DM_SEED_TEXT] = "", batch[32];
  if (verdict) dm_verdict_seed(verdict, seed);
  dm_record_summary(record,
                    "damier: multiply m=%lld n=%lld k=%lld%s dtype=%s ranks=%d time_s=%.3f "
                    "multiply_s=%.3f tflops=%.4g residual=%.2g%s%s %s",
                    (long long)dm_problem_entry_rows(p), (long long)p->n,
                    p->no_k ? 0LL : (long long)p->k, dm_problem_batch_text(p, batch),
                    dm_dtype_name(p->work), done->run->ranks, done->seconds,
                    worst->multiply + worst->reduce, dm_phases_flops(worst, plan) * 1e-12,
                    verdict ? verdict->residual : 0.0, seed[0] ? " seed=" : "", seed,
                    verdict ? dm_verdict_word(verdict) : "UNVERIFIED");
}

void dm_multiply_record_done(const dm_run *run, const dm_multiply *m, const dm_problem *p,
                             dm_record *record) {
  char name[DM_NAME], batch[32];
  dm_log_line(&run->log, DM_LOG_NOTE,
              "%s is already the result of this command: nothing was multiplied", m->out.file);
  dm_record_text(record, "files.c", "C", "%s, made by an earlier run",
                 dm_location_name(&m->out, name));
  dm_record_summary(record, "damier: multiply m=%lld n=%lld k=%lld%s dtype=%s ranks=%d DONE",
                    (long long)dm_problem_entry_rows(p), (long long)p->n,
                    p->no_k ? 0LL : (long long)p->k, dm_problem_batch_text(p, batch),
                    dm_dtype_name(p->work), run->ranks);
}
