/* verify_result: verifies a result that is in files: C, or what was kept of it. */
#ifndef DM_PROGRAMS_VERIFY_RESULT_H
#define DM_PROGRAMS_VERIFY_RESULT_H

#include "product/verify.h"

/* Collective. DM_E_VERIFY, agreed: C is wrong; DM_E_UNCHECKED: part of C cannot be verified. */
dm_status dm_verify_run(dm_run *run, const dm_verify *verify, dm_record *record);

/* Collective: compares C with the checksums of its tiles. DM_E_VERIFY, agreed: C was changed. */
dm_status dm_verify_quickly(dm_run *run, const dm_verify *verify, dm_record *record);

#endif
