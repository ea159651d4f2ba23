/* members: files that HDF5 wrote as several, with its drivers "family" (x0.h5, x1.h5, ...: equal
 * pieces of one run of addresses) and "multi" or "split" (x-m.h5 with the metadata, x-r.h5 with the
 * elements). They are found without HDF5, by the name of one and the first bytes of the one that
 * describes them. */
#ifndef DM_DATASET_MEMBERS_H
#define DM_DATASET_MEMBERS_H

#include "dataset/dataset.h"

enum { DM_MEMBERS_KINDS = 6 }; /* of bytes, which the driver "multi" may keep apart */

typedef struct dm_members {
  dm_members_kind kind;
  char first[DM_PATH];   /* the file that describes all */
  char pattern[DM_PATH]; /* of a family: "x%d.h5"; else the file of the elements */
  int64_t each;          /* of a family: bytes of every file but the last */
  uint64_t start;        /* else: the address at which elements begin */
  int count;             /* else: files, ... */
  uint64_t starts[DM_MEMBERS_KINDS];
  char names[DM_MEMBERS_KINDS][DM_PATH]; /* ... with these addresses and names */
} dm_members;

/* Finds the files of which PATH is one: by the name of any, by a family's pattern "x%d.h5", or by
 * the name that "-m.h5" follows; false: there are none. */
bool dm_members_find(const char *path, dm_members *members);

/* Whether PATH names all of MEMBERS, as opposed to one among them. */
bool dm_members_is_name(const dm_members *members, const char *path);

/* ---- the open files ---- */

typedef struct dm_member_files dm_member_files;

/* Opens all files of MEMBERS, which AT names, read-only. DM_E_INPUT: one is missing or cut off. */
dm_status dm_members_open(const dm_location *at, const dm_members *members,
                          dm_member_files **files);
void dm_members_close(dm_member_files *files); /* NULL is allowed */

/* Where address AT is: the open file *fd, the offset *offset there, and *bytes that follow in it;
 * false: in no file. */
bool dm_members_place(const dm_member_files *files, uint64_t at, int *fd, int64_t *offset,
                      int64_t *bytes);

/* Reads BYTES at address AT; what no file has is 0. False: it cannot be read. */
bool dm_members_read(const dm_member_files *files, void *to, int64_t bytes, uint64_t at);

/* The end of all addresses. */
uint64_t dm_members_end(const dm_member_files *files);

/* The file of the elements, or the first of a family. */
int dm_members_data(const dm_member_files *files);

/* Stores the identity of that file in DATASET, with the bytes of all files that hold elements, and
 * the latest change of any. */
dm_status dm_members_identify(const dm_member_files *files, dm_dataset *dataset);

/* The same of the files that DATASET, which has some, names. */
dm_status dm_members_look(const dm_location *at, dm_dataset *dataset);

#endif
