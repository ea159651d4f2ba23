/* The record of bench multiply. */
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>

#include "bench/bench_multiply_impl.h"
#include "run/statistics.h"

/* Mean times of a repetition on this rank. */
static dm_phases mean_of(const dm_bench *b) {
  const dm_phases *all = &b->product.local.phases, *warm = &b->warm;
  const double part = 1.0 / (double)b->count;
  return (dm_phases){.check = all->check,
                     .read = part * (all->read - warm->read),
                     .multiply = part * (all->multiply - warm->multiply),
                     .gemm = part * (all->gemm - warm->gemm),
                     .reduce = part * (all->reduce - warm->reduce),
                     .write = part * (all->write - warm->write),
                     .fetch = part * (all->fetch - warm->fetch),
                     .upload = part * (all->upload - warm->upload),
                     .exposed_fetch = part * (all->exposed_fetch - warm->exposed_fetch),
                     .exposed_upload = part * (all->exposed_upload - warm->exposed_upload)};
}

static const char *place_of(const dm_plan *plan) {
  if (dm_plan_returns(plan)) return "pinned host memory, where C returns to";
  if (plan->a != plan->b) return "device and host memory";
  return plan->a == DM_IN_DEVICE ? "device memory" : "host memory";
}

/* ---- results over all ranks ---- */

typedef struct extremes {
  double received, most_received; /* bytes per product: of all ranks, of the busiest */
  double bus;                     /* bytes per second during gathers, slowest rank */
  double host, device;            /* peak bytes */
  double joules;                  /* NAN: unknown */
} extremes;

static double highest_host(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? 1024.0 * (double)usage.ru_maxrss : 0.0;
}

static double used_on_device(const dm_bench *b) {
  dm_device device;
  dm_status status = dm_backend_device(b->setup.backend, &device);
  const bool known = !status && b->setup.backend->ops->device_memory;
  dm_status_free(status);
  return known ? (double)(device.memory_total - device.memory_free) : 0.0;
}

/* Collective. */
static dm_status find_extremes(const dm_bench *b, const dm_phases *mean, extremes *e) {
  const dm_transport *transport = b->product.local.transport;
  const double products = (double)(b->count + b->wanted->warmup);
  double received = (double)b->product.local.phases.received;
  if (transport) received += (double)dm_transport_received(transport);
  received /= products;
  const double slowness = received > 0 && mean->fetch > 0 ? mean->fetch / received : 0.0;
  double most[] = {received, slowness, highest_host(), used_on_device(b)};
  double sums[] = {received, isnan(b->energy) ? 0.0 : b->energy, isnan(b->energy) ? 1.0 : 0.0};
  DM_TRY(dm_comm_max_f64(b->run->world, most, 4));
  DM_TRY(dm_comm_sum_f64(b->run->world, sums, 3));
  *e = (extremes){.received = sums[0],
                  .most_received = most[0],
                  .bus = most[1] > 0 ? 1.0 / most[1] : 0.0,
                  .host = most[2],
                  .device = most[3],
                  .joules = sums[2] > 0 ? NAN : sums[1]};
  return DM_OK;
}

/* ---- one table each ---- */

static void record_one(const dm_bench *b, double per_device, dm_record *record) {
  const dm_bench_one *one = &b->one;
  const bool known = one->depth > 0 && one->flops > 0;
  if (!b->wanted->against_one) return;
  dm_record_real(record, "rates.one_library_flops", known ? "  library, one rank alone" : NULL,
                 DM_SHOWN_FLOPS, known ? one->flops : NAN);
  dm_record_text(record, "rates.one_library_shape", NULL, "%lld x %lld x %lld",
                 (long long)one->rows, (long long)one->cols, (long long)one->depth);
  dm_record_real(record, "rates.of_one_library", known ? "  rate / that" : NULL, DM_SHOWN_PLAIN,
                 known ? per_device / one->flops : NAN);
}

static void record_rates(const dm_bench *b, double flops, dm_record *record) {
  const dm_problem *p = &b->setup.plan.problem;
  const int sharing = b->setup.backend->ops->device_memory ? b->setup.device.sharing : 1;
  const double devices = ceil((double)b->run->ranks / sharing);
  const double peak = b->setup.backend->ops->device_memory
                          ? dm_machine_peak(b->setup.device.name, &p->compute)
                          : 0.0;
  const bool gpu = b->setup.backend->ops->device_memory;
  dm_record_real(record, "rates.per_device_flops", gpu ? "  per GPU" : "  per rank", DM_SHOWN_FLOPS,
                 flops / devices);
  dm_record_real(record, "rates.peak_flops", NULL, DM_SHOWN_FLOPS, peak > 0 ? peak : NAN);
  dm_record_real(record, "rates.of_peak", peak > 0 ? "  of the data sheet's" : NULL, DM_SHOWN_PLAIN,
                 peak > 0 ? flops / devices / peak : NAN);
  record_one(b, flops / devices, record);
}

/* Bus bandwidth as in nccl-tests: for an all-gather of S bytes among n ranks, S (n-1)/n over the
 * time, the rate at which each rank receives. */
static void record_moved(const dm_bench *b, const extremes *e, dm_record *record) {
  const dm_plan *plan = &b->setup.plan;
  const double word = (double)dm_dtype_size(plan->problem.work);
  const double bound = plan->bound_words * word;
  dm_record_real(record, "moved.between_ranks_bytes", "moved between ranks", DM_SHOWN_BYTES,
                 e->received);
  dm_record_text(record, "moved.by", NULL, "%s", b->setup.transport->name);
  dm_record_real(record, "moved.planned_bytes", NULL, DM_SHOWN_BYTES, plan->received_bytes_total);
  dm_record_real(record, "moved.most_bytes", NULL, DM_SHOWN_BYTES, e->most_received);
  dm_record_real(record, "moved.bound_bytes", NULL, DM_SHOWN_BYTES, bound);
  dm_record_real(record, "moved.of_bound", bound > 0 ? "  busiest rank / lower bound" : NULL,
                 DM_SHOWN_PLAIN, bound > 0 ? e->most_received / bound : NAN);
  dm_record_real(record, "rates.bus_Bps", e->bus > 0 ? "  bus bandwidth" : NULL, DM_SHOWN_RATE,
                 e->bus > 0 ? e->bus : NAN);
}

static void record_memory(const dm_bench *b, const extremes *e, dm_record *record) {
  const dm_plan *plan = &b->setup.plan;
  dm_record_integer(record, "memory.host_planned_bytes", "host memory, planned", DM_SHOWN_BYTES,
                    plan->host_bytes);
  dm_record_real(record, "memory.host_highest_bytes", "  highest of a process", DM_SHOWN_BYTES,
                 e->host);
  if (!plan->gpu) return;
  dm_record_integer(record, "memory.device_planned_bytes", "GPU memory, planned", DM_SHOWN_BYTES,
                    plan->device_bytes);
  dm_record_real(record, "memory.device_used_bytes", "  used of a GPU, by all", DM_SHOWN_BYTES,
                 e->device);
}

/* Over the whole time from the first repetition to the last, verification included. */
static void record_energy(const dm_bench *b, const extremes *e, dm_record *record) {
  const bool known = e->joules > 0;
  const double flops = dm_product_flops(&b->setup.plan.problem) * (double)b->count;
  if (!b->setup.backend->ops->device_memory) return;
  dm_record_real(record, "energy.gpus_J", NULL, DM_SHOWN_PLAIN, known ? e->joules : NAN);
  dm_record_real(record, "energy.seconds_s", NULL, DM_SHOWN_SECONDS, b->watched);
  dm_record_real(record, "energy.flops_per_J", known ? "operations per J of the GPUs" : NULL,
                 DM_SHOWN_PLAIN, known ? flops / e->joules : NAN);
}

static void note_found(const dm_bench *b, const dm_statistics *s) {
  *b->found =
      (dm_bench_found){.median = s->median, .low = s->low, .high = s->high, .plan = b->setup.plan};
  snprintf(b->found->transport, sizeof b->found->transport, "%s", b->setup.transport->name);
}

static void record_bench(dm_bench *b, const dm_phases *phases, const extremes *e,
                         dm_record *record) {
  const dm_bench_multiply *wanted = b->wanted;
  const dm_problem *p = &b->setup.plan.problem;
  const int64_t count = b->count;
  dm_setup_record(&b->setup, b->run, record);
  dm_record_text(record, "bench.from", "operands start in", "%s", place_of(&b->setup.plan));
  dm_record_integer(record, "bench.warmup", NULL, DM_SHOWN_PLAIN, wanted->warmup);
  dm_record_integer(record, "bench.repetitions", "repetitions", DM_SHOWN_PLAIN, count);
  dm_record_flag(record, "bench.narrow", NULL, b->narrow);
  const dm_statistics multiply =
      dm_record_times(record, "multiply", "multiplying (median)", b->seconds, count);
  dm_record_times(record, "exposed", "  not hidden behind products", b->exposed, count);
  dm_record_times(record, "verify", "verifying C (median)", b->verify, count);
  dm_record_real(record, "times.check_operands_s", "verifying A and B, once", DM_SHOWN_SECONDS,
                 phases->check);
  if (b->found) note_found(b, &multiply);
  double flops = dm_product_flops(p) / multiply.median;
  dm_record_real(record, "rates.multiply_flops", "rate", DM_SHOWN_FLOPS, flops);
  if (wanted->against_library) {
    const dm_statistics library =
        dm_record_times(record, "library", "library call (median)", b->library, count);
    dm_record_real(record, "rates.library_flops", "library rate", DM_SHOWN_FLOPS,
                   dm_product_flops(p) / library.median);
    dm_record_real(record, "rates.of_library", "rate / library rate", DM_SHOWN_PLAIN,
                   library.median / multiply.median);
  }
  if (wanted->against_local) {
    const dm_statistics local =
        dm_record_times(record, "local", "the same, nothing moved (median)", b->local, count);
    dm_record_real(record, "rates.of_local", "rate / rate with nothing moved", DM_SHOWN_PLAIN,
                   local.median / multiply.median);
  }
  record_rates(b, flops, record);
  record_moved(b, e, record);
  record_memory(b, e, record);
  record_energy(b, e, record);
  if (wanted->verify)
    dm_verdict_record(&b->worst, &(dm_checked){.problem = p}, &b->run->log, record);
  dm_phases_record_natively(phases, &b->setup.plan, record);
  const bool plain = dm_compute_is_plain(&p->compute);
  dm_record_summary(record,
                    "damier: bench multiply m=%lld n=%lld k=%lld dtype=%s%s%s ranks=%d "
                    "median_s=%.6f tflops=%.4g residual=%.2g %s",
                    (long long)p->m, (long long)p->n, (long long)p->k, dm_dtype_name(p->work),
                    plain ? "" : " compute=", plain ? "" : p->compute.name, b->run->ranks,
                    multiply.median, flops * 1e-12, b->worst.residual,
                    wanted->verify ? dm_verdict_word(&b->worst) : "UNVERIFIED");
}

dm_status dm_bench_record(dm_bench *b, dm_record *record) {
  const dm_phases mean = mean_of(b);
  dm_phases worst;
  extremes e;
  DM_TRY(dm_phases_worst(b->run, &b->product.local, &worst));
  DM_TRY(find_extremes(b, &mean, &e));
  if (record) record_bench(b, &worst, &e, record);
  return dm_phases_by_rank(b->run, &mean, record);
}
