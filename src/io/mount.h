/* mount: in which file system a file lies, in words that mean the same after a restart and on the
 * other nodes of a cluster. */
#ifndef DM_IO_MOUNT_H
#define DM_IO_MOUNT_H

#include <stdbool.h>

#include "io/file_system.h"

enum { DM_MOUNT = 256 };

/* As the system lists its mounts; a longer text is cut.  Plain data. */
typedef struct dm_mount {
  char kind[DM_FILE_SYSTEM]; /* "ext4", "nfs", ... */
  char source[DM_MOUNT];     /* "/dev/sda1", "server:/export", ... */
  char point[DM_MOUNT];      /* the folder where it is mounted */
} dm_mount;

/* Of the file or folder PATH, or, where there is none of that name yet, of the folder that it would
 * be in.  False, and *mount empty, where the system does not tell. */
bool dm_io_mount(const char *path, dm_mount *mount);

bool dm_io_same_mount(const dm_mount *x, const dm_mount *y);

#endif
