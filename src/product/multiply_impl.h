/* multiply_impl: shared by the parts of the pipeline. */
#ifndef DM_PRODUCT_MULTIPLY_IMPL_H
#define DM_PRODUCT_MULTIPLY_IMPL_H

#include "product/job.h"
#include "product/multiply.h"

/* One round of JOB, whose run, multiply and repair are set: plans, multiplies,
 * verifies and commits. The caller closes the job, also after an error. (multiply.c) */
dm_status dm_job_work(dm_job *job, dm_record *record);

/* Only plans it. */
dm_status dm_job_plan(dm_job *job, dm_record *record);

/* ---- the verdict (judge.c) ---- */

/* Chooses how C is verified, once the plan is known. */
void dm_judge_choose(dm_job *job);

/* Opens what watches A, B and C on their way; C in memory is verified before its elements are made.
 */
dm_status dm_judge_open(dm_job *job);

/* Collective: JOB's verdict. A result that must not be published is an error, or JOB asks for
 * another round. */
dm_status dm_judge(dm_job *job);

/* Readers find numbers that they make infinite; of other matrices in memory those are looked for
 * where C may have NaN or Inf, as VERDICT, or NULL, says. */
dm_status dm_judge_range(const dm_job *job, const dm_verdict *verdict);

/* ---- progress (multiply_progress.c) ---- */

/* Bytes of A, B and the old C that this rank has read. */
int64_t dm_multiply_bytes_read(const dm_job *job);

/* The dm_product's progress; CONTEXT is the dm_job. */
dm_status dm_multiply_progress(void *context, int64_t done, int64_t total);

#endif
