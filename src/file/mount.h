/* mount: identifies the file system of a file in a form that stays valid after a restart and on
 * other nodes of a cluster. */
#ifndef DM_FILE_MOUNT_H
#define DM_FILE_MOUNT_H

#include <stdbool.h>

#include "file/file_system.h"

enum { DM_MOUNT = 256 };

/* In the terms of the system's list of mounts; longer texts are truncated. Plain data. */
typedef struct dm_mount {
  char kind[DM_FILE_SYSTEM]; /* "ext4", "nfs", ... */
  char source[DM_MOUNT];     /* "/dev/sda1", "server:/export", ... */
  char point[DM_MOUNT];      /* the folder where it is mounted */
} dm_mount;

/* The mount of the file or folder PATH or, if it does not exist, of its folder. False, with *mount
 * empty: unknown. */
bool dm_io_mount(const char *path, dm_mount *mount);

#endif
