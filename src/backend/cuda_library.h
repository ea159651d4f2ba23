/* cuda_library: CUDA's larger libraries, loaded when they are needed.  To load cuBLAS takes 40 ms
 * and to leave it as long, which a job that multiplies on the CPU need not spend. */
#ifndef DM_BACKEND_CUDA_LIBRARY_H
#define DM_BACKEND_CUDA_LIBRARY_H

/* "libcublas.so.13" of NAME "cublas" and MAJOR 13: by the loader's own paths, else beside the
 * toolkit that this program was built with; NULL: not found.  It stays loaded. */
void *dm_cuda_library_open(const char *name, int major);

#endif
