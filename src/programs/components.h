/* components: principal components of a matrix, or its truncated singular value decomposition.
 *
 * X, centered and scaled while it is read, is multiplied by few vectors, and they by X^T, in
 * products of the pipeline; small dense problems are solved on rank 0. The short side of X has a
 * basis there; what is as long as the other side is divided over the ranks. The basis begins with
 * the eigenvectors of X^T X (or X X^T), or with random vectors and grows with each pass over X, by
 * the residuals (block Krylov, restarted). A last pass of the vectors found proves them. */
#ifndef DM_PROGRAMS_COMPONENTS_H
#define DM_PROGRAMS_COMPONENTS_H

#include "io/arrays_file.h"
#include "product/description.h"
#include "run/record.h"
#include "run/run.h"

typedef enum dm_components_method {
  DM_METHOD_AUTO, /* what is predicted to be faster */
  DM_METHOD_GRAM,
  DM_METHOD_PASSES,
} dm_components_method;

typedef struct dm_components {
  dm_multiply multiply; /* of X with itself, as for covariances, or without centering; OUT has the
                           result */
  int64_t count;        /* of components */
  dm_components_method method;
  int64_t passes;       /* that extend the basis, at most */
  int64_t oversampling; /* vectors of a pass beyond COUNT */
  double tolerance;     /* of residuals, as a part of the largest singular value */
  uint64_t seed;
  dm_location scores; /* a file for X times the components; no name: not wanted */
} dm_components;

/* The result on rank 0: arrays of f64. */
enum { DM_COMPONENTS_ARRAYS = 10 };
typedef struct dm_components_result {
  int count;
  dm_array arrays[DM_COMPONENTS_ARRAYS];
  bool converged;
} dm_components_result;

void dm_components_result_free(dm_components_result *result);

/* Collective. The result becomes the file of JOB, or RESULT, which was empty and is the caller's to
 * free, also after DM_E_UNCHECKED: it did not converge. X is in a file or in host memory that all
 * ranks see. */
dm_status dm_components_run(dm_run *run, const dm_components *job, dm_components_result *result,
                            dm_record *record);

/* A result in a file. */
typedef struct dm_components_stored {
  dm_dataset components, singular_values;
} dm_components_stored;

/* Collective: finds the residuals of STORED, components of the X of JOB, again by a pass over X.
 * DM_E_VERIFY, agreed: one is beyond JOB's tolerance. */
dm_status dm_components_verify(dm_run *run, const dm_components *job,
                               const dm_components_stored *stored, dm_record *record);

/* The file of JOB is already its result: only says and records that. */
void dm_components_done(const dm_run *run, const dm_components *job, dm_record *record);

/* Collective: only records the method, its memory, passes and operations. */
dm_status dm_components_plan(dm_run *run, const dm_components *job, dm_record *record);

#endif
