/* What becomes of the tiles: the file of what is kept, its provenance, and the report. */
#include <stdio.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "io/arrays_file.h"
#include "io/output_form.h"
#include "product/provenance.h"
#include "programs/reduced_gpu.h"

const char *dm_reduced_text(const reduced *r, char text[DM_REDUCED_TEXT]) {
  char one[DM_REDUCTION_TEXT];
  snprintf(text, DM_REDUCED_TEXT, "%s", r->stores_all ? "all of it" : "");
  for (int i = 0; i < r->multiply->kept.count; i++) {
    const size_t used = strlen(text);
    snprintf(text + used, DM_REDUCED_TEXT - used, "%s%s", i > 0 ? "; " : "",
             dm_reduction_text(&r->multiply->kept.list[i], one));
  }
  return text;
}

static const char *reduced_word_of(const reduced *r) {
  return !r->multiply->verify ? "UNVERIFIED" : r->unchecked ? "PARTIAL" : "PASS";
}

/* In words, and as the options that verify takes. */
static dm_status reduced_describe_kept(const dm_reduction *what, dm_attributes *list) {
  char text[DM_REDUCTION_TEXT];
  const char *word = dm_reduction_word(what);
  DM_TRY(dm_attributes_add(list, DM_REDUCTION_ATTRIBUTE, "%s", dm_reduction_text(what, text)));
  if (what->kind == DM_REDUCE_TOP)
    DM_TRY(dm_attributes_add(list, word, "%lld", (long long)what->top));
  else if (what->kind == DM_REDUCE_BEYOND)
    DM_TRY(dm_attributes_add(list, word, "%.17g", what->threshold));
  else
    DM_TRY(dm_attributes_add(list, "reduce", "%s", word));
  DM_TRY(dm_attributes_add(list, "each", what->by_columns ? "column" : "row"));
  DM_TRY(dm_attributes_add(list, "by", "%s", dm_reduce_by_name(what->by)));
  return what->no_self ? dm_attributes_add(list, "no_self", "yes") : DM_OK;
}

static dm_status reduced_describe_product(const reduced *r, dm_attributes *list) {
  const dm_equation *e = &r->stated->equation;
  list->count = 0;
  DM_TRY(dm_provenance_inputs(list, r->run, r->stated, false));
  if (e->divide != DM_NO_DIVISION) DM_TRY(dm_provenance_divide(list, e->divide));
  DM_TRY(dm_provenance_arithmetic(list, e, &r->problem.compute));
  return dm_provenance_notes(list, r->run);
}

dm_status dm_reduced_describe_whole(void *context, const dm_run *run, dm_attributes *list) {
  const reduced *r = context;
  (void)run;
  DM_TRY(reduced_describe_product(r, list));
  return dm_attributes_add(list, "verified", "%s", reduced_word_of(r));
}

static dm_status reduced_describe(const reduced *r, int which, dm_attributes *list) {
  DM_TRY(reduced_describe_product(r, list));
  DM_TRY(reduced_describe_kept(&r->multiply->kept.list[which], list));
  DM_TRY(dm_attributes_add(list, "nan_left_out", "%lld",
                           (long long)dm_reducer_nan(r->reducer[which])));
  return dm_attributes_add(list, "verified", "%s", reduced_word_of(r));
}

/* A group of the file, and what it points to. */
typedef struct reduced_group {
  dm_array arrays[DM_REDUCED_ARRAYS];
  dm_file_encoding encoding;
  dm_attributes attributes;
} reduced_group;

static dm_status reduced_make_group(const reduced *r, int which, reduced_group *of,
                                    dm_file_group *group) {
  const dm_reduction *what = &r->multiply->kept.list[which];
  DM_TRY(reduced_describe(r, which, &of->attributes));
  *group = (dm_file_group){.name = r->multiply->kept.count > 1 ? dm_reduction_word(what) : NULL,
                           .arrays = of->arrays,
                           .attributes = &of->attributes};
  const bool narrow = r->problem.c == DM_F16 || r->problem.c == DM_BF16;
  const dm_dtype type = narrow && dm_output_is_npz(&r->multiply->out) ? DM_F32 : r->problem.c;
  DM_TRY(dm_reducer_result(r->reducer[which], type, of->arrays, &group->count));
  of->encoding = (dm_file_encoding){
      what->by_columns ? "csc_matrix" : "csr_matrix", "0.1.0", {r->problem.m, r->problem.n}};
  if (what->kind == DM_REDUCE_BEYOND || what->sparse) group->encoding = &of->encoding;
  return DM_OK;
}

/* Rank 0. */
static dm_status reduced_write_result(void *context, const dm_keepalive *keepalive) {
  const reduced *r = context;
  const dm_multiply *m = r->multiply;
  dm_file_group groups[DM_REDUCTIONS];
  DM_FREED reduced_group *of = NULL;
  DM_TRY(dm_buffer_table(m->kept.count, &of));
  for (int i = 0; i < m->kept.count; i++) DM_TRY(reduced_make_group(r, i, &of[i], &groups[i]));
  return dm_arrays_write(&m->out, m->force, groups, m->kept.count, keepalive);
}

static void reduced_report_gpu(const reduced *r, dm_record *record) {
  const dm_reduced_gpu_times times = dm_reduced_gpu_times_of(r);
  dm_record_text(record, "reduction.sifted", "sifted", "on the GPU, tile by tile");
  dm_record_real(record, "reduction.load_s", NULL, DM_SHOWN_SECONDS, times.load);
  dm_record_real(record, "reduction.multiply_s", NULL, DM_SHOWN_SECONDS, times.multiply);
  dm_record_real(record, "reduction.sift_s", NULL, DM_SHOWN_SECONDS, times.sift);
  dm_record_real(record, "reduction.merge_s", NULL, DM_SHOWN_SECONDS, times.merge);
}

void dm_reduced_report(const reduced *r, int64_t again, dm_record *record) {
  const dm_problem *p = &r->problem;
  char name[DM_NAME], text[DM_REDUCED_TEXT];
  int64_t count = 0, nans = 0;
  if (r->kept || r->stated->in_memory[DM_C])
    snprintf(name, sizeof name, "in memory");
  else
    dm_location_name(&r->multiply->out, name);
  for (int i = 0; i < r->multiply->kept.count; i++) {
    count += dm_reducer_kept(r->reducer[i]);
    nans = dm_max(nans, dm_reducer_nan(r->reducer[i])); /* the same ones of all */
  }
  const double seconds = dm_now() - r->started;
  dm_record_text(record, "files.c", "result", "%s", name);
  dm_record_text(record, "reduction.what", "kept", "%s", dm_reduced_text(r, text));
  dm_record_integer(record, "problem.m", NULL, DM_SHOWN_PLAIN, p->m);
  dm_record_integer(record, "problem.n", NULL, DM_SHOWN_PLAIN, p->n);
  dm_record_integer(record, "problem.k", NULL, DM_SHOWN_PLAIN, p->k);
  dm_record_integer(record, "reduction.tiles", NULL, DM_SHOWN_PLAIN, r->tiles);
  if (!r->stores_all)
    dm_record_integer(record, "reduction.kept", "elements", DM_SHOWN_PLAIN, count);
  if (r->gpu) reduced_report_gpu(r, record);
  if (again > 0)
    dm_record_integer(record, "problem.close_pairs", "close pairs computed again", DM_SHOWN_PLAIN,
                      again);
  if (nans > 0) dm_record_integer(record, "reduction.nan", "NaN left out", DM_SHOWN_PLAIN, nans);
  dm_record_text(record, "verification.method", "verified", "%lld of %lld tiles of %s: %s",
                 (long long)(r->multiply->verify ? r->tiles : 0), (long long)r->tiles,
                 r->distances.run ? "products, before they became distances"
                                  : "C, before they were reduced",
                 reduced_word_of(r));
  dm_record_text(record, "verification.verdict", NULL, "%s", reduced_word_of(r));
  dm_record_real(record, "times.total_s", "time", DM_SHOWN_SECONDS, seconds);
  dm_record_summary(record,
                    "m=%lld n=%lld k=%lld dtype=%s kept=%lld nan=%lld tiles=%lld ranks=%d "
                    "time_s=%.3f %s",
                    (long long)p->m, (long long)p->n, (long long)p->k, dm_dtype_name(p->c),
                    (long long)count, (long long)nans, (long long)r->tiles, r->run->ranks, seconds,
                    reduced_word_of(r));
}

dm_status dm_reduced_deliver(reduced *r) {
  if (!r->kept) return dm_watch_work(r->run->watch, reduced_write_result, r);
  dm_reduced_kept *to = r->kept;
  int all = 0;
  for (int i = 0; i < r->multiply->kept.count; i++) {
    dm_array made[DM_REDUCED_ARRAYS];
    int count = 0;
    DM_TRY(dm_reducer_result(r->reducer[i], r->problem.c, made, &count));
    for (int j = 0; j < count; j++) {
      to->arrays[all].array = made[j];
      to->arrays[all++].of = dm_reduction_word(&r->multiply->kept.list[i]);
    }
  }
  memcpy(to->reducer, r->reducer, sizeof to->reducer);
  to->count = all;
  return DM_OK;
}

void dm_reduced_kept_free(dm_reduced_kept *kept) {
  for (int i = 0; i < DM_REDUCTIONS; i++) dm_reducer_free(kept->reducer[i]);
  *kept = (dm_reduced_kept){.count = 0};
}
