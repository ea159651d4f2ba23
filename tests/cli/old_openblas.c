/* An OpenBLAS that does not know the CPU, as far as its answer goes. */
#include <stdlib.h>

char *openblas_get_corename(void);

char *openblas_get_corename(void) {
  static char oldest[] = "Prescott", named[] = "named";
  return getenv("OPENBLAS_CORETYPE") ? named : oldest;
}
