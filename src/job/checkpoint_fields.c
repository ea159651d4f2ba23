#include "job/checkpoint_fields.h"

#include <stdlib.h>
#include <string.h>

#include "core/version.h"
#include "io/checksum.h"
#include "job/provenance.h"

static dm_status add_number(dm_attributes *list, const char *name, int64_t value) {
  return dm_attributes_add(list, name, "%lld", (long long)value);
}

/* Without the file's name: the same command may run in another directory. What is in memory is
 * identified by its elements, once the backend can reach them. */
static dm_status add_input(dm_attributes *list, const char *letter, const dm_dataset *input,
                           bool in_memory) {
  if (in_memory) return DM_OK;
  char name[4][DM_ATTRIBUTE_NAME];
  uint64_t sample;
  const char *const about[] = {"dataset", "bytes", "modified", "sample"};
  for (int i = 0; i < 4; i++) snprintf(name[i], sizeof name[i], "%s_%s", letter, about[i]);
  DM_TRY(dm_checksum_sample(input, &sample));
  char values[DM_MEANING_TEXT + 64];
  dm_io_describe_meaning(input, values, sizeof values);
  DM_TRY(
      dm_attributes_add(list, name[0], "%s%s%s", input->at.dataset, values[0] ? ", " : "", values));
  DM_TRY(add_number(list, name[1], input->file_bytes));
  DM_TRY(add_number(list, name[2], input->modified_ns));
  return dm_attributes_add(list, name[3], "%016llx", (unsigned long long)sample);
}

static dm_status add_problem(dm_attributes *list, const dm_problem *p) {
  DM_TRY(add_number(list, "m", p->m));
  DM_TRY(add_number(list, "n", p->n));
  DM_TRY(add_number(list, "k", p->k));
  DM_TRY(dm_attributes_add(list, "products_in", "%s",
                           p->fastest ? "fastest" : dm_compute_products(&p->compute, p->work)));
  DM_TRY(dm_attributes_add(list, "sums_in", "%s", dm_dtype_name(p->accumulator)));
  return dm_attributes_add(list, "type_c", "%s", dm_dtype_name(p->c));
}

dm_status dm_fields_of_problem(const dm_multiply *m, const dm_problem *problem,
                               dm_attributes *list) {
  const dm_equation *e = &m->equation;
  DM_TRY(dm_attributes_add(list, "software", "damier %s (git %s)", DM_VERSION, DM_GIT));
  DM_TRY(add_problem(list, problem));
  DM_TRY(dm_attributes_add(list, "op_a", "%s", dm_op_name(e->op_a)));
  DM_TRY(dm_attributes_add(list, "op_b", "%s", dm_op_name(e->op_b)));
  DM_TRY(dm_attributes_add(list, "alpha", "%.17g,%.17g", e->alpha[0], e->alpha[1]));
  DM_TRY(dm_attributes_add(list, "beta", "%.17g,%.17g", e->beta[0], e->beta[1]));
  DM_TRY(dm_attributes_add(list, "c_dataset", "%s", m->out.dataset));
  DM_TRY(
      dm_attributes_add(list, "reproducible", "%s", m->engine.wishes.reproducible ? "yes" : "no"));
  DM_TRY(add_input(list, "a", &m->a, m->in_memory[DM_A]));
  DM_TRY(add_input(list, "b", &m->b, m->in_memory[DM_B]));
  return problem->reads_c ? add_input(list, "old_c", &m->c, m->in_memory[DM_OLD]) : DM_OK;
}

dm_status dm_fields_of_setup(const dm_multiply *m, const dm_setup *setup, dm_attributes *list) {
  DM_TRY(dm_attributes_add(list, "backend", "%s", setup->backend->ops->name));
  DM_TRY(dm_attributes_add(list, "kernel", "%s", setup->plan.kernel));
  static const char *const names[] = {"a_elements", "b_elements", NULL, "old_c_elements"};
  for (int x = 0; x < 4; x++)
    if (m->in_memory[x] && names[x])
      DM_TRY(dm_attributes_add(list, names[x], "%016llx", (unsigned long long)m->elements[x]));
  DM_TRY(dm_attributes_add(list, "multiplied_in", "%s", setup->plan.problem.compute.name));
  return dm_attributes_add(list, "device", "%s",
                           m->engine.wishes.reproducible ? setup->device.name : "any");
}

const char *dm_fields_differ(const dm_attributes *recorded, const dm_attributes *wanted,
                             bool in_place) {
  for (int i = 0; i < wanted->count; i++) {
    if (in_place && strncmp(wanted->list[i].name, "old_c_", 6) == 0) continue;
    const char *text = dm_attributes_find(recorded, wanted->list[i].name);
    if (!text || strcmp(text, wanted->list[i].text) != 0) return wanted->list[i].name;
  }
  return NULL;
}

int64_t dm_fields_number(const dm_attributes *recorded, const char *name) {
  const char *text = dm_attributes_find(recorded, name);
  char *end;
  if (!text) return -1;
  int64_t value = strtoll(text, &end, 10);
  return end == text || *end ? -1 : value;
}
