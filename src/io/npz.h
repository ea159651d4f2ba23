/* npz: NumPy's archive of arrays, a zip file without compression. */
#ifndef DM_IO_NPZ_H
#define DM_IO_NPZ_H

#include <stdint.h>

#include "core/status.h"

/* A member of an archive. */
typedef struct dm_npz_member {
  char name[64];    /* "data.npy"; another ending: DATA is text */
  char type[8];     /* as NumPy writes it: "<f8" */
  char shape[48];   /* "", "3," or "3, 4" */
  const void *data; /* row-major */
  int64_t bytes;    /* of DATA */
} dm_npz_member;

/* Bytes of an archive of COUNT MEMBERS. */
int64_t dm_npz_bytes(const dm_npz_member *members, int count);

/* Writes them to the empty file FD, which is PATH. KEEPALIVE, or NULL, beats meanwhile. */
dm_status dm_npz_write(int fd, const char *path, const dm_npz_member *members, int count,
                       const dm_keepalive *keepalive);

#endif
