"""A build without MPI: products by the program, the library in Python and a program in C; refusals.
usage: without_mpi_cases.py --damier PROGRAM --library FOLDER --header FOLDER"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = r"""
#include <damier.h>
#include <stdio.h>
int main(void) {
  double a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, 0, 1, 1, 1}, c[4];
  damier_error error;
  damier_context *context;
  if (damier_open_local(&context, &error)) return puts(error.message), 1;
  damier_matrix ma = damier_by_rows(DAMIER_F64, 2, 3, 2, a, 0), mb = damier_by_rows(DAMIER_F64, 3, 2, 3, b, 0),
                mc = damier_by_rows(DAMIER_F64, 2, 2, 2, c, 0);
  if (damier_multiply(context, &ma, &mb, &mc, &error)) return puts(error.message), 1;
  damier_close(context);
  printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]);
  return damier_open_f(0, &context, &error) == DAMIER_E_USAGE ? 0 : 2;
}
"""


def run(*words, **variables):
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **variables})
    return done.returncode, done.stdout + done.stderr


def expect(is_so, *words):
    if not is_so:
        sys.exit(f"FAILED: {words}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("damier", "library", "header"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        a, b = np.random.default_rng(1).random((2, 70, 70))
        for name, matrix in (("a", a), ("b", b)):
            with h5py.File(f"{name}.h5", "w") as file:
                file["x"] = matrix
        code, text = run(args.damier, "multiply", "a.h5", "b.h5", "-o", "c.h5:/c")
        expect(code == 0, text)
        with h5py.File("c.h5", "r") as file:
            expect(np.allclose(file["c"][()], a @ b), "the product is wrong")
        code, text = run(args.damier, "--version")
        expect(code == 0 and "without MPI" in text, text)
        code, text = run(args.damier, "multiply", "a.h5", "b.h5", "-o", "d.h5", OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK="0")
        expect(code == 9 and "built without MPI" in text, code, text)
        code, text = run(sys.executable, "-c", "import damier, numpy; x = numpy.eye(9); print((damier.matmul(x, x) == x).all())",
                         PYTHONPATH=str(ROOT / "python"), DAMIER_LIBRARY=args.library)
        expect(code == 0 and "True" in text, text)
        pathlib.Path("p.c").write_text(PROGRAM)
        code, text = run("cc", "p.c", f"-I{args.header}", f"-L{args.library}", f"-Wl,-rpath,{args.library}", "-ldamier", "-o", "p")
        expect(code == 0, text)
        code, text = run("./p")
        expect(code == 0 and text == "4 5 10 11\n", code, text)
        code, text = run("ldd", args.damier)
        expect("libmpi" not in text, text)


if __name__ == "__main__":
    main()
