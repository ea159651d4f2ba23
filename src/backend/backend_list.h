/* backend_list: all backends, one table each. */
#ifndef DM_BACKEND_BACKEND_LIST_H
#define DM_BACKEND_BACKEND_LIST_H

#include "backend/backend_table.h"

/* Built or not; NULL at the end. */
extern const dm_backend_ops *const dm_backend_list[];

#endif
