"""`damier verify` of what was kept of a C that was not stored: right results pass, changed values, places and entries are found
(unit/test_reduce_lines.c has each kind of change); files that are no such results, and products that are others."""
import h5py
import numpy as np
from running import expect, options, run, run_cases

M, N, K = 40, 60, 30


def operands(folder, dtype, nan=False):
    rng = np.random.default_rng(7)
    a, b = rng.normal(size=(M, K)).astype(dtype), rng.normal(size=(K, N)).astype(dtype)
    if dtype == "i1":
        a, b = (rng.integers(-3, 4, size=s).astype(dtype) for s in ((M, K), (K, N)))
    if nan:
        a[3, 4] = b[5, 6] = np.nan
        a[7, 1] = np.inf
    with h5py.File(folder / "x.h5", "w") as file:
        file["a"], file["b"] = a, b
    return [f"{folder}/x.h5:/a", f"{folder}/x.h5:/b"], a.astype(float) @ b.astype(float)


def attack(folder, name, change):
    """A copy of the arrays of a result, changed."""
    with h5py.File(folder / "r.h5") as file, h5py.File(folder / f"{name}.h5", "w") as to:
        arrays = {key: file["c"][key][:] for key in file["c"]}
        change(arrays)
        group = to.create_group("c")
        for key, numbers in arrays.items():
            group[key] = numbers
        for key, text in file["c"].attrs.items():
            group.attrs[key] = text
    return folder / f"{name}.h5"


def put(key, place, number):
    def change(arrays):
        arrays[key][place] = number(arrays) if callable(number) else number
    return change


def swap(keys, i, j):
    def change(arrays):
        for key in keys:
            arrays[key][i], arrays[key][j] = arrays[key][j].copy(), arrays[key][i].copy()
    return change


def drop(line):
    """The first entry of a line of a sparse matrix."""
    def change(arrays):
        at = arrays["indptr"][line]
        for key in ("data", "indices"):
            arrays[key] = np.delete(arrays[key], at)
        arrays["indptr"][line + 1:] -= 1
    return change


def insert(line, index, value):
    """An entry before the first one of a line."""
    def change(arrays):
        at = arrays["indptr"][line]
        arrays["data"] = np.insert(arrays["data"], at, value)
        arrays["indices"] = np.insert(arrays["indices"], at, index)
        arrays["indptr"][line + 1:] += 1
    return change


def wrong_ones(folder, damier, words, attacks):
    for i, (change, code) in enumerate(attacks):
        out = run(damier, 1, "verify", *words, attack(folder, f"attack{i}", change), "-q", expect=code)
        expect(code != 1 or out.rstrip().endswith("FAIL"), f"attack {i}: {out}")


def top(folder, damier, dtype, each):
    words, c = operands(folder, dtype)
    lines = c if each == "row" else c.T
    run(damier, 2, "multiply", *words, "-o", folder / "r.h5", "--top", 5, "--each", each, "-q")
    expect(run(damier, 3, "verify", *words, folder / "r.h5", "-q").rstrip().endswith("PASS"), "not right")
    order = np.argsort(-lines, axis=1, kind="stable")
    worst = order[9, 5:6]  # the best one that is not kept

    def next_best(arrays):
        arrays["values"][9, 4], arrays["indices"][9, 4] = lines[9, worst[0]], worst[0]

    def shorter(arrays):
        for key in arrays:
            arrays[key] = arrays[key][:-1]

    last = len(lines) - 1
    wrong_ones(folder, damier, words, [
        (put("values", (last, 4), lambda x: x["values"][last, 4] - 1), 1), (put("indices", (3, 1), order[3, 20]), 1),
        (swap(("values", "indices"), 2, 3), 1), (next_best, 1), (shorter, 3),
        (lambda x: x.pop("indices"), 3), (lambda x: x.update(values=x["values"].astype("f2")), 3)][:7 if dtype == "f8" else 4])


def beyond(folder, damier, dtype, option):
    words, c = operands(folder, dtype)
    threshold = 7 if option == "above" else -8
    run(damier, 1, "multiply", *words, "-o", folder / "r.h5", f"--{option}", threshold, "-q")
    expect(run(damier, 2, "verify", *words, folder / "r.h5", "-q").rstrip().endswith("PASS"), "not right")
    with h5py.File(folder / "r.h5") as file:
        starts, indices = file["c/indptr"][:], file["c/indices"][:]
    line = int(np.argmax(np.diff(starts)))  # with several entries
    at = starts[line]
    expect(starts[line + 1] - at > 1, "another case is needed")
    wrong_ones(folder, damier, words, [
        (drop(line), 1), (put("data", at, lambda x: x["data"][at] * 2), 1),
        (insert(line, 0 if indices[at] else -1, c[line, 0] if dtype != "i1" else 0), 1),
        (put("indptr", 5, lambda x: x["indptr"][-1] + 1), 3), (put("indptr", -1, lambda x: x["indptr"][-1] - 1), 3),
        (lambda x: x.update(data=x["data"][:-1]), 3), (lambda x: x.update(indptr=x["indptr"][:-1]), 3)][:7 if dtype == "f8" else 3])


def of_metric(folder, damier, words):
    """The same of cosines, distances and correlations: a neighbour that is missing, one that is none, wrong values, another order."""
    operands(folder, "f8")
    x = f"{folder}/x.h5:/a"
    verb, near = words.split()[0], "euclidean" in words
    command = [verb, x, "--of", "rows", *words.split()[1:], "--no-self", "-q", "--force"]
    run(damier, 1, *command, "-o", folder / "c.h5", *(["--top", M - 1] if near else ["--top", M - 1, "--by", "value"]))
    with h5py.File(folder / "c.h5") as file:
        values, order = file["c/values"][:], file["c/indices"][:]
    run(damier, 2, *command, "-o", folder / "r.h5", "--top", 4)
    expect(run(damier, 3, "verify", x, x, folder / "r.h5", "-q").rstrip().endswith("PASS"), "not right")

    def next_best(arrays):
        arrays["values"][9, 3], arrays["indices"][9, 3] = values[9, 4], order[9, 4]

    wrong_ones(folder, damier, [x, x], [(next_best, 1), (put("values", (5, 2), lambda a: a["values"][5, 2] * (1 + 1e-9)), 1),
                                        (put("indices", (6, 1), order[6, 20]), 1), (swap(("values", "indices"), 1, 2), 1)])
    option, threshold = ("below" if near else "above"), float(np.median(values[:, 5]))
    run(damier, 1, *command, "-o", folder / "r.h5", f"--{option}", threshold)
    expect(run(damier, 2, "verify", x, x, folder / "r.h5", "-q").rstrip().endswith("PASS"), "not right")
    with h5py.File(folder / "r.h5") as file:
        line = int(np.argmax(np.diff(file["c/indptr"][:])))
        first = file["c/indices"][file["c/indptr"][line]]
    absent = min(set(range(M)) - {line, *order[line][:25]})
    wrong_ones(folder, damier, [x, x], [(drop(line), 1), (insert(line, absent if absent < first else -1, values.flat[0]), 1),
                                        (put("data", 7, lambda a: a["data"][7] * (1 - 1e-9)), 1)])


def nothing_beyond(folder, damier):
    words, _ = operands(folder, "f8")
    run(damier, 1, "multiply", *words, "-o", folder / "r.h5", "--above", 1e9, "-q")
    expect(run(damier, 1, "verify", *words, folder / "r.h5", "-q").rstrip().endswith("PASS"), "not right")


def number(folder, damier, what, each):
    words, c = operands(folder, "f4", nan=what in ("max", "argmin", "count"))
    run(damier, 2, "multiply", *words, "-o", folder / "r.h5", "--reduce", what, "--each", each, "-q")
    out = run(damier, 2, "verify", *words, folder / "r.h5", "-q")
    expect(out.rstrip().endswith("PASS"), out)
    whole = what in ("argmax", "argmin", "count")
    other = put(what, 2, lambda x: (x[what][2] + 1) % min(c.shape) if whole else x[what][2] + 0.01)
    wrong_ones(folder, damier, words, [(other, 1), (lambda x: x.update({what: x[what][:-1]}), 3)][:2 if what == "max" else 1])


def nonfinite(folder, damier):
    """NaN is missing where it must be, Inf is kept, and neither in the other's place."""
    words, c = operands(folder, "f8", nan=True)
    run(damier, 1, "multiply", *words, "-o", folder / "r.h5", "--top", 4, "-q")
    expect(run(damier, 2, "verify", *words, folder / "r.h5", "-q").rstrip().endswith("PASS"), "not right")
    expect(np.isnan(c[3]).all() and np.isinf(c[7]).any(), "another case is needed")
    wrong_ones(folder, damier, words, [(lambda x: (put("values", (3, 0), 1.0)(x), put("indices", (3, 0), 2)(x)), 1),
                                       (put("values", (7, 0), 5.0), 1), (put("values", (9, 0), np.inf), 1),
                                       (put("indices", (8, 3), 6), 1)])


def other_products(folder, damier):
    """Another A, another shape, other attributes, a file that is cut off, a result alone."""
    words, _ = operands(folder, "f8")
    run(damier, 1, "gram", words[0], "-o", folder / "r.h5", "--top", 4, "--no-self", "-q")
    gram = [words[0], words[0]]
    run(damier, 1, "verify", *gram, folder / "r.h5", "-q")
    run(damier, 1, "verify", *gram, folder / "r.h5:/c", "-q")
    wrong_ones(folder, damier, gram, [(lambda x: x["indices"].__setitem__((4, 3), 4), 1)])  # the diagonal
    with h5py.File(folder / "x.h5", "a") as file:
        file["a"][3, 5] += 0.5
        file["d"] = file["a"][:, :-1]
    run(damier, 1, "verify", *gram, folder / "r.h5", "-q", expect=1)
    run(damier, 1, "verify", f"{folder}/x.h5:/d", f"{folder}/x.h5:/d", folder / "r.h5", "-q", expect=3)
    run(damier, 1, "verify", words[0], folder / "r.h5", "-q", expect=2)
    run(damier, 1, "verify", folder / "r.h5", "-q", expect=3)
    words = words[:1]
    run(damier, 1, "cov", *words, "-o", folder / "r.h5", "--above", 0.1, "-q", "--force")
    for name, text, code in (("above", "0.2", 1), ("above", "x", 3), ("each", "column", 0), ("reduce", "max", 3), ("above", None, 3),
                             ("missing", "pairwise", 2), ("op_a", "n", 3)):
        changed = attack(folder, "changed", lambda x: None)
        with h5py.File(changed, "a") as file:
            if text:
                file["c"].attrs[name] = text
            else:
                del file["c"].attrs[name]
        run(damier, 1, "verify", *words, *words, changed, "-q", expect=code)
    with open(folder / "r.h5", "r+b") as file:
        file.truncate(1000)
    run(damier, 1, "verify", *words, *words, folder / "r.h5", "-q", expect=3)


def sampled(folder, damier):
    """Of many lines some are computed again: the same ones with the same seed, all with --full."""
    rng = np.random.default_rng(1)
    np.save(folder / "a.npy", rng.normal(size=(200, 4000)).astype("f4"))
    np.save(folder / "b.npy", rng.normal(size=(4000, 4600)).astype("f4"))
    words = [folder / "a.npy", folder / "b.npy"]
    run(damier, 1, "multiply", *words, "-o", folder / "r.h5", "--top", 3, "-q")
    out = run(damier, 1, "verify", *words, folder / "r.h5", "-q")
    expect(" lines=64 " in out and " seed=0x" in out, out)
    wrong = attack(folder, "wrong", lambda x: put("values", (slice(0, 200, 4), 1), 0)(x))
    out = run(damier, 2, "verify", *words, wrong, "-q", expect=1)
    seed = out.split(" seed=")[1].split()[0]
    again = run(damier, 1, "verify", *words, wrong, "-q", "--verify-seed", seed, expect=1)
    expect(f" seed={seed} " in again, again)
    one = attack(folder, "one", lambda x: put("values", (77, 0), lambda y: y["values"][77, 0] + 5)(x))
    out = run(damier, 2, "verify", *words, one, "-q", "--full", expect=1)
    expect(" lines=200 " in out, out)


chosen = options()
run_cases(chosen.damier, [(top, *case) for case in (("f8", "row"), ("f4", "column"), ("i1", "row"))]
          + [(beyond, *case) for case in (("f8", "above"), ("f4", "below"), ("i1", "above"))]
          + [(number, what, each) for what, each in (("max", "row"), ("min", "column"), ("argmax", "column"), ("argmin", "row"),
                                                     ("sum", "row"), ("mean", "column"), ("norm", "row"), ("count", "row"),
                                                     ("diagonal", "row"))]
          + [(of_metric, words) for words in ("gram --metric cosine", "gram --metric euclidean", "gram --metric rbf:0.05", "cor")]
          + [(nothing_beyond,), (nonfinite,), (other_products,), (sampled,)])
