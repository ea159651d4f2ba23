/* request: from settings to what the layers below understand. */
#ifndef DM_CLI_REQUEST_H
#define DM_CLI_REQUEST_H

#include "cli/verb.h"
#include "job/multiply.h"
#include "job/verify.h"

dm_equation dm_cli_equation(const dm_settings *settings);
dm_wishes dm_cli_wishes(const dm_settings *settings);

/* As stated: not completed. */
dm_output_form dm_cli_form(const dm_settings *settings);

int dm_cli_io_threads(const dm_settings *settings); /* -1: not stated */

/* Points into SETTINGS. */
dm_engine dm_cli_engine(const dm_settings *settings);

/* What SETTINGS allow; DM_E_USAGE where they contradict each other. */
dm_status dm_cli_trust(const dm_settings *settings, dm_trust *trust);

/* Inspects the dataset that OPERAND names, and says with -v what it is; PROVENANCE may be NULL. */
dm_status dm_cli_look(const dm_call *call, const char *operand, dm_dataset *dataset,
                      dm_attributes *provenance);
dm_status dm_cli_look_at(const dm_call *call, const dm_location *location, dm_dataset *dataset,
                         dm_attributes *provenance);

/* The files of a multiplication, as rank 0 has found them. */
typedef struct dm_cli_files {
  dm_dataset a, b, c;
  bool has_c; /* beta is not 0 */
  dm_location out;
  char whole[DM_ID]; /* what is there, if it may be the result already */
  dm_output_form form;
} dm_cli_files;

/* Inspects the operands and checks the output, of which HAS_C is known; what does not fit together
 * is refused. */
dm_status dm_cli_look_at_files(const dm_call *call, dm_cli_files *files);

/* Only the output, where the operands are known. */
dm_status dm_cli_check_output(const dm_call *call, dm_cli_files *files);
dm_multiply dm_cli_multiply_job(const dm_settings *settings, const dm_cli_files *files);

/* Whether beta, as stated, is not 0; DM_E_USAGE where --c does not go with it. */
dm_status dm_cli_check_beta(const dm_call *call, bool *reads_c);

/* The verification that CALL asks for, its three operands inspected; what is not stated comes from
 * the provenance of C.  (verb_verify.c) */
dm_status dm_cli_verify_job(const dm_call *call, dm_verify *verify);

/* What OPERAND holds, a dataset or a whole file, and NULL what this program is.  *told: RECORD is
 * worth showing even where this fails.  (verb_info.c) */
dm_status dm_cli_describe(const dm_call *call, const char *operand, dm_record *record, bool *told);

/* m, n and k from the options of these names or --size; FALLBACK (0: none) for what is not stated.
 */
dm_status dm_cli_dimensions(const dm_settings *settings, int64_t fallback, int64_t mnk[3]);

#endif
