#!/usr/bin/env python3
"""Ranks that are threads of one process, each with an emulated GPU (--gpus): bad input, GPUs that do not start, a rank
that fails, signals, and runs that processes of MPI resume, and the other way round."""
import ctypes
import errno
import os
import pathlib
import re
import resource
import select
import signal
import subprocess
import time

import h5py
import numpy

import faulty_runs
import running
from running import expect

GPUS = {"EMULATED_GPUS": "4"}
PLACES = 30  # where an allocation fails
DEVICE = 66  # MiB of each GPU: several tiles


def multiply(bed, *words, **more):
    """The result of a product with WORDS, and MORE in its environment."""
    output = bed.folder / "C.h5"
    command = [bed.damier, "multiply", bed.folder / "A.h5", bed.folder / "B.h5", "-o", output, "--force", "-q", *words]
    return running.ended([*map(str, command)], **GPUS | more)


def ranks_of(done):
    expect(done.returncode == 0, f"exit {done.returncode}\n{done.stderr}")
    return int(re.search(r" ranks=(\d+) ", done.stdout).group(1))


def expect_right(output):
    """Not the bits of another run: how C is divided depends on the memory of the process."""
    wanted = numpy.frombuffer(output.bed.wanted[2])
    expect(numpy.allclose(numpy.frombuffer(output.bits()), wanted, rtol=0, atol=1e-12), f"{output.name} is wrong")


def refusals(bed):
    for words, code, said, more in (
            (("--gpus", "5"), 6, "5 GPUs are more than the 4 that this process sees", {}),
            (("--gpus", "3"), 6, "3 GPUs are more than the 2", {"CUDA_VISIBLE_DEVICES": "2,0"}),
            (("--gpus", "1,7"), 6, "there is no GPU 7: those visible are 0 to 3", {}),
            (("--gpus", "GPU-9"), 6, "there is no GPU GPU-9", {}),
            (("--gpus", "1"), 6, "this process sees no GPU", {"CUDA_VISIBLE_DEVICES": ""}),
            (("--gpus", "GPU-"), 2, "the UUIDs of several GPUs begin with GPU-", {}),
            (("--gpus", "1,0,1"), 2, "GPU 1 is named twice", {}),
            (("--gpus", "GPU-1,1"), 2, "GPU 1 is named twice", {}),
            (("--gpus", "0"), 2, "'0' is not a number of GPUs, a list or none", {}),
            (("--gpus", "two"), 2, "'two' is not a GPU", {}),
            (("--gpus", "2", "--backend", "cpu"), 2, "--gpus 2 and --backend cpu cannot be combined", {}),
            (("--gpus", "none", "--backend", "cuda"), 2, "--gpus none and --backend cuda", {})):
        done = multiply(bed, *words, **more)
        expect(done.returncode == code and said in done.stderr, f"{words}: exit {done.returncode}\n{done.stderr}")
        expect(done.stderr.count("error:") == 1, f"{words}: several messages\n{done.stderr}")


def choices(bed):
    for wanted, more, ranks in (("4", {}, 4), ("2,", {}, 1), ("3,1", {}, 2), ("GPU-0,GPU-2,3", {}, 3), ("none", {}, 1),
                                ("2", {"CUDA_VISIBLE_DEVICES": "3, 1,0"}, 2),
                                ("2", {"CUDA_VISIBLE_DEVICES": "GPU-3,GPU-1"}, 2),
                                ("2", {"CUDA_VISIBLE_DEVICES": "1,2,GPU-,0"}, 2)):
        found = ranks_of(multiply(bed, "--gpus", wanted, **more))
        expect(found == ranks, f"--gpus {wanted} {more}: {found} ranks")


def chosen(bed):
    """Without --gpus the plan decides: slow products need all GPUs, small ones are not worth the start of another."""
    for words, more, ranks in (((), {}, 1), (("--machine", "gflops=0.01"), {}, 4),
                               (("--machine", "gflops=0.01"), {"CUDA_VISIBLE_DEVICES": "1,3"}, 2),
                               (("--machine", "gflops=0.01", "--backend", "cpu"), {}, 1),
                               (("--machine", "gflops=0.01", "--grid", "3x1x1"), {}, 3)):
        found = ranks_of(multiply(bed, *words, **more))
        expect(found == ranks, f"{words} {more}: {found} ranks")


def benchmarks(bed):
    for words, code, said in ((("multiply", "--size", "300", "--repetitions", "2", "--gpus", "3"), 0, "ranks=3 "),
                              (("links", "--bytes", "64KiB", "--gpus", "2"), 0, "ranks=2 "),
                              (("multiply", "--size", "300", "--gpus", "5"), 6, "5 GPUs are more than the 4")):
        done = running.ended([str(bed.damier), "bench", *words, "-q"], **GPUS)
        expect(done.returncode == code and said in done.stdout + done.stderr, f"{words}: {done}")


def queues(bed):
    """Few, unless the user says otherwise."""
    record = bed.folder / "queues.json"
    for more, wanted in (({}, "2"), ({"CUDA_DEVICE_MAX_CONNECTIONS": "5"}, "5")):
        multiply(bed, "--gpus", "1", "--json", str(record), **more)
        found = running.records_of(record)[-1]["environment"]["CUDA_DEVICE_MAX_CONNECTIONS"]
        expect(found == wanted, f"{found} queues, wanted {wanted}")


def batches(bed):
    """Entries in files that are too small to be worth a GPU each."""
    rng = numpy.random.default_rng(5)
    a, b = rng.standard_normal((40, 6, 5)), rng.standard_normal((40, 5, 7))
    for name, array in (("a", a), ("b", b)):
        numpy.save(bed.folder / f"{name}.npy", array)
    for gpus in ("1", "2", "4"):
        done = running.ended([str(bed.damier), "multiply", *(str(bed.folder / name) for name in ("a.npy", "b.npy")), "-o",
                              str(bed.folder / "batch.h5:/c"), "--force", "-q", "--gpus", gpus], **GPUS)
        expect(ranks_of(done) == int(gpus), f"--gpus {gpus}: {done.stdout}")
        with h5py.File(bed.folder / "batch.h5") as file:
            expect(numpy.allclose(file["c"], a @ b, rtol=0, atol=1e-12), f"--gpus {gpus} is wrong")


def of_itself(bed):
    """Products of a matrix with itself, also where values are missing."""
    x = numpy.random.default_rng(6).standard_normal((300, 12))
    holes = x.copy()
    holes[::7, ::3] = holes[3::11, 1::2] = numpy.nan
    there = ~numpy.isnan(holes)
    pairs = [[numpy.cov(holes[there[:, i] & there[:, j]][:, [i, j]].T)[0, 1] for j in range(12)] for i in range(12)]
    for name, array in (("x", x), ("holes", holes)):
        numpy.save(bed.folder / f"{name}.npy", array)
    for words, wanted in ((("gram", "x.npy"), x.T @ x), (("cov", "x.npy", "--of", "rows"), numpy.cov(x)),
                          (("cor", "x.npy", "--grid", "1x1x2"), numpy.corrcoef(x.T)),
                          (("cov", "holes.npy", "--missing", "pairwise"), pairs)):
        for gpus in ("2", "4"):
            done = running.ended([str(bed.damier), words[0], str(bed.folder / words[1]), *words[2:], "-o", str(bed.folder / "itself.npy"),
                                  "--force", "-q", "--gpus", gpus], **GPUS)
            expect(ranks_of(done) == int(gpus), f"{words}, --gpus {gpus}: {done.stdout}")
            expect(numpy.allclose(numpy.load(bed.folder / "itself.npy"), wanted, rtol=0, atol=1e-11), f"{words}, --gpus {gpus} is wrong")


def under_mpirun(bed):
    with_threads(False)
    done = running.ended(running.command(2, bed.damier, "multiply", bed.folder / "A.h5", bed.folder / "B.h5", "-o",
                                         bed.folder / "C.h5", "--force", "-q", "--gpus", 2), **GPUS)
    expect(done.returncode == 2 and "without mpirun" in done.stderr, f"exit {done.returncode}\n{done.stderr}")


def one_does_not_start(bed):
    for gpu in range(3):
        done = multiply(bed, "--gpus", "3", EMULATED_GPU_FAILS=str(gpu))
        expect(ranks_of(done) == 2 and f"GPU {gpu} does not start" in done.stderr, done.stderr)
    for words in (("--gpus", "1"), ("--gpus", "2", "--grid", "2x1")):  # nobody is left, or too few for the grid
        done = multiply(bed, *words, EMULATED_GPU_FAILS="0")
        expect(done.returncode == 6 and done.stderr.count("error:") == 1, f"{words}: exit {done.returncode}\n{done.stderr}")


def chosen_does_not_start(bed):
    """The plan chose it: those that it left out are tried, and nothing is left of what began."""
    slow = ("--machine", "gflops=0.01")
    for fails, words, more, ranks, said in (("0", (), {}, 1, "GPU 0"), ("012", (), {}, 1, "GPU 2"), ("3", (), {"CUDA_VISIBLE_DEVICES": "3,1"}, 1, "GPU 3"),
                                            ("01", slow, {}, 2, "GPU 1"), ("0", ("--machine", "gflops=9"), {}, 1, "GPU 0")):
        done = multiply(bed, *words, EMULATED_GPU_FAILS=fails, **more)
        expect(ranks_of(done) == ranks and f"{said} does not start" in done.stderr, f"{fails} {words}: {done}")
        expect_right(faulty_runs.Output(bed, "C", 1))
    for words in ((), slow):
        done = multiply(bed, *words, EMULATED_GPU_FAILS="0123")
        expect(done.returncode == 6 and done.stderr.count("error:") == 1, f"{words}: exit {done.returncode}\n{done.stderr}")
        expect(not list(bed.folder.glob("C.h5.*")), f"{words}: {list(bed.folder.iterdir())}")
    done = multiply(bed, EMULATED_GPUS="1", EMULATED_NO_DRIVER="1")
    expect(ranks_of(done) == 1 and "no GPU starts" in done.stderr, done.stderr)


def ends(bed):
    """What outlives the process holds neither its exit code, its output nor other inherited descriptors, but the driver's."""
    adopts, libc = 36, ctypes.CDLL(None)  # PR_SET_CHILD_SUBREAPER
    expect(libc.prctl(adopts, 1, 0, 0, 0) == 0, "prctl")
    for gpus in ("1", "2"):
        reads, writes = os.pipe()
        done = multiply(bed, "--gpus", gpus, EMULATED_SLOW_END="60", inherits=(writes,))
        os.close(writes)
        left = int(pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()[0])
        expect(select.select([reads], [], [], 20)[0] and os.read(reads, 1) == b"", "an inherited pipe is still open")
        links = [os.readlink(fd) for fd in pathlib.Path(f"/proc/{left}/fd").iterdir()]
        expect("/dev/zero" in links, f"the driver's descriptor is closed: {links}")
        os.kill(left, signal.SIGTERM)
        expect(os.waitpid(left, 0)[1] == 0, "the process that is left")
        expect(ranks_of(done) == int(gpus) and done.stdout.endswith("PASS\n"), f"{gpus}: {done}")
        os.close(reads)
    libc.prctl(adopts, 0, 0, 0, 0)
    expect_right(faulty_runs.Output(bed, "C", 2))


def small_stack(bed):
    """Each thread has a stack of 256 KiB if the limit says so."""
    usual = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (256 << 10, usual[1]))
    done = multiply(bed, "--gpus", "2")
    resource.setrlimit(resource.RLIMIT_STACK, usual)
    expect(ranks_of(done) == 2, done.stderr)


def one_fails(bed):
    """A call fails in one thread: one message, and no other thread waits for it."""
    for fault, path, code in ((f"write:3:{errno.EIO}", "C.h5", 4), (f"read:1:{errno.EIO}", "B.h5", 4),
                              (f"malloc:100:{errno.ENOMEM}", "", 5)):
        done = multiply(bed, "--gpus", "3", "--write-by", "pwrite", LD_PRELOAD=bed.shim, FAULT=fault, FAULT_PATH=path)
        expect(done.returncode == code, f"{fault}: exit {done.returncode}\n{done.stderr}")
        expect(done.stderr.count("error:") == 1, f"{fault}: not one message\n{done.stderr}")


def no_memory(bed):
    """An allocation fails at any place, also of a message of a self-test: nobody waits for the rank that has no memory."""
    counts, words = bed.folder / "counts_of_allocations", ("--gpus", "2", "--transport", "host", "--hang-timeout", "10s")
    expect(multiply(bed, *words, LD_PRELOAD=bed.shim, FAULT_COUNT=str(counts)).returncode == 0, "undisturbed")
    calls = faulty_runs.counted(counts)[(0, "malloc")]
    for number in faulty_runs.places(calls, PLACES):
        began = time.monotonic()
        done = multiply(bed, *words, LD_PRELOAD=bed.shim, FAULT=f"malloc:{number}:{errno.ENOMEM}", FAULT_PATH="")
        what = f"allocation {number} of {calls}: exit {done.returncode} after {time.monotonic() - began:.1f} s"
        expect(done.returncode in (0, 5, 6), f"{what}\n{done.stderr}")
        expect(done.stderr.count("error:") == (done.returncode != 0), f"{what}: not one message\n{done.stderr}")


def stops(bed):
    """A signal, whatever thread it meets, ends all ranks; the same command goes on."""
    output = faulty_runs.Output(bed, "stopped", 2)
    command = [*map(str, output.command()), "--checkpoint-interval", "0"]
    first = subprocess.Popen(command, env=running.environment() | GPUS, stderr=subprocess.PIPE, text=True,
                             stdout=subprocess.DEVNULL)
    while first.poll() is None and not output.path(".journal").exists():
        time.sleep(0.01)
    first.send_signal(signal.SIGUSR1)
    err = first.communicate(timeout=60)[1]
    expect(first.returncode in (75, 0), f"exit {first.returncode}\n{err}")
    code, err, _ = output.run()
    expect(code == 0 and not output.left(), f"after a signal: exit {code}\n{err}")
    expect_right(output)


def resumes(bed):
    """Begun by threads, continued by processes; and back."""
    for begins in (True, False):
        output = faulty_runs.Output(bed, f"resumed{begins}", 2)
        with_threads(begins)
        code, err, _ = output.run(faulty_runs.once_recorded(2))
        expect(code in faulty_runs.KILLED and output.path(".journal").exists(), f"not killed: {code}\n{err}")
        with_threads(not begins)
        code, err, _ = output.run(extra=("-v",))
        expect(code == 0 and "resuming: " in err, f"exit {code}\n{err}")
        expect_right(output)


def same_bits(bed):
    bits = set()
    for threads, ranks in ((True, 1), (True, 2), (True, 3), (False, 2)):
        with_threads(threads)
        running.run(bed.damier, ranks, "multiply", bed.folder / "A.h5", bed.folder / "B.h5", "-o", bed.folder / "C.h5",
                    "--force", "-q", "--reproducible", "--backend", "cuda")
        bits.add(faulty_runs.Output(bed, "C", 1).bits())
    expect(len(bits) == 1, f"{len(bits)} different results")


def with_threads(yes):
    if yes:
        os.environ["THREADS"] = "1"
    else:
        os.environ.pop("THREADS", None)


def main():
    options = running.options("--shim")
    os.environ.update(GPUS, OPENBLAS_NUM_THREADS="1")
    with_threads(True)
    with running.scratch() as folder:
        words = ("--backend", "cuda", "--grid", "2x1x1", "--memory", f"device={DEVICE}MiB", "--checkpoint-interval", "0",
                 "--hang-timeout", "60s")
        bed = faulty_runs.Bed(folder, options, shape=(700, 600, 500), words=words)
        bed.undisturbed(2)
        for check in (refusals, choices, chosen, benchmarks, queues, batches, of_itself, under_mpirun, one_does_not_start,
                      chosen_does_not_start, ends, small_stack, one_fails, no_memory, stops, resumes, same_bits):
            with_threads(True)
            check(bed)
            print("passed ", check.__name__, flush=True)


if __name__ == "__main__":
    main()
