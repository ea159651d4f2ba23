"""Many small products, A of each from a file of its own and one B: a command for each, and 'damier run' of the list."""
import os
import pathlib

from measure import run, timed

RUNS, WARM_UP, VERB, FOLDER = 3, 0, "run", "/var/tmp"


def cases(_, count=1000, size=200):
    for i in range(count + 1):
        run(["damier", "generate", f"A{i}.h5", "--size", size, "--seed", i, "-qq"])
    words = [["damier", "multiply", f"A{i}.h5", f"A{count}.h5", "-o", f"C/{i}.h5", "-qq"] for i in range(count)]
    pathlib.Path("jobs.txt").write_text("".join(" ".join(line[1:]) + "\n" for line in words), encoding="utf-8")

    def way(*commands):
        def call():
            os.mkdir("C")
            found, _ = timed(lambda: [run(line) for line in commands])
            left = count - sum(1 for _ in pathlib.Path("C").glob("*.h5"))
            return found | ({"error": f"{left} products are missing"} if left else {})
        return call

    one = ["damier", "run", "jobs.txt", "-qq"]
    yield ({"what": f"{count} products of {size} x {size}, f64"},
           {"commands": way(*words), "run": way(one), "run --at-once 1": way([*one, "--at-once", 1])})
