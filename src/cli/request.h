/* request: turns settings into the structures of the layers below. */
#ifndef DM_CLI_REQUEST_H
#define DM_CLI_REQUEST_H

#include "cli/verb.h"
#include "comm/alike.h"
#include "product/multiply.h"

dm_equation dm_cli_equation(const dm_settings *settings);

/* The stated seed of the verification. */
dm_check_seed dm_cli_check_seed(const dm_settings *settings);

dm_wishes dm_cli_wishes(const dm_settings *settings);

/* The form as stated, without defaults filled in. */
dm_output_form dm_cli_form(const dm_settings *settings);

int dm_cli_io_threads(const dm_settings *settings); /* -1: not stated */

/* Replaces --machine @FILE by the file's text. */
dm_status dm_cli_read_machine(dm_settings *settings);

/* The result points into SETTINGS. */
dm_engine dm_cli_engine(const dm_settings *settings);

/* The features of files that SETTINGS allow; DM_E_USAGE if they contradict each other. */
dm_status dm_cli_trust(const dm_settings *settings, dm_trust *trust);

/* Inspects the dataset that OPERAND names and logs it with -v; PROVENANCE may be NULL. */
dm_status dm_cli_look(const dm_call *call, const char *operand, dm_dataset *dataset,
                      dm_attributes *provenance);
dm_status dm_cli_look_at(const dm_call *call, const dm_location *location, dm_dataset *dataset,
                         dm_attributes *provenance);

/* The files of a multiplication, as rank 0 found them. */
typedef struct dm_cli_files {
  dm_dataset a, b, c;
  bool has_c; /* beta is not 0 */
  dm_location out;
  dm_dataset whole; /* the existing output, if it may already be the result, */
  bool only_done;   /* and must not be replaced */
  dm_output_form form;
} dm_cli_files;

/* Inspects the operands and checks the output; HAS_C must be set. DM_E_USAGE, DM_E_INPUT and others
 * if they do not fit together. */
dm_status dm_cli_look_at_files(const dm_call *call, dm_cli_files *files);

/* Checks only the output; the operands are known. */
dm_status dm_cli_check_output(const dm_call *call, dm_cli_files *files);
dm_multiply dm_cli_multiply_job(const dm_settings *settings, const dm_cli_files *files);

/* Whether the stated beta is not 0; DM_E_USAGE if --c contradicts it. */
dm_status dm_cli_check_beta(const dm_call *call, bool *reads_c);

/* The verification that CALL requests, with its operands inspected; what is not stated comes from
 * C's provenance. (verb_verify.c) */
struct dm_verify; /* product/verify.h */
dm_status dm_cli_verify_job(const dm_call *call, struct dm_verify *verify);

/* Describes OPERAND, a dataset or a whole file, or for NULL this program. *told: RECORD is worth
 * printing even on failure. (verb_info.c) */
dm_status dm_cli_describe(const dm_call *call, const char *operand, dm_record *record, bool *told);

/* Adds every option of the table, and whether it was given. */
void dm_cli_add_alike(dm_alike *alike, const dm_settings *settings);

/* m, n and k from the options of these names or --size, else FALLBACK (0: none). */
dm_status dm_cli_dimensions(const dm_settings *settings, int64_t fallback, int64_t mnk[3]);

#endif
