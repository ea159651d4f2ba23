/* cuda_library: CUDA's larger libraries, loaded on demand. Loading cuBLAS takes 40 ms, unloading
 * the same; jobs that multiply on the CPU avoid both. */
#ifndef DM_BACKEND_CUDA_LIBRARY_H
#define DM_BACKEND_CUDA_LIBRARY_H

/* Loads "libcublas.so.13" for NAME "cublas" and MAJOR 13 from the loader's paths, else from the
 * toolkit that this program was built with, else from NVIDIA's Python packages beside damier's;
 * NULL: not found. It stays loaded. */
void *dm_cuda_library_open(const char *name, int major);

#endif
