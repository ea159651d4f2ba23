#!/usr/bin/env python3
"""Runs the command line tests: every NAME.sh in the folders next to this file.

A case runs in its own scratch directory, with damier and bin/ in PATH and a clean environment. Its expected output is
in NAME.stdout.exact, .glob (a line "..." matches any lines, "*" any text within a line) or .ignore, likewise for
stderr; a missing file means no output. NAME.exit contains the exit status, if not 0. Status 77 skips the case.
See README.md.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import running  # noqa: E402

SKIP = 77
WORKERS = 2  # most cases start programs in sequence, and some wait


def python_with():
    """The Python for the helpers in bin/; empty if none has NumPy and h5py."""
    for python in (sys.executable, "/usr/bin/python3"):
        command = [python, "-c", "import numpy, h5py"]
        if shutil.which(python) and subprocess.run(command, capture_output=True).returncode == 0:
            return python
    return ""


def clean_environment(damier, scratch):
    env = running.environment()
    env["XDG_CACHE_HOME"] = str(scratch)  # ignores measurements of this computer
    env["PATH"] = os.pathsep.join([str(HERE / "bin"), str(scratch / "bin"), env["PATH"]])
    env.update(ROOT=str(HERE.parent.parent), PYTHON=python_with(), LC_ALL="C",
               BASH_ENV=str(HERE / "bin" / "common.sh"), TMPDIR=str(scratch))
    (scratch / "bin").mkdir()
    (scratch / "bin" / "damier").symlink_to(damier)
    return env


def glob_matches(pattern, text):
    """Matches lines of TEXT with lines of PATTERN, in which "..." matches any number of lines."""
    rules = [r"(?:[^\n]*\n)*?" if line == "..." else
             re.escape(line).replace(r"\*", r"[^\n]*") + r"\n" for line in pattern.splitlines()]
    if text and not text.endswith("\n"):
        text += "\n"
    return re.fullmatch("".join(rules), text) is not None


def judge_stream(case, name, text, set_exact):
    """None, or the mismatch of stream NAME."""
    exact, glob, ignore = (case.with_suffix(f".{name}.{kind}") for kind in
                           ("exact", "glob", "ignore"))
    if ignore.exists():
        return None
    if glob.exists():
        if glob_matches(glob.read_text(), text):
            return None
        return f"{name} does not match {glob.name}:\n--- wanted\n{glob.read_text()}--- got\n{text}"
    if set_exact:
        if text:
            exact.write_text(text)
        else:
            exact.unlink(missing_ok=True)
        return None
    wanted = exact.read_text() if exact.exists() else ""
    if wanted == text:
        return None
    return f"{name} differs:\n--- wanted\n{wanted}--- got\n{text}"


def run_case(case, options, env, scratch):
    """None: passed, False: skipped, else the reason of the failure."""
    place = scratch / "-".join(case.relative_to(HERE).with_suffix("").parts)
    place.mkdir()
    script = ["bash", str(case)]
    try:
        done = subprocess.run(script, cwd=place, env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=options.timeout)
    except subprocess.TimeoutExpired:
        return f"not done after {options.timeout} s"
    exit_file = case.with_suffix(".exit")
    wanted = int(exit_file.read_text()) if exit_file.exists() else 0
    if done.returncode == SKIP and wanted != SKIP:
        return False
    out, err = (stream.decode(errors="replace") for stream in (done.stdout, done.stderr))
    problems = [judge_stream(case, "stdout", out, options.set_exact_output),
                judge_stream(case, "stderr", err, options.set_exact_output)]
    if done.returncode != wanted:
        problems.append(f"exit status {done.returncode}, wanted {wanted}; stderr:\n{err}")
    problems = [p for p in problems if p]
    if not problems:
        shutil.rmtree(place)
    return "\n".join(problems) or None


def timed_case(case, options, env, scratch):
    """Its name, verdict, seconds, and failure."""
    started = time.monotonic()
    reason = run_case(case, options, env, scratch)
    verdict = "passed" if reason is None else "skipped" if reason is False else "failed"
    return name_of(case), verdict, time.monotonic() - started, reason


def name_of(case):
    return str(case.relative_to(HERE).with_suffix(""))


def chosen_cases(names):
    cases = [case for case in sorted(HERE.glob("*/*.sh")) if case.parent.name != "bin"]
    return [case for case in cases if not names or any(part in name_of(case) for part in names)]


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="run only cases whose path contains one of these")
    parser.add_argument("--damier", default="build/release/damier", help="the program to test")
    parser.add_argument("--set-exact-output", action="store_true",
                        help="write what the cases print into their .exact files")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for a case")
    parser.add_argument("--keep", action="store_true", help="keep the scratch directory")
    return parser.parse_args()


def main():
    options = read_options()
    damier = pathlib.Path(options.damier).resolve()
    if not os.access(damier, os.X_OK):
        sys.exit(f"{damier} is not a program; --damier names it")
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="damier-cli-"))
    env = clean_environment(damier, scratch)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        outcomes = pool.map(lambda case: timed_case(case, options, env, scratch), chosen_cases(options.names))
        for name, verdict, seconds, reason in outcomes:
            counts[verdict] += 1
            print(f"{verdict:8}{name}, {seconds:.1f} s", flush=True)
            if reason:
                print("    " + reason.rstrip().replace("\n", "\n    "), flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    if options.keep or counts["failed"]:
        print(f"scratch: {scratch}")
    else:
        shutil.rmtree(scratch, ignore_errors=True) # a launcher may still clean up in it
    sys.exit(1 if counts["failed"] or not counts["passed"] else 0)


if __name__ == "__main__":
    main()
