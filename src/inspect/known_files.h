/* known_files: recognises files whose metadata is the same, byte for byte, as that of a file that
 * was examined before, so that HDF5 need not open each of many files: of 10 000 small ones that
 * takes 0.25 s of a processor in place of 2.5 s.
 *
 * What HDF5 says of a file depends on the bytes that it reads, on the size of the file, and on
 * whether it can lock it. All reads of an examination are logged (hdf5_driver.h). A file of the
 * same size, with the same bytes in all these places, that can be locked, gets the same answer. If
 * the places of its few chunks were recognised in a known file, a file may differ in these and in
 * its length. */
#ifndef DM_INSPECT_KNOWN_FILES_H
#define DM_INSPECT_KNOWN_FILES_H

#include "dataset/hdf5_driver.h"
#include "inspect/inspect.h"

typedef struct dm_known_files dm_known_files;

/* Knows no file yet. */
dm_status dm_known_new(dm_known_files **files);
void dm_known_free(dm_known_files *files); /* NULL is allowed */

/* Completes FIND, whose location is set, if an examination with TRUST would say the same as that of
 * a known file; false: HDF5 must examine it. */
bool dm_known_find(dm_known_files *files, const dm_trust *trust, dm_dataset *find);

/* The log for the next file that HDF5 examines. */
dm_h5_log *dm_known_start(dm_known_files *files);

/* That file was examined with TRUST: ASKED is what was asked for, FOUND the answer. */
void dm_known_add(dm_known_files *files, const dm_trust *trust, const dm_location *asked,
                  const dm_dataset *found);

#endif
