/* Pretends to be an OpenBLAS that does not know the CPU. */
#include <stdlib.h>

char *openblas_get_corename(void);

char *openblas_get_corename(void) {
  static char oldest[] = "Prescott", named[] = "named";
  return getenv("OPENBLAS_CORETYPE") ? named : oldest;
}
