/* write_way: the ways to write the bytes of C to its file. */
#ifndef DM_IO_WRITE_WAY_H
#define DM_IO_WRITE_WAY_H

#include "core/status.h"

typedef enum dm_write_way {
  DM_WRITE_PWRITE, /* through the page cache: works everywhere */
  DM_WRITE_DIRECT, /* whole blocks with O_DIRECT: no copy, little left for a sync */
  DM_WRITE_MAPPED, /* into mapped pages: pwrite serialises the threads of a node */
  DM_WRITE_AUTO,   /* only as a wish: choose what suits the file system */
} dm_write_way;

const char *dm_write_way_name(dm_write_way way);

/* Chooses the way for the existing FILE, which WRITERS threads of a node write at once. DM_E_USAGE:
 * WISH, unless AUTO, is not supported. */
dm_status dm_write_way_choose(const char *file, dm_write_way wish, int writers, dm_write_way *way);

#endif
