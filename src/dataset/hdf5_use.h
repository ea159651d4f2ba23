/* hdf5_use: damier's use of the HDF5 library: quiet, without plug-ins, inside one file. */
#ifndef DM_DATASET_HDF5_USE_H
#define DM_DATASET_HDF5_USE_H

#include <hdf5.h>

#include "dataset/dataset.h"
#include "dataset/naming.h"

/* Many builds of HDF5 are not safe for threads, and ranks may be threads of one process: a function
 * that calls it begins with DM_H5_ALONE, and is then the only one until it returns. Such functions
 * may call each other; they must not wait for other ranks. */
#define DM_H5_ALONE __attribute__((cleanup(dm_h5_leave))) const int dm_h5_entered_ = dm_h5_enter()
int dm_h5_enter(void);
void dm_h5_leave(const int *entered);

/* fork(), while no other thread is in HDF5: the child finds the library in order. The caller must
 * not be in it, either. */
pid_t dm_h5_fork(void);

/* An identifier that is closed at the end of its block, whatever it is of: a file, a space, a list.
 * Files that are written are closed by H5Fclose, which can fail. */
#define DM_H5_HELD __attribute__((cleanup(dm_h5_cleanup)))
static inline void dm_h5_cleanup(const hid_t *id) {
  if (*id >= 0) (void)H5Idec_ref(*id);
}

/* Call before any other use, and before each use that must (not) load PLUGINS: the switch is global
 * to the library. */
dm_status dm_h5_start(bool plugins);

typedef struct dm_h5_opening {
  hid_t driver;         /* 0: HDF5's default */
  const void *settings; /* of the driver */
  bool swmr;            /* also while another program writes the file in SWMR mode */
  bool sparse; /* single elements are read: HDF5 needs no buffer of 64 KiB for each dataset */
} dm_h5_opening;

/* Opens AT's file read-only. */
dm_status dm_h5_open_as(const dm_location *at, const dm_h5_opening *how, hid_t *file);
dm_status dm_h5_open_file(const dm_location *at, hid_t *file);

/* A file access list without HDF5's locks, for files that this program locks itself; closing the
 * file closes objects that an error left open. < 0: failed. */
hid_t dm_h5_unlocked(void);

/* The number under which h5py registered its filter. */
enum { DM_H5_LZF = 32000 };

/* The place where a path would have left the file. */
typedef struct dm_h5_exit {
  bool met;
  char file[256];
} dm_h5_exit;

/* A dataset access list; unless ELSEWHERE, links into other files fail and are noted in EXIT, which
 * must live as long as the list. < 0: failed. */
hid_t dm_h5_access(bool elsewhere, dm_h5_exit *exit);

/* Writes to DIMS the shape of matrices of ROWS x COLS with LEADS, each of which is EACH, or their
 * extents if that is 0; returns the number of dimensions. */
int dm_h5_dims(const dm_leads *leads, int64_t each, int64_t rows, int64_t cols, hsize_t *dims);

/* The dimensions of OBJECT; an error if it has none, or too many. */
dm_status dm_h5_extents(const dm_location *at, hid_t object, dm_axes *axes);

/* Adds the chunks of creation list CREATION to AXES; false: they have other dimensions. */
bool dm_h5_chunk_shape(hid_t creation, dm_axes *axes);

/* HDF5's coordinates of element (row, col) of DATASET. */
void dm_h5_place(const dm_dataset *dataset, int64_t row, int64_t col, hsize_t place[DM_AXES]);

/* Some elements of each dimension. */
typedef struct dm_box {
  hsize_t start[DM_AXES], step[DM_AXES], count[DM_AXES];
} dm_box;

/* Makes *space a selection of BOX of SET, which is DATASET; the caller closes it, also after an
 * error. */
dm_status dm_h5_select(const dm_dataset *dataset, hid_t set, const dm_box *box, hid_t *space);

/* Whether the last call of HDF5 failed because of a format of a newer version. */
bool dm_h5_failed_on_newer_format(void);

/* An error followed by HDF5's own reason. An errno that HDF5 reports (no lock, no space, I/O error)
 * and the mark of a writer take precedence over CODE; formats of a newer HDF5 are called that. */
#define dm_h5_fail(code, at, ...) dm_h5_status(code, at, __FILE__, __LINE__, __func__, __VA_ARGS__)
dm_status dm_h5_status(dm_code code, const dm_location *at, const char *file, int line,
                       const char *function, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

#endif
