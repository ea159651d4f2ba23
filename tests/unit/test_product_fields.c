/* Fields that must match to resume: a change of any single field is reported by name. */
#include "checks.h"
#include "product/checkpoint_impl.h"

static void fill(const char *path, char value) {
  char data[10000];
  memset(data, value, sizeof data);
  write_bytes(path, data, sizeof data);
}

static dm_dataset input(const char *path) {
  dm_dataset d = {
      .at = {.dataset = "/x"}, .rows = 9, .cols = 9, .file_bytes = 10000, .modified_ns = 17};
  snprintf(d.at.file, sizeof d.at.file, "%s", path);
  return d;
}

static dm_attributes *fields_of(const dm_multiply *m, const dm_problem *p) {
  dm_attributes *list = calloc(1, sizeof *list);
  assert_non_null(list);
  ok(dm_fields_of_problem(m, p, list));
  return list;
}

static dm_multiply multiply;
static dm_problem problem = {
    .m = 5, .n = 6, .k = 7, .work = DM_F32, .accumulator = DM_F32, .c = DM_F32, .reads_c = true};

/* Checks that the first field that differs between ORIGINAL and the current case is NAME. */
static void expect_named(const dm_attributes *original, const char *name) {
  dm_attributes *now = fields_of(&multiply, &problem);
  const char *field = dm_fields_differ(original, now, false);
  if (!field || strcmp(field, name) != 0) fail_msg("%s, wanted %s", field ? field : "none", name);
  free(now);
}

#define CHANGED(place, value, name)                                                                \
  do {                                                                                             \
    __typeof__(place) before = place;                                                              \
    place = value;                                                                                 \
    expect_named(original, name);                                                                  \
    place = before;                                                                                \
  } while (0)

TEST(test_every_field) {
  char path[512];
  fill(path_in(path, *state, "x"), 1);
  problem.compute = *dm_compute_by(DM_F32);
  multiply.a = multiply.b = multiply.c = input(path);
  dm_attributes *original = fields_of(&multiply, &problem), *again = fields_of(&multiply, &problem);
  assert_null(dm_fields_differ(original, again, false));
  CHANGED(problem.m, 8, "m");
  CHANGED(problem.n, 8, "n");
  CHANGED(problem.k, 8, "k");
  CHANGED(problem.work, DM_F64, "products_in");
  CHANGED(problem.compute, *dm_compute_by(DM_TF32), "products_in");
  CHANGED(problem.accumulator, DM_F64, "sums_in");
  CHANGED(problem.c, DM_F64, "type_c");
  CHANGED(multiply.equation.op_a, DM_OP_T, "op_a");
  CHANGED(multiply.equation.op_b, DM_OP_C, "op_b");
  CHANGED(multiply.equation.alpha[1], 1e-300, "alpha");
  CHANGED(multiply.equation.beta[0], 0.1, "beta");
  CHANGED(multiply.out.dataset[0], 'x', "c_dataset");
  CHANGED(multiply.engine.wishes.reproducible, true, "reproducible");
  CHANGED(multiply.a.at.dataset[1], 'y', "a_dataset");
  CHANGED(multiply.a.file_bytes, 1, "a_bytes");
  CHANGED(multiply.a.modified_ns, 1, "a_modified");
  CHANGED(multiply.b.file_bytes, 1, "b_bytes");
  CHANGED(multiply.c.modified_ns, 1, "old_c_modified");
  multiply.c.modified_ns++; /* irrelevant if C replaced it */
  dm_attributes *replaced = fields_of(&multiply, &problem);
  assert_null(dm_fields_differ(original, replaced, true));
  multiply.c.modified_ns--;
  free(replaced);
  /* neither the file's place nor options of speed count */
  multiply.engine.threads = 3;
  multiply.engine.wishes.pm = 2;
  dm_attributes *other = fields_of(&multiply, &problem);
  assert_null(dm_fields_differ(original, other, false));
  fill(path, 2);
  expect_named(original, "a_sample");
  /* the cases above cover every field, directly or for another input */
  for (int i = 0; i < original->count; i++) {
    snprintf(again->list[i].text, sizeof again->list[i].text, "something else");
    assert_string_equal(dm_fields_differ(again, original, false), original->list[i].name);
    snprintf(again->list[i].name, sizeof again->list[i].name, "gone");
    assert_string_equal(dm_fields_differ(again, original, false), original->list[i].name);
    again->list[i] = original->list[i];
  }
  free(original);
  free(again);
  free(other);
}

TEST(test_numbers) {
  dm_attributes *list = calloc(1, sizeof *list);
  ok(dm_attributes_add(list, "a", "9007199254740993"));
  ok(dm_attributes_add(list, "b", "12x"));
  ok(dm_attributes_add(list, "c", "%s", ""));
  assert_true(dm_fields_number(list, "a") == 9007199254740993);
  assert_int_equal(dm_fields_number(list, "b"), -1);
  assert_int_equal(dm_fields_number(list, "c"), -1);
  assert_int_equal(dm_fields_number(list, "d"), -1);
  free(list);
}

RUN_ALL_IN_FOLDER(test_product_fields)
