"""The installed library as users see it: builds the examples in C, C++ and Fortran with a copy of the library that was
moved after its installation, shared and static, by pkg-config and CMake."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from running import ROOT, environment, expect

EXAMPLES = ROOT / "examples"
RESULT = "C(0, 0) = 800"
SKIPPED = 77
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES {languages})
find_package(damier REQUIRED)
add_executable(user {sources})
target_link_libraries(user PRIVATE {library})
"""
IN_CPP = """#include <damier.h>
#include <iostream>
int main() {
  double x[4] = {1, 2, 3, 4}, c[4];
  damier_context *context;
  const auto mx = damier_on_one(DAMIER_F64, 2, 2, 0, x, 0), mc = damier_on_one(DAMIER_F64, 2, 2, 0, c, 0);
  if (damier_open_local(&context, nullptr) || damier_gram(context, &mx, 0, &mc, nullptr)) return 1;
  damier_close(context);
  std::cout << "C(0, 0) = " << 80 * c[0] << '\\n';
}
"""
LOCAL = """program local
  use damier
  implicit none
  real(c_double), target :: x(2, 2), c(2, 2)
  type(damier_matrix) :: mx, mc
  type(damier_error) :: error
  type(c_ptr) :: context
  character(:), allocatable :: text
  x = reshape([1d0, 2d0, 3d0, 4d0], [2, 2])
  c = 0
  if (damier_open_local(context, error) /= DAMIER_OK) error stop 'not opened'
  mx = damier_on_one(DAMIER_F64, 2_c_int64_t, 2_c_int64_t, 0, c_loc(x), 0_c_int64_t)
  mc = damier_on_one(DAMIER_F64, 2_c_int64_t, 2_c_int64_t, 0, c_loc(c), 0_c_int64_t)
  call damier_by_columns(mx, 2)
  call damier_by_columns(mc, 2)
  if (damier_gram(context, mx, 0, mc, error) /= DAMIER_OK) error stop 'no product'
  text = damier_string(damier_record(context))
  if (index(text, 'gram') == 0) error stop 'no record'
  call damier_close(context)
  print '(a, i0)', 'C(0, 0) = ', nint(160 * c(1, 1)) ! 800
end program
"""


def compiler(name):
    """A compiler wrapper of the library's MPI."""
    path = pathlib.Path(os.environ.get("MPICC", "mpicc"))
    return path.with_name(path.name.replace("mpicc", name)) if "mpicc" in path.name else pathlib.Path(name)


def works(program):
    """MPI's wrapper may exist without its compiler; where CI is set all are there."""
    found = shutil.which(program) and subprocess.run([program, "--version"], capture_output=True, check=False).returncode == 0
    expect(found or not os.environ.get("CI"), f"{program} does not work, and its examples would be left out")
    return found


def call(*words, folder=None, **more):
    done = subprocess.run([str(w) for w in words], cwd=folder, env=environment() | more, capture_output=True,
                          text=True, timeout=300, check=False)
    expect(done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout[-600:]}{done.stderr[-900:]}")
    return done.stdout


def check_uninstall(build, prefix, manifest):
    """Only the user's own files are left, and no empty folder of damier's."""
    call("cmake", "--install", build, "--prefix", prefix)
    (prefix / "share/damier/.own").touch()
    call("cmake", "-D", f"MANIFEST={manifest}", "-P", ROOT / "cmake/uninstall.cmake")
    left = [str(path.relative_to(prefix)) for path in prefix.rglob("*")
            if not path.is_dir() or path.name in ("damier", "slurm")]
    expect(sorted(left) == ["share/damier", "share/damier/.own"], f"uninstall leaves {left}")


def install(build, folder):
    """Installs to one place and moves the files to another: nothing else is installed."""
    here = folder / "moved"
    manifest = build / "install_manifest.txt"  # the manifest for `ninja uninstall` belongs to the user
    before = manifest.read_bytes() if manifest.exists() else None
    check_uninstall(build, folder / "gone", manifest)
    call("cmake", "--install", build, "--prefix", folder / "installed")
    manifest.unlink()
    if before is not None:
        manifest.write_bytes(before)
    (folder / "installed").rename(here)
    return here, next(here.glob("**/damier.pc")).parents[1]


def check_contents(here, library):
    """Programs stand on the library: it holds nothing of theirs but the rows of the table of options."""
    text = (library / "libdamier.so").read_bytes()
    for words in (b"Usage: damier", b"#compdef", b"bench kernels measures one GPU"):
        expect(words not in text, f"libdamier.so contains {words!r}")
    expect("listed=" in call(here / "bin" / "damier", "bench", "kernels", "--list"), "damier bench does not start")
    archive = library / "libdamier.a"
    names = call("nm", archive) if archive.exists() else ""
    expect(not re.search(r"\bdm_(cli|bench)_", names), "libdamier.a contains functions of the program")


def check_target(build):
    """The target `installed`, which scripts/demo.sh builds, builds every installed file."""
    if not (build / "build.ninja").exists():
        return
    script = (build / "cmake_install.cmake").read_text()
    wanted = set(re.findall(rf'"{re.escape(str(build))}/([^"]*)"', script))
    made = {line.split(":")[0] for line in call("ninja", "-C", build, "-t", "targets", "all").splitlines()}
    inputs = set(re.findall(r'label="([^"]*)"', call("ninja", "-C", build, "-t", "graph", "installed")))
    expect({"damier", "damier-bench", "libdamier.so"} <= wanted & made, f"installed are {sorted(wanted & made)[:9]}")
    missing = {name for name in wanted & made - inputs if ".so." not in name}  # built with libdamier.so
    expect(not missing, f"target 'installed' does not make {sorted(missing)}")


def flags(libraries, *words):
    return call("pkg-config", *words, "damier", PKG_CONFIG_PATH=str(libraries / "pkgconfig")).split()


def run(program, libraries):
    launcher = os.environ.get("MPIEXEC", "mpirun")
    printed = call(launcher, "-n", 3, program, LD_LIBRARY_PATH=str(libraries))
    expect(RESULT in printed, f"{program} prints '{printed}'")


def check_symbols(libraries):
    """The library only exports the interface's names."""
    for words in (["-D", libraries / "libdamier.so"], ["-g", libraries / "libdamier.a"]):
        if not words[1].exists():
            continue
        names = [line.split()[2] for line in call("nm", "--defined-only", *words).splitlines()
                 if len(line.split()) == 3]
        others = [name for name in names if not name.startswith("damier_")]
        expect("damier_multiply" in names and not others, f"{words[1].name} shows {others[:5]}")


def run_path(file):
    found = re.search(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", call("readelf", "-d", file))
    return found[1].split(":") if found else []


def check_run_paths(here, libraries):
    """If the program finds its libraries outside the system's folders, so does the library."""
    program, library = run_path(here / "bin" / "damier"), run_path(libraries / "libdamier.so")
    expect(sorted(library) == sorted(program), f"the program looks in {program}, the library in {library}")


def check_shared(here, libraries, folder):
    words = flags(libraries, "--cflags", "--libs")
    call(compiler("mpicc"), EXAMPLES / "product.c", *words, "-o", folder / "c")
    run(folder / "c", libraries)
    local = folder / "local.c"
    local.write_text("#include <damier.h>\nint main(void) { damier_context *c; return damier_open_local(&c, 0); }\n")
    call("cc", "-DDAMIER_MPI=0", local, *words, "-o", folder / "local")
    call(folder / "local", LD_LIBRARY_PATH=str(libraries))
    call("cc", "-Wall", "-Werror", "-DDAMIER_MPI=0", EXAMPLES / "files.c", *words, "-o", folder / "files")
    if works(compiler("mpicxx")):
        call(compiler("mpicxx"), "-Wall", EXAMPLES / "product.cpp", *words, "-o", folder / "cpp")
        run(folder / "cpp", libraries)
        (folder / "local.cpp").write_text(IN_CPP)
        call("c++", "-Wall", "-DDAMIER_MPI=0", folder / "local.cpp", *words, "-o", folder / "local_cpp")
        expect(RESULT in call(folder / "local_cpp", LD_LIBRARY_PATH=str(libraries)), "a program in C++ without MPI")
    if works(compiler("mpifort")):
        call(compiler("mpifort"), here / "include" / "damier.f90", EXAMPLES / "product.f90", *words, "-o", folder / "f90",
             folder=folder)
        run(folder / "f90", libraries)
        (folder / "local.f90").write_text(LOCAL)
        call("gfortran", here / "include" / "damier.f90", "local.f90", *words, "-o", folder / "local_f90", folder=folder)
        expect(RESULT in call(folder / "local_f90", LD_LIBRARY_PATH=str(libraries)), "a program in Fortran without MPI")


def check_interfaces(here):
    """Fortran has every function of C."""
    of_c, of_fortran = ((here / "include" / name).read_text() for name in ("damier.h", "damier.f90"))
    lacking = [name for name in re.findall(r"DAMIER_API[^;]*?\b(damier_\w+)\(", of_c) if name not in of_fortran]
    expect(not lacking, f"damier.f90 lacks {lacking}")


def check_static(here, libraries, folder):
    """Without the shared library, which -ldamier prefers."""
    if not (libraries / "libdamier.a").exists():
        return
    for shared in libraries.glob("libdamier.so*"):
        shared.unlink()
    words = flags(libraries, "--static", "--cflags", "--libs")
    for language, wrapper in WRAPPERS.items():
        if works(compiler(wrapper)):
            module = [here / "include" / "damier.f90"] if language == "Fortran" else []
            program = folder / f"static_{language}"
            call(compiler(wrapper), *module, EXAMPLES / EXAMPLE_OF[language], *words, "-o", program, folder=folder)
            run(program, folder)


WRAPPERS = {"C": "mpicc", "CXX": "mpicxx", "Fortran": "mpifort"}
EXAMPLE_OF = {"C": "product.c", "CXX": "product.cpp", "Fortran": "product.f90"}


def check_package(here, libraries, folder, library, languages="C", own=None):
    """A project of LANGUAGES; its program is in the last one, an example or, without MPI, OWN."""
    if not all(works(compiler(WRAPPERS[language])) for language in languages.split()):
        return
    project = folder / f"{library}_{languages}".replace(":", "").replace(" ", "_")
    project.mkdir()
    last = languages.split()[-1]
    sources = f"{own or EXAMPLES / EXAMPLE_OF[last]}" + (" ${damier_FORTRAN_SOURCE}" if last == "Fortran" else "")
    (project / "CMakeLists.txt").write_text(PROJECT.format(languages=languages, sources=sources, library=library))
    found = [f"-DMPI_{language}_COMPILER={shutil.which(compiler(WRAPPERS[language]))}" for language in languages.split()]
    call("cmake", "-G", "Ninja", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={here}", *found)
    call("cmake", "--build", project / "build")
    if own:
        expect(RESULT in call(project / "build" / "user", LD_LIBRARY_PATH=str(libraries)), f"{own} without MPI")
    else:
        run(project / "build" / "user", libraries)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--damier", type=pathlib.Path, required=True)
    build = parser.parse_args().damier.parent
    if not all(map(shutil.which, ("cmake", "pkg-config", compiler("mpicc"), "nm", "readelf"))):
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_target(build)
        here, libraries = install(build, folder)
        check_contents(here, libraries)
        check_symbols(libraries)
        check_run_paths(here, libraries)
        check_shared(here, libraries, folder)
        check_interfaces(here)
        for languages in ("C", "CXX", "C CXX", "Fortran"):
            check_package(here, libraries, folder, "damier::damier", languages)
        check_package(here, libraries, folder, "damier::damier", "C Fortran", folder / "local.f90")
        for languages in ("C", "CXX", "Fortran") if (libraries / "libdamier.a").exists() else ():
            check_package(here, libraries, folder, "damier::static", languages)
        check_static(here, libraries, folder)
    return 0


sys.exit(main())
