/* buffer_sizes: sizes of memory that others than the planner take.  They assert that it is so. */
#ifndef DM_PLAN_BUFFER_SIZES_H
#define DM_PLAN_BUFFER_SIZES_H

enum {
  DM_BUFFER_READ_BYTES = 64 << 20,    /* a reader's piece, or half of the chunks that are kept */
  DM_BUFFER_WIDENED_BYTES = 36 << 20, /* 16-bit and int8 inputs of the CPU in f32 */
  DM_BUFFER_SAMPLE_BYTES = 1 << 20,
  DM_BUFFER_PASS_LEAST = 2 << 20, /* of a piece of A or B that is looked at and not kept, */
  DM_BUFFER_PASS_MOST = 32 << 20,
  DM_BUFFER_PASS_PIECES = 2,      /* while the next one is read */
  DM_BUFFER_CHECK_GROUPS = 4,     /* of columns, where CPUs multiply */
  DM_BUFFER_SLAB_BYTES = 2 << 20, /* memory that peers' GPUs read fills whole ones */
  DM_BUFFER_STRIPS_UP = 16,       /* on the way to a device */
  DM_BUFFER_STRIPS_OUT = 8,       /* on the way to the file */
};

#endif
