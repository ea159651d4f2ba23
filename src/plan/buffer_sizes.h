/* buffer_sizes: sizes of buffers that other modules allocate; those assert them. */
#ifndef DM_PLAN_BUFFER_SIZES_H
#define DM_PLAN_BUFFER_SIZES_H

enum {
  DM_BUFFER_READ_BYTES = 64 << 20,    /* a reader's piece, or half of the chunks kept */
  DM_BUFFER_WIDENED_BYTES = 36 << 20, /* 16-bit and int8 inputs of the CPU in f32 */
  DM_BUFFER_SAMPLE_BYTES = 1 << 20,
  DM_BUFFER_PASS_LEAST = 2 << 20, /* a piece of A or B that is scanned and not kept, */
  DM_BUFFER_PASS_MOST = 32 << 20,
  DM_BUFFER_PASS_PIECES = 2,      /* while the next one is read */
  DM_BUFFER_CHECK_GROUPS = 4,     /* groups of columns, if CPUs multiply */
  DM_BUFFER_SLAB_BYTES = 2 << 20, /* memory that peers' GPUs read consists of whole slabs */
  DM_BUFFER_STRIPS_UP = 16,       /* strips moving to a device */
  DM_BUFFER_STRIPS_OUT = 8,       /* strips moving to the file */
};

#endif
