/* file_system: of what kind a file's is. */
#ifndef DM_IO_FILE_SYSTEM_H
#define DM_IO_FILE_SYSTEM_H

enum { DM_FILE_SYSTEM = 24 };

/* "ext4", "nfs", "lustre", ... of the file or folder PATH; for one that has no name here its magic
 * number in hexadecimal; "unknown" where it cannot be asked. */
char *dm_io_file_system(const char *path, char text[DM_FILE_SYSTEM]);

#endif
