/* mirror: makes a square matrix in host memory symmetric. */
#ifndef DM_CORE_MIRROR_H
#define DM_CORE_MIRROR_H

#include "core/view.h"

/* The elements of SQUARE above its diagonal become the mirror images of those below, with CONJUGATE
 * their conjugates; the diagonal then becomes real. */
void dm_mirror(dm_view square, bool conjugate);

/* Conjugates the elements of VIEW, in host memory. */
void dm_conjugate(dm_view view);

#endif
