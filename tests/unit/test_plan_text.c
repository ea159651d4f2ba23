/* The report, word for word; and recipe and hash. */
#include <stdio.h>

#include "plan_cases.h"

#include "plan/plan_text.h"

static dm_plan plan_of(dm_problem problem, const dm_machine *machine, int ranks, dm_wishes wishes) {
  dm_plan plan;
  must(dm_plan_choose(&problem, machine, ranks, &wishes, &plan));
  return plan;
}

static const char golden[] = "@GOLDEN@";

static char *report_of(const dm_problem *problem, const char *machine_text, int ranks) {
  dm_machine machine = machine_of(machine_text);
  dm_wishes wishes = {0};
  dm_plan best, plans[3];
  int found;
  char *text;
  size_t size;
  must(dm_plan_choose(problem, &machine, ranks, &wishes, &best));
  must(dm_plan_candidates(problem, &machine, ranks, &wishes, plans, 3, &found));
  FILE *out = open_memstream(&text, &size);
  must(dm_plan_report(&best, plans, found, &machine, out));
  fclose(out);
  return text;
}

static void report_is_as_agreed(void **state) {
  (void)state;
  dm_problem problem = problem_of(65536, 65536, 65536, DM_BF16);
  char *text = report_of(&problem, "nodes=2 gpus=4 gpu=h200 read=10 write=10 memory=256GiB", 8);
  assert_string_equal(text, golden);
  free(text);
}

/* Lines of at most 100 columns without blanks at the end, whatever is planned. */
static void lines_are_narrow(void **state) {
  (void)state;
  dice d = {.seed = 8};
  for (int i = 0; i < 200; i++) {
    const int64_t most = INT64_C(1) << 29;
    dm_problem problem = problem_of(roll_size(&d, most), roll_size(&d, most), roll_size(&d, most),
                                    (dm_dtype)roll(&d, 0, DM_I8));
    char *text =
        report_of(&problem, i % 2 ? "" : "gpu=h200 gpus=8 nodes=1000 device-memory=8000TiB",
                  i % 2 ? 1 : (int)roll(&d, 1, 8000));
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
      size_t length = strcspn(line, "\n");
      if (length > 100) fail_msg("%zu columns: %.*s", length, (int)length, line);
      assert_true(length == 0 || line[length - 1] != ' ');
    }
    free(text);
  }
}

static void recipe_names_what_decides_the_bits(void **state) {
  (void)state;
  char recipe[200];
  dm_machine machine = machine_of("ranks=4");
  dm_problem problem = problem_of(4096, 4096, 4096, DM_F64);
  dm_plan plan =
      plan_of(problem, &machine, 4, (dm_wishes){.pm = 2, .pn = 2, .pk = 1, .panel = 512});
  dm_plan_recipe(&plan, recipe);
  assert_string_equal(recipe, "grid=2x2x1 kb=512 work=f64 sums=f64 c=f64");
}

/* A reproducible product has one recipe, whatever the ranks. */
static void reproducible_recipe_is_of_the_problem_alone(void **state) {
  (void)state;
  char first[200] = "", recipe[200];
  dm_machine machine = machine_of("ranks=8");
  dm_problem problem = problem_of(700, 4096, 100, DM_F32);
  problem.tf32 = true;
  for (int ranks = 1; ranks <= 8; ranks++) {
    dm_plan plan = plan_of(problem, &machine, ranks, (dm_wishes){.reproducible = true});
    dm_plan_recipe(&plan, recipe);
    if (ranks == 1) strcpy(first, recipe);
    assert_string_equal(recipe, first);
  }
  assert_string_equal(first, "tile=256 kb=512 work=tf32 sums=f32 c=f32");
}

static void hash_sees_every_decision(void **state) {
  (void)state;
  dm_machine machine = machine_of("ranks=4");
  dm_problem problem = problem_of(4096, 4096, 4096, DM_F64);
  dm_plan plan = plan_of(problem, &machine, 4, (dm_wishes){0}), same, other;
  same = plan;
  assert_true(dm_plan_hash(&same) == dm_plan_hash(&plan));
  other = plan;
  other.kb += 64;
  assert_true(dm_plan_hash(&other) != dm_plan_hash(&plan));
  other = plan;
  other.slots++;
  assert_true(dm_plan_hash(&other) != dm_plan_hash(&plan));
  other = plan;
  other.problem.m++;
  assert_true(dm_plan_hash(&other) != dm_plan_hash(&plan));
  other = plan;
  other.overlap ^= true;
  assert_true(dm_plan_hash(&other) != dm_plan_hash(&plan));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(report_is_as_agreed),
      cmocka_unit_test(lines_are_narrow),
      cmocka_unit_test(recipe_names_what_decides_the_bits),
      cmocka_unit_test(reproducible_recipe_is_of_the_problem_alone),
      cmocka_unit_test(hash_sees_every_decision),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
