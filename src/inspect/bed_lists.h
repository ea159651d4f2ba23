/* bed_lists: the text files beside G.bed: G.bim, a line for each variant, and G.fam, one for each
 * sample. */
#ifndef DM_INSPECT_BED_LISTS_H
#define DM_INSPECT_BED_LISTS_H

#include "dataset/dataset.h"

typedef enum dm_bed_list { DM_BED_VARIANTS, DM_BED_SAMPLES } dm_bed_list;

/* What takes line NUMBER (from 0 on), without its end. */
typedef dm_status dm_bed_take(void *context, int64_t number, char *line);

/* Calls TAKE (or NULL) with each line of LIST beside the file BED, but for blank ones; *count of
 * them. DM_E_IO: there is no such file. DM_E_INPUT: it is not such a list, or BED has another name
 * than *.bed. */
dm_status dm_bed_each(const dm_location *bed, dm_bed_list list, dm_bed_take *take, void *context,
                      int64_t *count);

/* "G.bim", for messages. */
dm_status dm_bed_list_name(const dm_location *bed, dm_bed_list list, dm_location *name);

#endif
