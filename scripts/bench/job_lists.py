#!/usr/bin/env python3
"""Many small products, A of each from a file of its own and one B: a command for each, and 'damier run' of the list, in turns. Appends a
record of each way.

    scripts/bench/job_lists.py -o docs/results/job_lists.jsonl
"""
import pathlib
import shutil
import tempfile

from measure import code_of, compare, cores, made_by, options_of, run, start, timed


def main():
    options = options_of(__doc__, "job_lists.jsonl", damier="build/release/damier", folder="/var/tmp", runs=3, jobs=1000, size=200)
    damier = pathlib.Path(options.damier).resolve()
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="damier-list-") as name:
        folder = pathlib.Path(name)
        made = folder / "C"
        for i in range(options.jobs + 1):
            run([damier, "generate", f"A{i}.h5", "--size", options.size, "--seed", i, "-qq"], cwd=folder)
        words = [["multiply", f"A{i}.h5", f"A{options.jobs}.h5", "-o", f"C/{i}.h5", "-qq"] for i in range(options.jobs)]
        (folder / "jobs.txt").write_text("".join(" ".join(line) + "\n" for line in words))

        def commands():
            for line in words:
                run([damier, *line], cwd=folder)

        def one_list(*more):
            run([damier, "run", "jobs.txt", "-qq", *more], cwd=folder)

        calls = {"commands": commands, "run": one_list, "run --at-once 1": lambda: one_list("--at-once", 1)}

        def once(way):
            made.mkdir()
            found, _ = timed(calls[way])
            left = options.jobs - sum(1 for _ in made.glob("*.h5"))
            shutil.rmtree(made)
            return found | ({"error": f"{left} products are missing"} if left else {})

        about = {"verb": "run", **made_by(code_of(damier), cores=cores())}
        case = {"what": f"{options.jobs} products of {options.size} x {options.size}, f64"}
        compare(options.output, about, case, tuple(calls), once, options.runs, warm_up=0)


if __name__ == "__main__":
    start(main)
