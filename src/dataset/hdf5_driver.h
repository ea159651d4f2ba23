/* hdf5_driver: a file driver in front of HDF5's own, which observes what HDF5 reads. */
#ifndef DM_DATASET_HDF5_DRIVER_H
#define DM_DATASET_HDF5_DRIVER_H

#include <hdf5.h>

#include "dataset/dataset.h"
#include "dataset/members.h"

enum { DM_H5_PIECES = 256, DM_H5_LOGGED = 1 << 15 };

/* What HDF5 has read of a file, in this order. */
typedef struct dm_h5_log {
  bool lost; /* there was no room for all */
  /* These bytes are elements, of which some are being looked at: they are not logged. */
  int64_t elements, elements_bytes;
  int64_t count, bytes;
  struct {
    int64_t offset, bytes;
  } piece[DM_H5_PIECES];
  unsigned char content[DM_H5_LOGGED]; /* of the pieces, one after another */
  struct dm_h5_observer *observer;     /* of the open file */
} dm_h5_log;

/* What the driver observes; FD comes first, as H5Fget_vfd_handle requires. */
typedef struct dm_h5_observer {
  int fd;                       /* descriptor of HDF5's own driver */
  bool intercepts, intercepted; /* then the next read of elements is not done: */
  int64_t offset, bytes;        /* where it would be */
  dm_h5_log *log;               /* or NULL */
  hid_t driver;
  const dm_member_files *members; /* or NULL: it is one file */
  uint64_t start;                 /* the address that offset 0 of its elements has */
} dm_h5_observer;

typedef struct dm_h5_observed {
  bool members;      /* AT's file describes several (members.h), which are opened as one */
  bool swmr, sparse; /* as in dm_h5_opening */
  dm_h5_log *log;    /* filled until the file is closed; or NULL */
} dm_h5_observed;

/* Opens AT's file read-only like dm_h5_open_as, through the driver. *observer lives as long as the
 * file. */
dm_status dm_h5_open_observed(const dm_location *at, const dm_h5_observed *how, hid_t *file,
                              dm_h5_observer **observer);

/* The offset of ADDRESS among the elements of DATASET, in whose file SET is open; -1: it is none.
 */
int64_t dm_h5_offset(const dm_dataset *dataset, hid_t set, haddr_t address);

/* Closes FILE; OBSERVER is from dm_h5_open_observed, or NULL if FILE was opened without the driver.
 */
void dm_h5_close_observed(hid_t file, const dm_h5_observer *observer);

#endif
