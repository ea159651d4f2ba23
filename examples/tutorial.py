# %% [markdown]
# # From two random matrices to a plot of scaling
#
# Run this file as a program, or cell by cell in an editor that knows `# %%` (VS Code, Spyder, Jupytext).  It needs
# NumPy and libdamier; matplotlib draws the plot at the end where it is installed.

# %%
import os
import time

import damier
import numpy as np

# One process does everything here: under mpirun the first one.  damier.matmul(..., comm=...) divides work among ranks.
if os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK", "0")) != "0":
    raise SystemExit(0)

N = int(os.environ.get("TUTORIAL_SIZE", "2048"))
print("libdamier", damier.version())

# %% [markdown]
# ## Two matrices in memory
#
# `damier.matmul` takes arrays as `numpy.matmul` does.  Every product is verified by a random product of its own
# before you get it; a wrong one would raise `damier.VerifyError`.

# %%
random = np.random.default_rng(1)
a, b = random.standard_normal((N, N)), random.standard_normal((N, N))
c = damier.matmul(a, b)
print("largest difference from NumPy:", abs(c - a @ b).max())

# %% [markdown]
# Transposes, factors and sums need no temporary arrays: `C = 2 A^T B + C0`.

# %%
c0 = np.ones((N, N))
d = damier.matmul(a, b, op_a="t", alpha=2.0, c=c0)
print("C = 2 A^T B + C0:", np.allclose(d, 2.0 * a.T @ b + c0))

# %% [markdown]
# ## The same in files
#
# Files may be larger than the memory.  These are `.npy`; HDF5 datasets are named as `"A.h5:/dataset"`.  The record is
# what `damier multiply --json` writes: plan, forecast, times, verdict.

# %%
np.save("A.npy", a)
np.save("B.npy", b)
record = damier.multiply("A.npy", "B.npy", "C.npy", force=True)
print("verdict:", record["verification"]["verdict"])
print(f"{record['rates']['multiply_flops'] / 1e9:.1f} Gflop/s while it multiplied")
print("the file holds the same C:", np.allclose(np.load("C.npy"), c))

# %% [markdown]
# Whoever has the three files can check them again, at any time.

# %%
print("checked again:", damier.verify("A.npy", "B.npy", "C.npy")["verification"]["verdict"])

# %% [markdown]
# ## Errors say what to do

# %%
try:
    damier.matmul(a, b[1:])
except damier.Error as error:
    print(f"code {error.code}: {error.message}")

# %% [markdown]
# ## Scaling, measured
#
# The same product with 1, 2, 4, ... threads; the best of three times.


# %%
def seconds(threads):
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        damier.matmul(a, b, threads=threads)
        times.append(time.perf_counter() - begin)
    return min(times)


cores = len(os.sched_getaffinity(0))
threads = [2**i for i in range(cores.bit_length()) if 2**i <= cores]
measured = [seconds(t) for t in threads]
for t, s in zip(threads, measured):
    print(f"{t:4} threads {s:8.3f} s, speed-up {measured[0] / s:.2f}")

# %% [markdown]
# ## Scaling, planned
#
# The planner says what a cluster would take before you ask for one: here nodes of 64 cores, a rank each, and matrices
# of 100 000 x 100 000.  These times are calculated, not measured.

# %%
nodes = [1, 2, 4, 8, 16]
planned = []
try:
    for count in nodes:
        plan = damier.plan(size=100_000, machine=f"nodes={count} cores=64 memory=512GiB", ranks=count)
        planned.append(plan["forecast"]["total_s"])
        print(f"{count:4} nodes {planned[-1]:8.1f} s, {plan['plan']['recipe'].split()[0]}")
except damier.FileError as error:
    print("plans of machines need the program damier:", error.message)

# %% [markdown]
# ## The plot

# %%
try:
    import matplotlib.pyplot as plt
except ImportError:
    print("matplotlib is not installed: no plot")
else:
    figure, axes = plt.subplots()
    axes.loglog(threads, [measured[0] / s for s in measured], "o-", base=2, label=f"measured: threads, N = {N}")
    if planned:
        axes.loglog(nodes, [planned[0] / s for s in planned], "s-", base=2, label="planned: nodes, N = 100000")
    most = max(threads[-1], nodes[-1])
    axes.loglog([1, most], [1, most], "k:", base=2, label="ideal")
    axes.set_xlabel("threads or nodes")
    axes.set_ylabel("speed-up")
    axes.legend()
    figure.savefig("scaling.png", dpi=150)
    print("scaling.png is written")
