/* pdgemm_files: C = A B from HDF5 files into an HDF5 file by ScaLAPACK's pdgemm (or psgemm), as
 * a user of serial HDF5 might write it: each rank reads whole rows, the matrices are redistributed
 * to block-cyclic layout and C back, and each rank writes whole rows.  Built and run only by
 * scripts/bench/user.sh.
 *
 *     mpirun -n P pdgemm_files A.h5 B.h5 C.h5 BLOCK        datasets /a, /a and /c, f64 or f32
 *
 * A row-major matrix read as column-major is its transpose: the program computes
 * C^T = B^T A^T. */
#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void Cblacs_get(int context, int what, int *value);
extern void Cblacs_gridinit(int *context, const char *order, int rows, int columns);
extern void Cblacs_gridinfo(int context, int *rows, int *columns, int *row, int *column);
extern int numroc_(const int *n, const int *block, const int *me, const int *first, const int *all);
extern void descinit_(int *desc, const int *m, const int *n, const int *mb, const int *nb,
                      const int *row, const int *column, const int *context, const int *lld,
                      int *info);
#define GEMM(name)                                                                                 \
  extern void name(const char *ta, const char *tb, const int *m, const int *n, const int *k,       \
                   const void *alpha, const void *a, const int *ia, const int *ja, const int *da,  \
                   const void *b, const int *ib, const int *jb, const int *db, const void *beta,   \
                   void *c, const int *ic, const int *jc, const int *dc)
GEMM(pdgemm_);
GEMM(psgemm_);
#define COPY(name)                                                                                 \
  extern void name(int m, int n, const void *a, int ia, int ja, const int *da, void *b, int ib,    \
                   int jb, const int *db, int context)
COPY(Cpdgemr2d);
COPY(Cpsgemr2d);

static int rank, ranks, slabs, grid; /* of MPI; BLACS contexts */
static hid_t type;
static size_t element;

/* A matrix in ScaLAPACK's view, transposed: its column is a row of the file. */
typedef struct matrix {
  int rows, columns; /* of the file */
  int desc[9];
  int first, held; /* of slabs: local rows of the file */
  char *data;
} matrix;

static void check(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "pdgemm_files: rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 4);
}

static matrix new_matrix(int rows, int columns, int down, int across, int context) {
  const int zero = 0;
  int prows, pcols, prow, pcol, info;
  Cblacs_gridinfo(context, &prows, &pcols, &prow, &pcol);
  matrix x = {.rows = rows, .columns = columns};
  const int local_rows = numroc_(&columns, &down, &prow, &zero, &prows);
  const int lead = local_rows > 0 ? local_rows : 1;
  x.held = numroc_(&rows, &across, &pcol, &zero, &pcols);
  x.first = pcol * across;
  descinit_(x.desc, &columns, &rows, &down, &across, &zero, &zero, &context, &lead, &info);
  x.data = malloc((size_t)lead * (size_t)(x.held + 1) * element);
  check(info == 0 && x.data, "no room for a matrix");
  return x;
}

/* Whole rows of the file, evenly distributed over ranks. */
static matrix new_slab(int rows, int columns) {
  return new_matrix(rows, columns, columns, (rows + ranks - 1) / ranks, slabs);
}

static void copy(const matrix *from, const matrix *to) {
  (element == 8 ? Cpdgemr2d : Cpsgemr2d)(from->columns, from->rows, from->data, 1, 1, from->desc,
                                         to->data, 1, 1, to->desc, slabs);
}

static matrix read_slab(const char *name) {
  const hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t set = H5Dopen2(file, "a", H5P_DEFAULT), space = H5Dget_space(set);
  hsize_t size[2];
  check(H5Sget_simple_extent_dims(space, size, NULL) == 2, "an input cannot be read");
  const hid_t stored = H5Dget_type(set);
  element = H5Tget_size(stored);
  type = element == 8 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
  matrix x = new_slab((int)size[0], (int)size[1]);
  const hsize_t start[2] = {(hsize_t)x.first, 0}, count[2] = {(hsize_t)x.held, size[1]};
  if (x.held > 0) {
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    const hid_t here = H5Screate_simple(2, count, NULL);
    check(H5Dread(set, type, here, space, H5P_DEFAULT, x.data) >= 0, "an input cannot be read");
    H5Sclose(here);
  }
  H5Tclose(stored);
  H5Sclose(space);
  H5Dclose(set);
  H5Fclose(file);
  return x;
}

/* Rank 0 creates the file with space for C.  Serial HDF5 cannot write from several ranks at once,
 * so they write directly at the dataset's offset. */
static void write_slab(const char *name, const matrix *x) {
  long long offset = 0;
  if (rank == 0) {
    const hsize_t size[2] = {(hsize_t)x->rows, (hsize_t)x->columns};
    const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t how = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, size, NULL);
    H5Pset_alloc_time(how, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(how, H5D_FILL_TIME_NEVER);
    const hid_t set = H5Dcreate2(file, "c", type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    offset = (long long)H5Dget_offset(set);
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(how);
    check(H5Fclose(file) >= 0, "C cannot be created");
  }
  MPI_Bcast(&offset, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  const size_t row = (size_t)x->columns * element, all = row * (size_t)x->held;
  const int file = open(name, O_WRONLY);
  check(file >= 0, "C cannot be opened");
  for (size_t done = 0; done < all;) {
    const off_t place = (off_t)((size_t)offset + row * (size_t)x->first + done);
    const ssize_t now = pwrite(file, x->data + done, all - done, place);
    check(now > 0, "C cannot be written");
    done += (size_t)now;
  }
  check(close(file) == 0, "C cannot be written");
}

/* Redistributes whole rows to blocks on the grid. */
static matrix dealt(matrix slab, int block) {
  const matrix x = new_matrix(slab.rows, slab.columns, block, block, grid);
  copy(&slab, &x);
  free(slab.data);
  return x;
}

static matrix product(const matrix *a, const matrix *b, int block) {
  const int one = 1, m = b->columns, n = a->rows, k = a->columns;
  const double alpha = 1.0, beta = 0.0;
  const float alpha_f = 1.0F, beta_f = 0.0F;
  const matrix c = new_matrix(a->rows, b->columns, block, block, grid);
  const int f64 = element == 8;
  (f64 ? pdgemm_ : psgemm_)("N", "N", &m, &n, &k, f64 ? (const void *)&alpha : &alpha_f, b->data,
                            &one, &one, b->desc, a->data, &one, &one, a->desc,
                            f64 ? (const void *)&beta : &beta_f, c.data, &one, &one, c.desc);
  return c;
}

int main(int count, char **words) {
  MPI_Init(&count, &words);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  check(count == 5 && atoi(words[4]) > 0, "usage: pdgemm_files A.h5 B.h5 C.h5 BLOCK");
  const int block = atoi(words[4]);
  int rows = 1; /* of the grid closest to a square */
  for (int i = 1; i * i <= ranks; i++)
    if (ranks % i == 0) rows = i;
  Cblacs_get(-1, 0, &slabs);
  grid = slabs;
  Cblacs_gridinit(&slabs, "Row", 1, ranks);
  Cblacs_gridinit(&grid, "Row", rows, ranks / rows);
  const matrix a = dealt(read_slab(words[1]), block), b = dealt(read_slab(words[2]), block);
  check(a.columns == b.rows, "A and B do not fit together");
  const matrix c = product(&a, &b, block);
  const matrix slab = new_slab(c.rows, c.columns);
  copy(&c, &slab);
  write_slab(words[3], &slab);
  MPI_Finalize();
  return 0;
}
