/* mount: the type of a file's file system; identifies the file system of a file in a form that
 * stays valid after a restart and on other nodes of a cluster. */
#ifndef DM_FILE_MOUNT_H
#define DM_FILE_MOUNT_H

#include <stdbool.h>

enum { DM_MOUNT = 256, DM_FILE_SYSTEM = 24 };

/* In the terms of the system's list of mounts; longer texts are truncated. Plain data. */
typedef struct dm_mount {
  char kind[DM_FILE_SYSTEM]; /* "ext4", "nfs", ... */
  char source[DM_MOUNT];     /* "/dev/sda1", "server:/export", ... */
  char point[DM_MOUNT];      /* the folder where it is mounted */
} dm_mount;

/* The mount of the file or folder PATH or, if it does not exist, of its folder. False, with *mount
 * empty: unknown. */
bool dm_io_mount(const char *path, dm_mount *mount);

/* "ext4", "nfs", "lustre", ... for the file or folder PATH; if it has no name here, its magic
 * number in hexadecimal; "unknown" if the system does not say. */
char *dm_io_file_system(const char *path, char text[DM_FILE_SYSTEM]);

#endif
