"""A build without MPI: products by the program, the library in Python and programs in C, C++ and Fortran, by pkg-config and CMake,
shared and static; refusals.
usage: without_mpi_cases.py --damier PROGRAM --library FOLDER --header FOLDER"""
import argparse
import os
import pathlib
import shutil
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


IN_CPP = r"""
#include <damier.h>
#include <iostream>
#include <vector>
int main() {
  std::vector<double> x{1, 2, 3, 4}, c(4);
  damier_error error{};
  damier_context *context = nullptr;
  if (damier_open_local(&context, &error)) return 1;
  const auto mx = damier_on_one(DAMIER_F64, 2, 2, 0, x.data(), 0), mc = damier_on_one(DAMIER_F64, 2, 2, 0, c.data(), 0);
  if (damier_gram(context, &mx, 0, &mc, &error)) return 1;
  damier_close(context);
  std::cout << c[0] << ' ' << c[1] << ' ' << c[3] << '\n';
}
"""
IN_FORTRAN = """program p
  use damier
  implicit none
  real(c_double), target :: x(2, 2), c(2, 2)
  type(damier_matrix) :: mx, mc
  type(damier_error) :: error
  type(c_ptr) :: context
  x = reshape([1d0, 3d0, 2d0, 4d0], [2, 2])
  if (damier_open_local(context, error) /= DAMIER_OK) error stop 'not opened'
  mx = damier_on_one(DAMIER_F64, 2_c_int64_t, 2_c_int64_t, 0, c_loc(x), 0_c_int64_t)
  mc = damier_on_one(DAMIER_F64, 2_c_int64_t, 2_c_int64_t, 0, c_loc(c), 0_c_int64_t)
  call damier_by_columns(mx, 2)
  call damier_by_columns(mc, 2)
  if (damier_gram(context, mx, 0, mc, error) /= DAMIER_OK) error stop 'no product'
  call damier_close(context)
  print '(i0, 1x, i0, 1x, i0)', nint(c(1, 1)), nint(c(1, 2)), nint(c(2, 2))
end program
"""
PRINTED = "10 14 20"
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES {languages})
find_package(damier REQUIRED)
add_executable(user {source} {more})
target_link_libraries(user PRIVATE {library})
"""


def run(*words, **variables):
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **variables})
    return done.returncode, done.stdout + done.stderr


def expect(is_so, *words):
    if not is_so:
        sys.exit(f"FAILED: {words}")


def check_languages(build):
    """The installed library, from C++ alone, C++ beside C, and Fortran."""
    here = pathlib.Path("installed").resolve()
    code, text = run("cmake", "--install", build, "--prefix", str(here))
    expect(code == 0, text)
    libraries = next(here.glob("**/libdamier.so")).parent
    found = {"PKG_CONFIG_PATH": str(libraries / "pkgconfig"), "LD_LIBRARY_PATH": str(libraries)}
    flags = {kind: run("pkg-config", *words, "--cflags", "--libs", "damier", **found)[1].split() for kind, words in
             {"shared": [], "static": ["--static"]}.items()}
    pathlib.Path("user.cpp").write_text(IN_CPP)
    pathlib.Path("user.f90").write_text(IN_FORTRAN)
    static = (libraries / "libdamier.a").exists()
    for compiler, sources in ("c++", ["user.cpp"]), ("gfortran", [f"{here}/include/damier.f90", "user.f90"]):
        if not shutil.which(compiler):
            expect(not os.environ.get("CI"), f"{compiler} is missing")  # all are there
            continue
        of_cmake = ["CXX", "C CXX"] if compiler == "c++" else ["Fortran"]
        programs = {"by_pkg_config": flags["shared"]}
        if static:  # its folder, as -ldamier takes the shared library where both are
            pathlib.Path("static").mkdir(exist_ok=True)
            shutil.copy(libraries / "libdamier.a", "static")
            programs["static_by_pkg_config"] = [word.replace(f"-L{libraries}", "-Lstatic") if word.startswith("-L") else word for word in
                                                ["-Lstatic", *flags["static"]]]
        for name, words in programs.items():
            code, text = run(compiler, *sources, *words, "-o", name, **found)
            expect(code == 0, compiler, name, text)
            code, text = run(f"./{name}", **found)
            expect(code == 0 and text.strip() == PRINTED, compiler, name, text)
            expect(("libdamier" in run("ldd", name)[1]) == (name == "by_pkg_config"), name)
        for languages in of_cmake:
            for library in ["damier::damier", *(["damier::static"] if static else [])]:
                check_project(here, languages, library, pathlib.Path(sources[-1]).resolve(), found)


def check_project(here, languages, library, source, found):
    folder = pathlib.Path(f"{library}_{languages}".replace(":", "").replace(" ", "_"))
    folder.mkdir()
    more = "${damier_FORTRAN_SOURCE}" if languages == "Fortran" else ""
    (folder / "CMakeLists.txt").write_text(PROJECT.format(languages=languages, source=source, more=more, library=library))
    for words in (["-G", "Ninja", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={here}"], ["--build", folder / "build"]):
        code, text = run("cmake", *map(str, words))
        expect(code == 0, languages, library, text)
    code, text = run(str(folder / "build/user"), **found)
    expect(code == 0 and text.strip() == PRINTED, languages, library, text)


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
        check_languages(args.library)


if __name__ == "__main__":
    main()
