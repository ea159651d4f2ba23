/* An MPI library that says that it sends GPU memory. */
int MPIX_Query_cuda_support(void);

int MPIX_Query_cuda_support(void) {
  return 1;
}
