/* The options of products: name, parser, place, default. Programs add words for people
 * (cli/option_table.c); the library has nothing but this. */
#include "core/compute.h"
#include "options/value.h"

#define AT(field) .at = offsetof(dm_settings, field), .room = sizeof(((dm_settings *)0)->field)

/* Each list is in the order of the enum that it stands for. */
static const char *const ops[] = {"n", "t", "c", NULL};
static const char *const types[] = {"f64", "f32", "f16", "bf16", "c64", "c128", "i8", "i32", NULL};
static const char *const backends[] = {"auto", "cpu", "cuda", NULL};
static const char *const transports[] = {"auto", "self", "host",     "shared",
                                         "ipc",  "nccl", "ipc+nccl", NULL};
static const char *const read_ways[] = {"auto", "pread", NULL};
static const char *const ways[] = {"pwrite", "mapped", "auto", NULL};
static const char *const reactions[] = {"repair", "stop", "warn", NULL};
static const char *const modes[] = {"auto", "always", "never", NULL};
static const char *const missing[] = {"refuse", "nan", "zero", "mean", "pairwise", NULL};
static const char *const lines[] = {"none", "columns", "rows", NULL};
static const char *const divisors[] = {"1", "n", "n-1", NULL};
static const char *const halves[] = {"both", "lower", "upper", NULL};
static const char *const weights_are[] = {"reliability", "frequency", NULL};
static const char *const stack[] = {"rows", "columns", NULL};

/* clang-format off */
const dm_value dm_values[] = {
    {"output", dm_value_set_location, AT(output), .programs_only = true},
    {"c", dm_value_set_location, AT(old_c)},
    {"force", dm_value_set_flag, AT(force)},
    {"append", dm_value_set_flag, AT(append)},
    {"chunk", dm_value_set_chunk, AT(chunk)},
    {"deflate", dm_value_set_level, AT(deflate)},
    {"zstd", dm_value_set_count, AT(zstd), .least = 1},
    {"shuffle", dm_value_set_flag, AT(shuffle)},
    {"op-a", dm_value_set_choice, AT(op_a), .initial = "n", .choices = ops},
    {"op-b", dm_value_set_choice, AT(op_b), .initial = "n", .choices = ops},
    {"center-a", dm_value_set_lines, AT(center[0]), .initial = "none", .choices = lines},
    {"center-b", dm_value_set_lines, AT(center[1]), .initial = "none", .choices = lines},
    {"scale-a", dm_value_set_lines, AT(scale[0]), .initial = "none", .choices = lines},
    {"scale-b", dm_value_set_lines, AT(scale[1]), .initial = "none", .choices = lines},
    {"weights", dm_value_set_location, AT(weights)},
    {"weights-are", dm_value_set_choice, AT(weights_are), .initial = "reliability", .choices = weights_are},
    {"center", dm_value_set_flag, AT(center_x)},
    {"scale", dm_value_set_flag, AT(scale_x)},
    {"divide", dm_value_set_choice, AT(divide), .choices = divisors},
    {"triangle", dm_value_set_choice, AT(half), .initial = "both", .choices = halves},
    {"as-column", dm_value_set_flag, AT(as_column)},
    {"as-row", dm_value_set_flag, AT(as_row)},
    {"row-axes-a", dm_value_set_count, AT(row_axes[0]), .least = 1},
    {"row-axes-b", dm_value_set_count, AT(row_axes[1]), .least = 1},
    {"batch", dm_value_set_count, AT(batch), .initial = "1", .least = 1},
    {"stack", dm_value_set_choice, AT(stack), .initial = "rows", .choices = stack},
    {"alpha", dm_value_set_complex, AT(alpha), .initial = "1"},
    {"beta", dm_value_set_complex, AT(beta), .initial = "0"},
    {"type", dm_value_set_choice, AT(type), .choices = types},
    {"missing", dm_value_set_choice, AT(missing), .initial = "refuse", .choices = missing},
    {"missing-value", dm_value_set_number_text, AT(missing_value)},
    {"raw", dm_value_set_flag, AT(raw)},
    {"allow-rounding", dm_value_set_flag, AT(rounding)},
    {"type-c", dm_value_set_choice, AT(type_c), .choices = types},
    {"compute", dm_value_set_compute, AT(compute), .initial = "auto", .choices = dm_compute_names},
    {"full", dm_value_set_flag, AT(full)},
    {"machine", dm_value_set_text, AT(machine)},
    {"grid", dm_value_set_grid, AT(grid), .initial = "auto"},
    {"panel", dm_value_set_panel, AT(panel), .initial = "auto"},
    {"backend", dm_value_set_choice, AT(backend), .initial = "auto", .choices = backends},
    {"kernel", dm_value_set_text, AT(kernel), .initial = "auto"},
    {"transport", dm_value_set_choice, AT(transport), .initial = "auto", .choices = transports},
    {"pretend-nodes", dm_value_set_count, AT(pretend_nodes), .initial = "1", .least = 1, .programs_only = true},
    {"threads", dm_value_set_count, AT(threads), .least = 1},
    {"io-threads", dm_value_set_count, AT(io_threads)},
    {"read-by", dm_value_set_choice, AT(read_by), .initial = "auto", .choices = read_ways, .programs_only = true},
    {"write-by", dm_value_set_choice, AT(write_by), .initial = "auto", .choices = ways},
    {"memory", dm_value_set_memory, AT(memory)},
    {"reproducible", dm_value_set_flag, AT(reproducible)},
    {"verify", dm_value_set_flag, AT(verify), .initial = "yes"},
    {"verify-seed", dm_value_set_seed, AT(verify_seed)},
    {"verify-files", dm_value_set_flag, AT(verify_files)},
    {"verify-written", dm_value_set_choice, AT(verify_written), .initial = "auto", .choices = modes},
    {"protect", dm_value_set_flag, AT(protect), .initial = "yes"},
    {"on-corruption", dm_value_set_choice, AT(on_corruption), .initial = "repair", .choices = reactions},
    {"allow-unchecked", dm_value_set_flag, AT(allow_unchecked)},
    {"overlap", dm_value_set_flag, AT(overlap), .initial = "yes"},
    {"require-gpu-per-rank", dm_value_set_flag, AT(require_gpu_per_rank)},
    {"checkpoint", dm_value_set_flag, AT(checkpoint), .initial = "yes"},
    {"checkpoint-interval", dm_value_set_duration, AT(checkpoint_interval), .initial = "60s", .least = 1, .zero_is_off = true},
    {"hang-timeout", dm_value_set_duration, AT(hang_timeout), .initial = "10m", .least = 1, .zero_is_off = true, .programs_only = true},
    {"allow-external", dm_value_set_flag, AT(external)},
    {"allow-virtual", dm_value_set_flag, AT(virtual)},
    {"allow-filters", dm_value_set_flag, AT(filters)},
    {"allow-no-data", dm_value_set_flag, AT(no_data)},
    {"swmr", dm_value_set_flag, AT(swmr)},
};
/* clang-format on */

enum { COUNT = sizeof dm_values / sizeof dm_values[0] };
const int dm_value_count = COUNT;
_Static_assert((int)COUNT <= (int)DM_VALUES, "dm_settings.given is too short");
