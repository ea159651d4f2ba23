/* The report, verbatim. */
#include "plan/plan_text.h"
#include "plan_cases.h"

static const char golden[] =
    "Problem\n"
    "  A  65536 x 65536 bf16, 8.00 GiB\n"
    "  B  65536 x 65536 bf16, 8.00 GiB\n"
    "  C  65536 x 65536 f32, 16.0 GiB\n"
    "  multiplied in bf16, summed in f32, verified\n"
    "\n"
    "Machine: 2 nodes of 4 ranks, each with 1 core and a GPU: h200\n"
    "Rates (as --machine states)\n"
    "  product                 790 TFLOP/s   per rank, 695 TFLOP/s in long products\n"
    "  upload                    55.0 GB/s   host to device, per rank\n"
    "  link                       374 GB/s   device to device in a node, per rank\n"
    "  network                   48.0 GB/s   into a node\n"
    "  latency                     10.0 us   per message\n"
    "  host memory               40.0 GB/s   per rank\n"
    "  read                      10.0 GB/s   all ranks together\n"
    "  write                     10.0 GB/s   all ranks together\n"
    "\n"
    "  grid            panel       time        host      device    received  x bound\n"
    "* 4x2x1            2048     3.44 s     681 MiB    8.07 GiB    4.00 GiB     1.33\n"
    "  2x4x1            2048     3.44 s     681 MiB    8.07 GiB    4.00 GiB     1.33\n"
    "  3x2x1            2048     3.44 s     681 MiB    9.41 GiB    4.00 GiB     1.22\n"
    "  memory and received: of the rank that needs most; x bound: received, relative to the\n"
    "  tight lower bound for any algorithm (arXiv 2205.13407)\n"
    "\n"
    "Plan: grid 4x2x1, 8 of 8 ranks\n  k per layer in 32 x 2048, 3 slots\n"
    "  the ranks of a node form a box of 4x1x1\n"
    "  shares of A on the GPUs, of B on the GPUs, in place; panels travel during "
    "products\n"
    "  recipe: grid=4x2x1 kb=2048 work=bf16 sums=f32 c=f32\n"
    "\n"
    "Memory per rank                  host         device\n"
    "  panels of A                       -       2.00 GiB\n"
    "  panels of B                       -       4.00 GiB\n"
    "  block of C                        -       2.00 GiB\n"
    "  staging                     288 MiB              -\n"
    "  verification               9.00 MiB       9.00 MiB\n"
    "  program, libraries          384 MiB       64.0 MiB\n"
    "  together                    681 MiB       8.07 GiB\n"
    "  there is                    256 GiB        139 GiB\n"
    "  disk, for C                16.0 GiB\n"
    "\n"
    "Moved between ranks\n"
    "  into one rank, most       2.147e+09   elements; lower bound 1.611e+09, ratio 1.33\n"
    "  all together               32.0 GiB\n"
    "  between nodes              8.00 GiB\n"
    "\n"
    "Files\n"
    "  read                       16.0 GiB\n"
    "  read and written          1.288e+10   elements; lower bound 1.288e+10, ratio 1.00\n"
    "\n"
    "Predicted time                          bound by\n"
    "  read                         1.72 s   files\n"
    "  fetch                       90.8 ms   network           panels from other ranks\n"
    "  multiply                     110 ms   compute\n"
    "  not hidden                  2.84 ms   network           of fetch and upload, added to "
    "multiply\n"
    "  write                        1.72 s   files\n"
    "  together                     3.44 s   files\n"
    "  rate                   4.99 PFLOP/s   without the files\n";

static char *report_of(const dm_problem *problem, const char *machine_text, int ranks) {
  dm_machine machine = machine_of(machine_text);
  const dm_wishes wishes = {0};
  const dm_plan best = planned(problem, &machine, ranks, wishes);
  dm_plan plans[3];
  int found;
  char *text;
  size_t size;
  ok(dm_plan_candidates(problem, &machine, ranks, &wishes, plans, 3, &found));
  FILE *out = open_memstream(&text, &size);
  ok(dm_plan_report(&best, plans, found, &machine, out));
  fclose(out);
  return text;
}

TEST(report_is_as_agreed) {
  dm_problem problem = problem_of(65536, 65536, 65536, DM_BF16);
  char *text =
      report_of(&problem, "nodes=2 gpus=4 gpu=h200 links=device read=10 write=10 memory=256GiB", 8);
  assert_string_equal(text, golden);
  free(text);
}

/* Lines have at most 100 columns and no trailing blanks, for any plan. */
TEST(lines_are_narrow) {
  dice d = {.seed = 8};
  for (int i = 0; i < 30; i++) {
    const int64_t most = INT64_C(1) << 29;
    dm_problem problem = problem_of(roll_size(&d, most), roll_size(&d, most), roll_size(&d, most),
                                    (dm_dtype)roll(&d, 0, DM_I8));
    char *text = report_of(&problem, i % 2 ? "" : "gpu=h200 gpus=8 nodes=100 device-memory=8000TiB",
                           i % 2 ? 1 : (int)roll(&d, 1, 200));
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
      size_t length = strcspn(line, "\n");
      if (length > 100) fail_msg("%zu columns: %.*s", length, (int)length, line);
      assert_true(length == 0 || line[length - 1] != ' ');
    }
    free(text);
  }
}

RUN_ALL(test_plan_report)
