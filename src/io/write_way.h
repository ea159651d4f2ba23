/* write_way: how the bytes of C get into its file. */
#ifndef DM_IO_WRITE_WAY_H
#define DM_IO_WRITE_WAY_H

#include "core/status.h"

typedef enum dm_write_way {
  DM_WRITE_PWRITE, /* through the page cache: works everywhere */
  DM_WRITE_DIRECT, /* whole blocks past it (O_DIRECT): no copy, and nothing is left for a sync */
  DM_WRITE_MAPPED, /* into mapped pages: pwrite lets the threads of a node in one after the other */
  DM_WRITE_AUTO,   /* a wish: what suits the file system */
} dm_write_way;

const char *dm_write_way_name(dm_write_way way);

/* The way for FILE, which is there, and in which WRITERS threads of a node write at the same time.
 * DM_E_USAGE: what was wished for, other than AUTO, is not open to it. */
dm_status dm_write_way_choose(const char *file, dm_write_way wish, int writers, dm_write_way *way);

#endif
