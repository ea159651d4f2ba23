"""The package of R: R CMD check, which installs it, runs its tests and examples and compares the help with the code, finds no error and
nothing to warn of; the blocks of its page do what the page says; and configure says what is missing."""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from running import ROOT, environment, expect

SKIPPED = 77


def run(*words, folder, **more):
    plain = {name: value for name, value in environment().items() if name not in ("LD_PRELOAD", "R_LIBS")}
    return subprocess.run([str(word) for word in words], cwd=folder, env={**plain, "LC_ALL": "C.UTF-8", **more}, capture_output=True,
                          text=True, timeout=1100, check=False)


def check_configure(folder):
    """Without a library it ends with what to do."""
    shutil.copytree(ROOT / "R", folder / "copy")
    done = run("sh", "./configure", folder=folder / "copy", DAMIER_LIBRARY=str(folder / "none"), PATH="/usr/bin:/bin")
    expect(done.returncode == 1 and "there is no libdamier.so" in done.stderr and "DAMIER_INCLUDE" in done.stderr, done.stderr)


def check_version():
    """The package has the version of the library."""
    of_package = re.search(r"^Version: (.*)", (ROOT / "R/DESCRIPTION").read_text(), re.M)[1]
    of_library = re.search(r"project\(damier VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    wanted = re.search(r'wanted <- "(.*)"', (ROOT / "R/R/library.R").read_text())[1]
    expect(of_package == of_library and of_library.startswith(wanted + "."), f"{of_package}, {of_library}, {wanted}")


def check_package(folder, library):
    named = {"DAMIER_LIBRARY": str(library), "DAMIER_INCLUDE": str(ROOT / "include"), "_R_CHECK_FORCE_SUGGESTS_": "false",
             "_R_CHECK_PACKAGE_NAME_": "false"}
    done = run("R", "CMD", "build", ROOT / "R", folder=folder, **named)
    expect(done.returncode == 0, done.stdout + done.stderr)
    package = next(folder.glob("damier_*.tar.gz"))
    done = run("R", "CMD", "check", "--no-manual", package.name, folder=folder, **named)
    more = "".join(file.read_text(errors="replace")[-3000:] for file in folder.glob("damier.Rcheck/**/*.Rout.fail"))
    expect(done.returncode == 0 and re.search(r"^Status: (OK|\d+ NOTEs?)$", done.stdout, re.M), done.stdout[-4000:] + more)


def check_page(folder):
    """Every line of the page that states something is TRUE."""
    blocks = re.findall(r"^```r\n(.*?)^```$", (ROOT / "docs/howto/r.md").read_text(), re.M | re.S)
    (folder / "page.R").write_text("damier::dm_choose_kernels()\n" + "".join(blocks))  # an old OpenBLAS would be warned of
    done = run("Rscript", "page.R", folder=folder, R_LIBS=str(folder / "damier.Rcheck"))
    said = done.stdout.split()
    expect(done.returncode == 0 and done.stderr == "" and len(said) > 10 and set(said) <= {"[1]", "TRUE"}, done.stdout + done.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--damier", type=pathlib.Path, required=True)
    library = parser.parse_args().damier.resolve().parent
    check_version()
    if not shutil.which("R"):
        return SKIPPED
    asked = run("Rscript", "-e", 'for (p in c("jsonlite", "HDF5Array")) cat(requireNamespace(p, quietly = TRUE))', folder="/")
    if "FALSE" in asked.stdout:
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        check_configure(pathlib.Path(name))
        check_package(pathlib.Path(name), library)
        check_page(pathlib.Path(name))
    return 0


sys.exit(main())
