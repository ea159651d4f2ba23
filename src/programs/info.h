/* info: the program's components and environment, and the contents of files. */
#ifndef DM_PROGRAMS_INFO_H
#define DM_PROGRAMS_INFO_H

#include <stdio.h>

#include "inspect/listing.h"
#include "run/record.h"

/* Versions compiled and loaded, backends and transports built, GPUs, cores, memory. Does not start
 * MPI; its version is available before. */
dm_status dm_info_program(dm_record *record);

/* Shape, type, layout, filters and provenance of a dataset; of a C also its list of tiles. Forks.
 */
dm_status dm_info_dataset(const dm_dataset *dataset, const dm_attributes *provenance,
                          dm_record *record);

/* Datasets in the file AT. */
void dm_info_listing(const dm_location *at, const dm_listing *listing, dm_record *record);

#endif
