/* hdf5_use: how damier uses the HDF5 library: quietly, without plug-ins, inside one file. */
#ifndef DM_IO_HDF5_USE_H
#define DM_IO_HDF5_USE_H

#include <hdf5.h>

#include "io/dataset.h"
#include "io/naming.h"

/* Before any other use, and before each use that must (not) load PLUGINS: the switch is the
 * library's. */
dm_status dm_h5_start(bool plugins);

/* Opens AT's file read-only, by DRIVER (0: HDF5's own). */
dm_status dm_h5_open_file(const dm_location *at, hid_t driver, hid_t *file);

/* A file access list without HDF5's locks, for files that this program locks itself; closing the
 * file closes what an error left open in it.  < 0: failed. */
hid_t dm_h5_unlocked(void);

/* The number under which h5py registered its filter. */
enum { DM_H5_LZF = 32000 };

/* Where a path would have left the file. */
typedef struct dm_h5_exit {
  bool met;
  char file[256];
} dm_h5_exit;

/* A dataset access list; unless ELSEWHERE, links into other files fail and are noted in EXIT, which
 * must live as long as the list.  < 0: failed. */
hid_t dm_h5_access(bool elsewhere, dm_h5_exit *exit);

/* Rows and columns; an error where OBJECT is not a matrix that damier can address.  *VECTOR says
 * what one dimension is taken as, and becomes DM_NO_VECTOR where there are two. */
dm_status dm_h5_shape(const dm_location *at, hid_t object, dm_vector *vector, int64_t *rows,
                      int64_t *cols);

/* The same for the chunks of a dataset created as CREATION says; false: they are no such chunks. */
bool dm_h5_chunk_shape(hid_t creation, dm_vector vector, int64_t *rows, int64_t *cols);

/* Where element (row, col) of DATASET is for HDF5. */
void dm_h5_place(const dm_dataset *dataset, int64_t row, int64_t col, hsize_t place[2]);

/* Makes *space a selection of one rectangle of SET, which is DATASET. */
dm_status dm_h5_select(const dm_dataset *dataset, hid_t set, int64_t row, int64_t col, int64_t rows,
                       int64_t cols, hid_t *space);

/* An error with HDF5's own reason behind it.  What the system said to HDF5 (no lock, no space, I/O
 * error) decides over CODE. */
#define dm_h5_fail(code, at, ...) dm_h5_status(code, at, __FILE__, __LINE__, __func__, __VA_ARGS__)
dm_status dm_h5_status(dm_code code, const dm_location *at, const char *file, int line,
                       const char *function, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

#endif
