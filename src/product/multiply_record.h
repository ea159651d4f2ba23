/* multiply_record: the record of a multiplication from files to a file. */
#ifndef DM_PRODUCT_MULTIPLY_RECORD_H
#define DM_PRODUCT_MULTIPLY_RECORD_H

#include "check/verdict.h"
#include "engine/phases.h"
#include "engine/setup.h"
#include "product/description.h"

typedef struct dm_multiplied {
  const dm_run *run;
  const dm_multiply *multiply;
  const dm_setup *setup;
  const dm_output_form *form; /* completed */
  dm_write_way way;           /* the way C's file was written */
  const dm_phases *worst, *mean;
  const dm_verdict *verdict; /* NULL: not verified */
  bool sums;                 /* C's sums were checked, before alpha and beta */
  bool read_back;            /* C was compared with what was written */
  int64_t unpacked;          /* chunks unpacked by all ranks */
  double repeated;           /* seconds of the rounds before this one, whose C was wrong */
  double factor;             /* of a product by residues, see dm_scaling; 0: none */
  double seconds;            /* total */
} dm_multiplied;

void dm_multiply_record(const dm_multiplied *done, dm_record *record);

/* The record if an earlier run had already computed C. */
void dm_multiply_record_done(const dm_run *run, const dm_multiply *multiply,
                             const dm_problem *problem, dm_record *record);

#endif
