"""large_chunks: small files with large deflated chunks: their memory is planned or refused with 5, no rank exceeds the
plan, and each chunk is unpacked once, however panels divide it."""
import h5py
import numpy as np

from running import EMULATED, Failure, command, ended, expect, options, process_mib, records_of, run, run_cases

CHUNK = 32  # MiB


def write(path, shape, chunks, seed):
    """Integers, mostly zeros, so that the file is small."""
    rng = np.random.default_rng(seed)
    data = np.zeros(shape)
    data[rng.integers(0, shape[0], 900), rng.integers(0, shape[1], 900)] = rng.integers(-9, 9, 900)
    with h5py.File(path, "w") as file:
        file.create_dataset("a", data=data, chunks=chunks, compression=9)
    return data


def try_shape(folder, damier, chunks, *runs):
    """RUNS: ranks and I/O threads."""
    want = write(folder / "a.h5", (2048, 4096), chunks, 1) @ write(folder / "b.h5", (4096, 120), (4096, 120), 2)
    for ranks, threads in runs:
        try_chunks(folder, damier, want, ranks, threads)


def try_chunks(folder, damier, want, ranks, threads):
    (folder / "c.h5").unlink(missing_ok=True)  # of the previous run
    words = ("multiply", folder / "a.h5", folder / "b.h5", "-o", folder / "c.h5", "-q", "--panel", 64,
             "--io-threads", threads)
    base = process_mib(damier, ranks)
    done = ended(command(ranks, damier, *words, "--memory", f"host={base + 2 * CHUNK}MiB"))
    expect(done.returncode == 5,
           f"{ranks} ranks, {threads} threads, memory for two chunks: exit {done.returncode}\n{done.stderr}")
    limit = base + 10 * CHUNK
    run(damier, ranks, *words, "--memory", f"host={limit}MiB", "--json", folder / "r.json")
    record = records_of(folder / "r.json")[-1]
    with h5py.File(folder / "c.h5") as file:
        expect(np.array_equal(file["c"][()], want), f"C is wrong on {ranks} ranks, {threads} threads")
    if record["memory"]["host_peak_bytes"] > limit << 20 and not EMULATED:
        raise Failure(f"a rank took {record['memory']['host_peak_bytes'] >> 20} of {limit} MiB")
    unpacked, chunks = record["files"]["chunks_unpacked"], record["files"]["chunks"]
    expect(unpacked <= chunks * ranks, f"{unpacked} unpacked of {chunks} on {ranks} ranks")


run_cases(options().damier, [(try_shape, (2048, 2048), (1, 0), (1, 2), (2, 0), (2, 2)),
                             (try_shape, (1024, 4096), (1, 0), (2, 2)), (try_shape, (2048, 4096), (1, 2), (2, 0))])
