#!/usr/bin/env python3
"""Products by damier and by another way, alternating on this machine, for a table of docs/results: products.py SET [OPTION ...]

  cpu            two ranks of one thread, by shared memory and by messages; one process of the BLAS library with two threads
  scalapack      --ranks processes of one thread; ScaLAPACK's pdgemm (Debian: libscalapack-openmpi-dev; mpi4py)
  gpu            GPU memory; cuBLAS in the same process
  gpu_odd        the same, sizes that are no multiples of 16 bytes
  gpu_emulated   the same, products of f64 and f32 by residues and by halves; cuBLAS multiplies natively
  limited_gpu    GPU memory; host memory and a quarter of the GPU memory that the matrices need
  links          several GPUs, whose panels travel; one cuBLAS call for each GPU's block
  residues_gpus  by residues on one GPU and on all, and the native product on all
  cublasxt       pinned host memory, on --gpus (one, and all); NVIDIA's cuBLASXt (torch)
  cublasmp       memory of all GPUs; NVIDIA's cuBLASMp, whose file is --library (torch, mpi4py)

--sizes, --types, --ranks and --gpus are lists such as "f64 f32"; sets without another library have one size. --pairs counts turns,
--repetitions the products in each; --setting chooses the other library's block, layout or grid [the fastest]. The records replace
those of --output [docs/results/SET.jsonl] when all are made.
"""
import itertools
import json
import os
import pathlib
import shutil
import sys
import tempfile

from measure import Failed, alternated, code_of, compare, gpus, made_by, median, mpirun, options_of, run, start

DEVICE = "--backend cuda --from device"
EACH = "--backend cuda --require-gpu-per-rank"
SETS = {  # name: (size, turns, repetitions, ranks and options of each product)
    "cpu": (4096, 15, 1, ["2 --size {n} --threads 1 --warmup 1 --transport shared",
                          "1 --size {n} --threads 2 --warmup 1 --against-library", "2 --size {n} --threads 1 --warmup 1 --transport host"]),
    "gpu": (16384, 1, 20, [f"1 {DEVICE} --against-library --size {words}" for words in (
        "{n} --type f64", "{n} --type f32", "{n} --type f32 --compute tf32", "{n} --type bf16",
        "{half} --type f16", "{half} --type i8", "{half} --type c64", "{half} --type c128")]),
    "gpu_odd": (8191, 1, 20, [f"1 {DEVICE} --against-library --size {{n}} --type {words}" for words in (
        "f64", "bf16", "f32 --compute tf32")]),
    "gpu_emulated": (16384, 1, 10, [f"1 {DEVICE} --against-library --size {words}" for words in (
        "{half} --type f64 --compute f64:int8:14", "{n} --type f64 --compute f64:int8:14", "{half} --type f64 --compute f64:int8",
        "{n} --type f64 --compute f64:int8", "{half} --type c128 --compute f64:int8", "{half} --type f32 --compute f32:f16",
        "{n} --type f32 --compute f32:f16", "{half} --type c64 --compute f32:f16")]),
    "limited_gpu": (32768, 2, 5, [f"1 {DEVICE} --size {{n}}", "1 --backend cuda --from host --size {n} --memory device={quarter}MiB"]),
    "links": (32768, 1, 10, [f"{{all}} {EACH} --from device --against-library {shape}" for shape in (
        "--size {half}", "--size {n}", "--size {n} --type f32 --compute tf32", "--size {n} --type bf16",
        "--size {n} --type bf16 --type-c bf16", "--m 6000 --n 6000 --k 300000", "--m 300000 --n 6000 --k 6000",
        "--m 60000 --n 60000 --k 5000")]
        + [f"{{all}} {EACH} --from host --size {{n}}"]),
    "residues_gpus": (32768, 4, 3, [f"{ranks} {EACH} --from device --size {{n}} --warmup 1 --compute {compute}" for ranks, compute in (
        ("1", "f64:int8"), ("{all}", "f64:int8"), ("{all}", "f64"))]),
}
RIVALS = {  # name: (its program of rivals.py, size, types, options of damier)
    "scalapack": ("pdgemm", "4096", "f64", "--threads 1"), "cublasxt": ("cublasxt", "16384", "f64 f32", f"{EACH} --from host"),
    "cublasmp": ("cublasmp", "16384", "f64 f32 bf16", f"{EACH} --from device")}


def bench(options, ranks, words, repetitions):
    """The record of damier's products, a line."""
    words = [*words.split(), "--repetitions", repetitions, "-q", "--json", "-"]
    print(f"   {ranks} ranks: {' '.join(map(str, words))}", flush=True)
    return run([*(mpirun(ranks) if ranks > 1 else []), options.damier, "bench", "multiply", *words])


def in_turns(options):
    """A set that damier alone multiplies; its records are damier's."""
    size, turns, repetitions, products = SETS[options.set]
    n = int(options.sizes or size)
    numbers = {"n": n, "half": n // 2, "quarter": 6 * n * n >> 20, "all": gpus()}
    ways = [product.format(**numbers).split(maxsplit=1) for product in products]
    for _, said in alternated(range(len(ways)), options.pairs or turns, lambda way: bench(
            options, int(ways[way][0]), ways[way][1], options.repetitions or repetitions), warm_up=0):
        with open(options.records, "a", encoding="utf-8") as records:
            records.write(said)


def beside(options, count, n, kind):
    """A program of rivals.py, and damier: the medians of some products in each turn."""
    program, _, _, words = RIVALS[options.set]
    repetitions = options.repetitions or (1 if program == "pdgemm" else 3)
    launcher = [] if program == "cublasxt" else mpirun(count) + ["--bind-to", "none"] * (program == "cublasmp")  # it starts threads
    rival = [*launcher, sys.executable, pathlib.Path(__file__).with_name("rivals.py"), program, kind, n, "--library", options.library,
             "--gpus", count]
    rival += ["--setting", options.setting or run(rival).strip(), "--repetitions", repetitions]

    def once(way):
        said = run(rival) if way == program else bench(options, count, f"--size {n} --warmup 1 --type {kind} {words}", repetitions)
        record = json.loads(said)
        facts = record["bench"] | {"residual": record["residual"]} if way == program else {}
        return facts | {"seconds": median(record["repetitions"]["multiply_s"]), "command": record["command"], "machine": record["machine"],
                        "verdict": record["verification"]["verdict"]}

    problem = {"shape": f"{n} x {n} x {n}", "m": n, "n": n, "k": n, "work": kind}
    compare(options.records, {"verb": options.set, **made_by(code_of(options.damier))}, {"problem": problem}, (program, "damier"), once,
            options.pairs or 10, warm_up=0)


def against(options):
    program, size, kinds, _ = RIVALS[options.set]
    counts = options.gpus or f"1 {gpus()}" if program == "cublasxt" else options.ranks or ("2" if program == "pdgemm" else str(gpus()))
    for count, n, kind in itertools.product(dict.fromkeys(counts.split()), (options.sizes or size).split(), (options.types or kinds).split()):
        beside(options, int(count), int(n), kind)


def main():
    options = options_of(__doc__, None, ("set", {"choices": (*SETS, *RIVALS)}), damier="build/release/damier", sizes="",
                         types="", pairs=0, repetitions=0, ranks="", gpus="", library="", setting="")
    options.damier = os.path.abspath(options.damier)
    needed = 0 if options.set in ("cpu", "scalapack") else 2 if options.set in ("links", "residues_gpus", "cublasmp") else 1
    if gpus() < needed:
        raise Failed(f"this takes {needed} GPUs; here are {gpus()}")
    if options.set == "scalapack":
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        # If OpenBLAS does not know the CPU, damier selects its kernels: other programs must use the same ones.
        kernels = json.loads(run([options.damier, "info", "-q", "--json", "-"])).get("environment", {}).get("OPENBLAS_CORETYPE")
        os.environ.update({"OPENBLAS_CORETYPE": kernels} if kernels else {})
    with tempfile.TemporaryDirectory() as folder:
        options.records = f"{folder}/records.jsonl"
        (in_turns if options.set in SETS else against)(options)
        shutil.copy(options.records, options.output or f"docs/results/{options.set}.jsonl")


if __name__ == "__main__":
    start(main)
