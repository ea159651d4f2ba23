/* file_note: what a file without attributes of its own was made of, kept by its file system. */
#ifndef DM_IO_FILE_NOTE_H
#define DM_IO_FILE_NOTE_H

#include "dataset/dataset.h"

/* Notes of ATTRIBUTES what tells whether FD, which is complete, must be made again. A file system
 * that has no room for it keeps nothing. */
void dm_file_note(int fd, const dm_attributes *attributes);

/* What was noted of the file PATH, if it has not changed since; else nothing. */
void dm_file_noted(const char *path, dm_attributes *attributes);

#endif
