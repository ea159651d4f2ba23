/* file_system: the type of a file's file system. */
#ifndef DM_FILE_FILE_SYSTEM_H
#define DM_FILE_FILE_SYSTEM_H

enum { DM_FILE_SYSTEM = 24 };

/* "ext4", "nfs", "lustre", ... for the file or folder PATH; if it has no name here, its magic
 * number in hexadecimal; "unknown" if the system does not say. */
char *dm_io_file_system(const char *path, char text[DM_FILE_SYSTEM]);

#endif
