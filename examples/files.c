/* C = A B of matrices in files, in one process without MPI.
 *     cc -DDAMIER_MPI=0 files.c $(pkg-config --cflags --libs damier) -o files && ./files */
#include <damier.h>
#include <stdio.h>

int main(void) {
  damier_context *context;
  damier_error error;
  const damier_matrix a = damier_file("A.h5:/a"), b = damier_file("B.h5:/b");
  const damier_matrix c = damier_file("C.h5:/c");
  int failed = damier_open_local(&context, &error);
  if (!failed) failed = damier_set(context, "memory", "4GiB", &error);
  if (!failed) failed = damier_multiply(context, &a, &b, &c, &error);
  if (failed) fprintf(stderr, "%s\n%s\n", error.message, error.hint);
  damier_close(context); /* of NULL: nothing */
  return failed;
}
