/* cpu: products through CBLAS, cut into pieces so that communication progresses between them. */
#ifndef DM_BACKEND_CPU_H
#define DM_BACKEND_CPU_H

#include "backend/backend_table.h"

extern const dm_backend_ops dm_backend_cpu;

#endif
