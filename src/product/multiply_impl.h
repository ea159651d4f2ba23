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

/* Bytes of A, B and the old C that this rank has read. */
int64_t dm_multiply_bytes_read(const dm_job *job);

/* The dm_product's progress; CONTEXT is the dm_job. (multiply_progress.c) */
dm_status dm_multiply_progress(void *context, int64_t done, int64_t total);

#endif
