#include "backend/backend_list.h"

#include <stddef.h>

#include "backend/cpu.h"
#include "backend/cuda.h"

const dm_backend_ops *const dm_backend_list[] = {&dm_backend_cpu, &dm_backend_cuda, NULL};
