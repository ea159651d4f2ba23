#include "cli/option.h"

#define AT(field) .at = offsetof(dm_settings, field)

enum {
  MULTIPLY = DM_VERB_MULTIPLY,
  PLAN = DM_VERB_PLAN,
  GENERATE = DM_VERB_GENERATE,
  VERIFY = DM_VERB_VERIFY,
  INFO = DM_VERB_INFO,
  BENCH_M = DM_VERB_BENCH_MULTIPLY,
  BENCH_IO = DM_VERB_BENCH_IO,
  NONE = DM_VERB_NONE,
  BENCH = BENCH_M | BENCH_IO,
  READERS = MULTIPLY | PLAN | VERIFY | INFO, /* verbs that open inputs */
  VERBS = MULTIPLY | PLAN | GENERATE | VERIFY | INFO | BENCH,
  ENGINE = MULTIPLY | BENCH_M,
};

/* Each list is in the order of the enum that it stands for. */
static const char *const ops[] = {"n", "t", "c", NULL};
static const char *const types[] = {"f64", "f32", "f16", "bf16", "c64", "c128", "i8", "i32", NULL};
static const char *const computes[] = {"auto", "f64", "f32", "tf32", NULL};
static const char *const backends[] = {"auto", "cpu", "cuda", NULL};
static const char *const transports[] = {"auto", "self", "host", "ipc", "nccl", "cuda-mpi", NULL};
static const char *const kinds[] = {"uniform", "normal",   "ozaki",   "identity",
                                    "integer", "constant", "hilbert", NULL};
static const char *const places[] = {"auto", "host", "device", NULL};
static const char *const modes[] = {"auto", "always", "never", NULL};
static const char *const shells[] = {"bash", NULL};

/* clang-format off */
const dm_option dm_cli_options[] = {
    /* files */
    {"output", 'o', "C.h5[:/ds]", MULTIPLY, DM_GROUP_FILES, NULL, "dataset /c",
     "where C is written", dm_cli_set_location, AT(output), .flags_only = true},
    {"c", 0, "C0.h5[:/ds]", MULTIPLY | PLAN | VERIFY, DM_GROUP_FILES, NULL, NULL,
     "the old C, read where beta is not 0; may be the output with --force",
     dm_cli_set_location, AT(old_c), .flags_only = true},
    {"force", 0, NULL, MULTIPLY | GENERATE, DM_GROUP_FILES, NULL, NULL,
     "replace an output that exists, if it holds nothing but that dataset",
     dm_cli_set_flag, AT(force), .flags_only = true},
    {"directory", 0, "DIR", BENCH_IO, DM_GROUP_FILES, ".", NULL,
     "where the scratch file is made, and removed again", dm_cli_set_path, AT(directory)},

    /* the matrices, where no file says it */
    {"m", 0, "N", PLAN | BENCH_M, DM_GROUP_MATRIX, NULL, NULL,
     "rows of op(A) and C", dm_cli_set_count, AT(m), .least = 1},
    {"n", 0, "N", PLAN | BENCH_M, DM_GROUP_MATRIX, NULL, NULL,
     "columns of op(B) and C", dm_cli_set_count, AT(n), .least = 1},
    {"k", 0, "N", PLAN | BENCH_M, DM_GROUP_MATRIX, NULL, NULL,
     "columns of op(A), rows of op(B)", dm_cli_set_count, AT(k), .least = 1},
    {"rows", 0, "N", GENERATE, DM_GROUP_MATRIX, NULL, NULL,
     "rows of the matrix", dm_cli_set_count, AT(rows), .least = 1},
    {"cols", 0, "N", GENERATE, DM_GROUP_MATRIX, NULL, NULL,
     "columns of the matrix", dm_cli_set_count, AT(cols), .least = 1},
    {"size", 0, "N", PLAN | GENERATE | BENCH_M, DM_GROUP_MATRIX, NULL, "bench: 2048",
     "every dimension that is not stated otherwise", dm_cli_set_count, AT(size), .least = 1},
    {"bytes", 0, "SIZE", BENCH_IO, DM_GROUP_MATRIX, "1GiB", NULL,
     "size of the matrix", dm_cli_set_count, AT(bytes), .least = 4096},
    {"kind", 0, NULL, GENERATE, DM_GROUP_MATRIX, "uniform", NULL,
     "what the elements are", dm_cli_set_choice, AT(kind), .choices = kinds},
    {"seed", 0, "N", GENERATE | BENCH_M, DM_GROUP_MATRIX, "1", NULL,
     "of the random elements", dm_cli_set_count, AT(seed)},
    {"phi", 0, "X", GENERATE, DM_GROUP_MATRIX, "1", NULL,
     "ozaki: (rand - 0.5) exp(phi randn)", dm_cli_set_real, AT(phi), .flags_only = true},
    {"range", 0, "N", GENERATE, DM_GROUP_MATRIX, "8", NULL,
     "integer: whole numbers in [-N, N]", dm_cli_set_count, AT(range), .flags_only = true, .least = 1},
    {"value", 0, "X", GENERATE, DM_GROUP_MATRIX, "1", NULL,
     "constant: every element", dm_cli_set_real, AT(value), .flags_only = true},

    /* C = alpha op(A) op(B) + beta C0 */
    {"op-a", 0, NULL, MULTIPLY | PLAN | VERIFY, DM_GROUP_EQUATION, "n", NULL,
     "A as it is, transposed, or conjugate transposed",
     dm_cli_set_choice, AT(op_a), .choices = ops},
    {"op-b", 0, NULL, MULTIPLY | PLAN | VERIFY, DM_GROUP_EQUATION, "n", NULL,
     "the same for B", dm_cli_set_choice, AT(op_b), .choices = ops},
    {"alpha", 0, "RE[,IM]", MULTIPLY | VERIFY, DM_GROUP_EQUATION, "1", NULL,
     "factor of the product", dm_cli_set_complex, AT(alpha)},
    {"beta", 0, "RE[,IM]", MULTIPLY | PLAN | VERIFY, DM_GROUP_EQUATION, "0", NULL,
     "factor of the old C (see --c); 0 does not read it", dm_cli_set_complex, AT(beta)},
    {"type", 0, NULL, MULTIPLY | PLAN | GENERATE | VERIFY | BENCH_M, DM_GROUP_EQUATION, NULL,
     "the files', else f64", "element type; inputs of another are first rounded to it",
     dm_cli_set_choice, AT(type), .choices = types},
    {"type-c", 0, NULL, MULTIPLY | PLAN | BENCH_M, DM_GROUP_EQUATION, NULL,
     "the inputs'; 16 bit: f32, i8: i32", "element type of the result",
     dm_cli_set_choice, AT(type_c), .choices = types},
    {"compute", 0, NULL, MULTIPLY | PLAN | VERIFY | BENCH_M, DM_GROUP_EQUATION, "auto", NULL,
     "precision of the products; auto never lowers that of the inputs",
     dm_cli_set_choice, AT(compute), .choices = computes},

    /* bench, verify */
    {"from", 0, NULL, BENCH_M, DM_GROUP_MEASURE, "auto", NULL,
     "where the operands lie; auto: on the GPUs, as far as they fit",
     dm_cli_set_choice, AT(from), .choices = places},
    {"repetitions", 0, "N", BENCH, DM_GROUP_MEASURE, "5", NULL,
     "measured runs", dm_cli_set_count, AT(repetitions), .least = 1},
    {"warmup", 0, "N", BENCH_M, DM_GROUP_MEASURE, "1", NULL,
     "runs before the first measured one", dm_cli_set_count, AT(warmup)},
    {"against-library", 0, NULL, BENCH_M, DM_GROUP_MEASURE, NULL, NULL,
     "alternate with direct calls of the library in the same process",
     dm_cli_set_flag, AT(against_library)},
    {"against-local", 0, NULL, BENCH_M, DM_GROUP_MEASURE, NULL, NULL,
     "alternate with the same products of panels that lie ready: nothing moved",
     dm_cli_set_flag, AT(against_local)},
    {"full", 0, NULL, VERIFY, DM_GROUP_MEASURE, NULL, NULL,
     "multiply again in higher precision and compare every element",
     dm_cli_set_flag, AT(full)},

    /* how */
    {"ranks", 0, "N", PLAN, DM_GROUP_ENGINE, NULL, "those of the machine",
     "plan for so many MPI ranks", dm_cli_set_count, AT(ranks), .least = 1},
    {"machine", 0, "WORDS", PLAN, DM_GROUP_ENGINE, NULL, "this computer",
     "such as \"nodes=16 gpus=8 gpu=h200\"", dm_cli_set_text, AT(machine)},
    {"grid", 0, "PMxPNxPK", ENGINE | PLAN, DM_GROUP_ENGINE, "auto", NULL,
     "process grid; ranks beyond its product stay idle", dm_cli_set_grid, AT(grid)},
    {"panel", 0, "N", ENGINE | PLAN, DM_GROUP_ENGINE, "auto", NULL,
     "width of a panel of k, a multiple of 64", dm_cli_set_panel, AT(panel)},
    {"backend", 0, NULL, ENGINE, DM_GROUP_ENGINE, "auto", NULL,
     "where products are computed", dm_cli_set_choice, AT(backend), .choices = backends},
    {"kernel", 0, "NAME", ENGINE, DM_GROUP_ENGINE, "auto", NULL,
     "of the backend ('damier info' lists them)", dm_cli_set_text, AT(kernel)},
    {"transport", 0, NULL, ENGINE, DM_GROUP_ENGINE, "auto", NULL,
     "how panels travel between ranks; each is proved before it is used",
     dm_cli_set_choice, AT(transport), .choices = transports},
    {"threads", 0, "N", ENGINE, DM_GROUP_ENGINE, NULL, "the node's cores over its ranks",
     "of the CPU product, per rank", dm_cli_set_count, AT(threads), .least = 1},
    {"memory", 0, "host=SIZE,device=SIZE", ENGINE | PLAN, DM_GROUP_ENGINE, NULL,
     "its share of the node", "what one rank may use", dm_cli_set_memory, AT(memory)},
    {"reproducible", 0, NULL, ENGINE | PLAN, DM_GROUP_ENGINE, NULL, NULL,
     "the same bits of C on any number of ranks and any grid",
     dm_cli_set_flag, AT(reproducible)},
    {"verify", 0, NULL, ENGINE | PLAN, DM_GROUP_ENGINE, "yes", NULL,
     "check C by a random product", dm_cli_set_flag, AT(verify), .negatable = true},
    {"overlap", 0, NULL, ENGINE | PLAN, DM_GROUP_ENGINE, "yes", NULL,
     "move the next panels while the present one is multiplied",
     dm_cli_set_flag, AT(overlap), .negatable = true},
    {"require-gpu-per-rank", 0, NULL, ENGINE, DM_GROUP_ENGINE, NULL, NULL,
     "refuse to let ranks share a GPU", dm_cli_set_flag, AT(require_gpu_per_rank)},

    /* what is accepted beyond the safe default */
    {"allow-external", 0, NULL, READERS, DM_GROUP_TRUST, NULL, NULL,
     "external storage and links into other files",
     dm_cli_set_flag, AT(external), .flags_only = true},
    {"allow-virtual", 0, NULL, READERS, DM_GROUP_TRUST, NULL, NULL,
     "virtual datasets", dm_cli_set_flag, AT(virtual), .flags_only = true},
    {"allow-filters", 0, NULL, READERS, DM_GROUP_TRUST, NULL, NULL,
     "filters other than deflate, shuffle, fletcher32; may load plug-ins",
     dm_cli_set_flag, AT(filters), .flags_only = true},
    {"allow-no-data", 0, NULL, READERS, DM_GROUP_TRUST, NULL, NULL,
     "a dataset that was never written: reads as its fill value",
     dm_cli_set_flag, AT(no_data), .flags_only = true},

    /* what is said, and where */
    {"json", 0, "FILE", VERBS, DM_GROUP_REPORT, NULL, NULL,
     "append the record as a line of JSON; - is stdout; repeatable",
     dm_cli_set_paths, AT(json)},
    {"csv", 0, "FILE", VERBS, DM_GROUP_REPORT, NULL, NULL,
     "append the record as a line of CSV; repeatable", dm_cli_set_paths, AT(csv)},
    {"progress", 0, NULL, ENGINE | GENERATE | VERIFY | BENCH_IO, DM_GROUP_REPORT, "auto", NULL,
     "a bar on a terminal, a line now and then elsewhere",
     dm_cli_set_choice, AT(progress), .choices = modes},
    {"verbose", 'v', NULL, VERBS | NONE, DM_GROUP_REPORT, NULL, NULL,
     "say more; twice: every rank speaks", dm_cli_set_step, AT(verbose)},
    {"quiet", 'q', NULL, VERBS, DM_GROUP_REPORT, NULL, NULL,
     "only warnings and the last line; twice: only errors", dm_cli_set_step, AT(quiet)},

    /* general */
    {"usage", 'h', NULL, VERBS | NONE, DM_GROUP_GENERAL, NULL, NULL,
     "short help", dm_cli_set_flag, AT(asked.usage), .flags_only = true},
    {"help", 0, NULL, VERBS | NONE, DM_GROUP_GENERAL, NULL, NULL,
     "full help", dm_cli_set_flag, AT(asked.help), .flags_only = true},
    {"version", 0, NULL, VERBS | NONE, DM_GROUP_GENERAL, NULL, NULL,
     "version; with -v also that of all libraries",
     dm_cli_set_flag, AT(asked.version), .flags_only = true},
    {"man-page", 0, NULL, NONE, DM_GROUP_GENERAL, NULL, NULL,
     "print the man page (mdoc)", dm_cli_set_flag, AT(asked.man_page), .flags_only = true},
    {"completion", 0, NULL, NONE, DM_GROUP_GENERAL, NULL, NULL,
     "print the completion script of a shell",
     dm_cli_set_shell, AT(asked.completion), .choices = shells, .flags_only = true},
};
/* clang-format on */

enum { COUNT = sizeof dm_cli_options / sizeof dm_cli_options[0] };
const int dm_cli_option_count = COUNT;
_Static_assert((int)COUNT <= (int)DM_CLI_OPTIONS, "dm_settings.given is too short");
