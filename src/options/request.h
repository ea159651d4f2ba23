/* request: turns settings into the structures of the pipeline, and examines the files that a
 * product names. */
#ifndef DM_OPTIONS_REQUEST_H
#define DM_OPTIONS_REQUEST_H

#include "comm/comm.h"
#include "core/log.h"
#include "inspect/inspect.h"
#include "options/option.h"
#include "product/multiply.h"
#include "product/verify.h"
#include "programs/components.h"

/* From now on SETTINGS are those of the product of a matrix with itself. Centering and scaling are
 * those of the columns, or rows, whose products are computed. */
void dm_request_gram(dm_settings *settings, bool of_rows);

/* The same for covariances, or correlations; with TWO those of one matrix's lines with another's.
 */
void dm_request_covariance(dm_settings *settings, bool of_rows, bool correlation, bool two);

dm_equation dm_request_equation(const dm_settings *settings);

/* The same with the type that A and B are promoted to. */
dm_equation dm_request_equation_of(const dm_settings *settings, const dm_dataset *a,
                                   const dm_dataset *b);

/* Whether C has covariances of lines of A and B, or with SCALED of lines that are scaled. */
bool dm_request_has_covariances(const dm_settings *settings, bool scaled);

/* The stated seed of the verification. */
dm_check_seed dm_request_check_seed(const dm_settings *settings);

dm_wishes dm_request_wishes(const dm_settings *settings);

/* The form as stated, without defaults filled in. */
dm_output_form dm_request_form(const dm_settings *settings);

/* What is kept of C. DM_E_USAGE: options that do nothing, or contradict each other. */
dm_status dm_request_reductions(const dm_settings *settings, dm_reductions *kept);

/* The same as it is stated, whatever else is. */
void dm_request_kept(const dm_settings *settings, dm_reductions *kept);

int dm_request_io_threads(const dm_settings *settings); /* -1: not stated */

/* The result points into SETTINGS. */
dm_engine_options dm_request_engine(const dm_settings *settings);

/* Whether beta is not 0. */
bool dm_request_reads_c(const dm_settings *settings);

/* DM_E_USAGE: an old C is stated, and nothing says that beta is 0. NAMED: by damier_old_c; an old C
 * that SETTINGS name is found there. */
dm_status dm_request_check_beta(const dm_settings *settings, bool named);

/* Adds every option of SETTINGS, and whether it was given. */
void dm_request_add_alike(dm_alike *alike, const dm_settings *settings);

/* ---- files ---- */

/* Inspects the dataset that OPERAND names, A (X 0) or B (1), and describes it on LOG in detail.
 * BY_RULE: a vector is A's row or B's column, as in NumPy, unless SETTINGS say otherwise. */
dm_status dm_request_inspect_factor(const dm_settings *settings, const dm_log *log,
                                    const char *operand, int x, bool by_rule, dm_dataset *dataset);

/* The same for A and B of a product of two, by that rule; then their product, with LEADS, has a
 * dimension less for each vector: LEADS->vector. DM_E_INPUT: in a batch. */
dm_status dm_request_inspect_both(const dm_settings *settings, const dm_log *log,
                                  const char *const operands[2], dm_dataset *a, dm_dataset *b);
dm_status dm_request_shape_result(const dm_settings *settings, const dm_dataset *a,
                                  const dm_dataset *b, dm_leads *leads);

/* Inspects what may be such a product: one dimension is read as VECTOR. */
dm_status dm_request_inspect_shaped(const dm_settings *settings, const dm_log *log,
                                    const dm_location *location, dm_vector vector,
                                    dm_dataset *dataset, dm_attributes *provenance);

/* States which values of DATASET, a matrix in memory, are missing; warnings go to LOG. */
dm_status dm_request_state_missing(const dm_settings *settings, const dm_log *log,
                                   dm_dataset *dataset);

/* How untrusted files are read, as SETTINGS state. DM_E_USAGE: what is stated does not fit. */
dm_status dm_request_trust(const dm_settings *settings, dm_trust *trust);

/* The same for another dataset, of whose values none is missing unless its attributes say so.
 * PROVENANCE may be NULL. */
dm_status dm_request_inspect_at(const dm_settings *settings, const dm_log *log,
                                const dm_location *location, dm_dataset *dataset,
                                dm_attributes *provenance);

/* The texts of the group AT, or none (dm_group_inspect). */
dm_status dm_request_inspect_group(const dm_settings *settings, const dm_location *at,
                                   dm_attributes *attributes);

/* Arranges A and B, which were inspected, as SETTINGS multiply them; LEADS: C's. */
dm_status dm_request_arrange(const dm_settings *settings, dm_dataset *a, dm_dataset *b,
                             dm_leads *leads);

/* Inspects the vectors that SETTINGS name for A and B in EQUATION. DM_E_INPUT: of another length.
 */
dm_status dm_request_inspect_vectors(const dm_settings *settings, const dm_log *log,
                                     const dm_equation *equation, const dm_dataset *a,
                                     const dm_dataset *b, dm_vectors *vectors);

/* DM_E_INPUT: C, old or to be verified, has other leading dimensions than LEADS. */
dm_status dm_request_check_leads(const dm_dataset *c, const dm_leads *leads);

/* The files of a product, as rank 0 found them. */
typedef struct dm_product_files {
  dm_dataset a, b, c;
  dm_vectors vectors;
  bool has_c; /* beta is not 0 */
  dm_location out;
  dm_dataset existing;      /* the output, if it may already be the result, */
  bool only_done;           /* and must not be replaced */
  dm_output_form form;      /* its leads are known once A and B are arranged */
  char request[DM_REQUEST]; /* what C is made of, for a later --if-needed */
  bool done;                /* C is complete: there is nothing to do */
} dm_product_files;

/* Whether X, of more than two axes, the last of them 2, may be complex along that one, though
 * neither the file nor the user says so. */
bool dm_request_may_be_complex(const dm_dataset *x);

/* Notes on LOG what was done to the numbers of A and B, and which side of them is which where the
 * program that wrote them has it the other way round. */
void dm_request_tell(const dm_settings *settings, const dm_log *log, const dm_dataset *a,
                     const dm_dataset *b);

/* The same, at LEVEL, of elements that are promoted; of others in files that PROBLEM multiplies as
 * another type in detail. */
void dm_request_tell_types(const dm_settings *settings, const dm_log *log, dm_level level,
                           const dm_dataset *a, const dm_dataset *b, const dm_problem *problem);

/* The product of A and B, which are arranged, and the old C. DM_E_INPUT and others if they do not
 * fit together. */
dm_status dm_request_problem(const dm_settings *settings, const dm_product_files *files,
                             dm_problem *problem);

/* Inspects A and B, which OPERANDS name, and the old C; HAS_C must be set. */
dm_status dm_request_inspect_operands(const dm_settings *settings, const dm_log *log,
                                      const char *const operands[2], dm_product_files *files,
                                      dm_problem *problem);

/* The same and the vectors that SETTINGS name, and checks the output, unless it is found to be the
 * complete result, and that is asked for. (request_done.c) */
dm_status dm_request_inspect_files(const dm_settings *settings, const dm_log *log,
                                   const char *const operands[2], dm_product_files *files);

/* Sets what C is made of, and whether the output already is that, if the user asks for it. In doubt
 * it is not. A, B, the old C and the vectors are known; the matrices are in files. DM_E_USAGE: that
 * cannot be told. (request_done.c) */
dm_status dm_request_find_done(const dm_settings *settings, dm_product_files *files);

/* Checks only the output; A, B and the old C are known. */
dm_status dm_request_check_output(const dm_settings *settings, const dm_log *log,
                                  dm_product_files *files);

void dm_request_multiply(const dm_settings *settings, const dm_product_files *files,
                         dm_multiply *multiply);

/* From now on SETTINGS are those of principal components of X, or, with SVD, of its truncated SVD.
 */
void dm_request_components(dm_settings *settings, bool of_rows, bool svd);

/* Sets what the components of FILES are made of, and whether the output already has them, if the
 * user asks for it. In doubt it has not. */
dm_status dm_request_find_components(const dm_settings *settings, dm_product_files *files);

/* Inspects X, which OPERAND names, and the vectors of SETTINGS, and, TO_FILE, checks the output. */
dm_status dm_request_inspect_components(const dm_settings *settings, const dm_log *log,
                                        const char *operand, bool to_file, dm_product_files *files);

/* The same of X that is inspected, as A and B of FILES; TO_FILE: the result is to be one; FIND: X
 * is one, too, and a complete result is looked for. */
dm_status dm_request_settle_components(const dm_settings *settings, const dm_log *log, bool to_file,
                                       bool find, dm_product_files *files);

/* The job of FILES. DM_E_USAGE: options that contradict each other, or no rank. */
dm_status dm_request_components_job(const dm_settings *settings, const dm_product_files *files,
                                    dm_components *job);

/* The same of the components in a file, the second operand, whose attributes say what SETTINGS do
 * not: these are completed. */
dm_status dm_request_verify_components(dm_settings *settings, const dm_log *log,
                                       const char *const operands[2], dm_product_files *files,
                                       dm_components_stored *stored);

/* The verification of C against A and B, which OPERANDS name; what is not stated comes from C's
 * provenance. */
dm_status dm_request_verify(const dm_settings *settings, const dm_log *log,
                            const char *const operands[3], dm_verify *verify);

/* The verification of C alone, by the checksums of its tiles. */
dm_status dm_request_verify_alone(const dm_settings *settings, const dm_log *log,
                                  const char *operand, dm_verify *verify);

/* Describes OPERAND, a dataset or a whole file. *found: RECORD is worth keeping even on failure.
 * */
dm_status dm_request_describe(const dm_settings *settings, const dm_log *log, const char *operand,
                              dm_record *record, bool *found);

#endif
