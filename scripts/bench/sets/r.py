"""Jobs of R by its package damier, by R alone, and by DelayedArray, in turns in one process of R, without its start. Takes R with the packages
damier (R CMD INSTALL R) and HDF5Array, and room for 1.5 GB; DelayedArray's crossprod takes most of the time."""
import json
import subprocess

from measure import Failed


def cases(bench, rows=20000, columns=5000, only=""):
    facts = {"small": "256 x 256 times 256 x 256, in memory, 50 times", "memory": "crossprod of 3000 x 3000, in memory",
             "thin": f"HDF5Matrix {rows} x {columns} times {columns} x 64", "cor": f"cor of HDF5Matrix {rows} x {columns // 5}",
             "pca": f"prcomp, 10 components and scores, of HDF5Matrix {rows} x {columns // 5}",
             "crossprod": f"crossprod of HDF5Matrix {rows} x {columns}"}
    words = ["Rscript", __file__.removesuffix("py") + "R", ".", str(rows), str(columns)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        def answer():
            line = process.stdout.readline()
            if not line.startswith("{"):
                raise Failed(f"R ended: {line}")
            return {key: float(value) if key in ("seconds", "processor_s") else value for key, value in json.loads(line).items()}

        def way(name, job):
            def call():
                print(job, name, file=process.stdin, flush=True)
                return answer()
            return call

        bench.about |= answer()
        for job, what in facts.items():
            if job in (only.split(",") if only else facts):
                yield {"job": job, "what": what}, {name: way(name, job) for name in (
                    "R" if job in ("small", "memory") else "DelayedArray", "damier")}
        process.stdin.close()
