"""Every product several times with the same options, compared with NumPy: the same arrays with new contents, new arrays of the
same kind, arrays of other strides, and the first kind again.  What an earlier call found out must never be applied to others.

Usage: three_times.py [numpy|torch|cupy|emulated] [--seconds S] [--seed N]; with mpirun and --ranks rows are divided over the ranks,
which also make calls that are wrong on one of them: all raise, and none waits."""
import argparse
import faulthandler
import signal
import sys
import time

import damier
import numpy as np
from laid_out import Layout, opened

EXTENTS = (1, 2, 3, 5, 8, 17, 33)
RESULTS = {"i1": "i4", "f2": "f4"}


class Held:
    """One array: its layout, its block, and the array as the package has it."""

    def __init__(self, package, layout, values):
        self.package, self.layout = package, layout
        self.block = layout.filled(values)
        self.array, self.memory = package.array(layout, self.block.copy())

    def renew(self, values):
        self.block = self.layout.filled(values)
        self.package.write(self.memory, self.block)

    def values(self):
        return self.layout.of(self.block)

    def check(self, values=None):
        """That it holds VALUES, or what it did, and nothing around it has changed."""
        if values is not None:
            self.layout.of(self.block)[...] = values
        np.testing.assert_array_equal(self.package.read(self.memory), self.block)


def numbers(rng, shape, dtype, repeats=()):
    """Small whole numbers, of which products are exact in every type; the same along REPEATS."""
    extents = [1 if axis in repeats else n for axis, n in enumerate(shape)]
    x = rng.integers(-4, 5, extents).astype("f8")
    x = x + 1j * rng.integers(-4, 5, extents) if np.dtype(dtype).kind == "c" else x
    return np.broadcast_to(x, shape).astype(dtype)


def typed(rng, value):
    """VALUE as a number of another type of Python."""
    kinds = (int, float, np.int64, np.float64, np.float32, str) if value == int(value) else (float, np.float64, np.float32)
    return kinds[int(rng.integers(len(kinds)))](value)


class Product:
    """What is drawn for one product; every call has arrays of its own."""

    def __init__(self, rng, package, comm=None):
        self.rng, self.package, self.comm = rng, package, comm
        self.alpha = int(rng.choice([1, 2, -1]))
        self.words = {"verify": False} if rng.random() < 0.2 else {}
        self.dtype = str(rng.choice(["f8", "f4", "c16", "c8", "i1", "f2"] if comm is None else ["f8", "f4", "c16"]))
        self.wide = "c16" if self.dtype in ("c8", "c16") else "f8"
        self.draw()

    def options(self):
        """The same values, as other types."""
        return self.words | {"alpha": typed(self.rng, self.alpha)}

    def layout(self, shape, repeats=()):
        return Layout(self.rng, shape, repeats, self.package.negative, self.rng.random() < 0.2)

    def held(self, shape, layout=None, repeats=(), dtype=None):
        layout = layout or self.layout(shape, repeats)
        return Held(self.package, layout, numbers(self.rng, shape, dtype or self.dtype, layout.repeats))

    def check(self, made, wanted, out):
        if out is not None:
            assert made is out.array
            out.check(wanted)
        else:
            np.testing.assert_array_equal(self.package.values(made), wanted)


class Matmul(Product):
    def draw(self):
        m, n, k = (int(self.rng.choice(EXTENTS)) for _ in range(3))
        leads = tuple(int(x) for x in self.rng.choice([1, 2, 3, 4], int(self.rng.integers(0, 3))))
        kept = [leads[int(self.rng.integers(len(leads) + 1)) if self.rng.random() < 0.3 else 0:] for _ in range(2)]
        self.shapes = [(*kept[0], m, k), (*kept[1], k, n)]
        self.repeats = [[axis for axis in range(len(s) - 2) if self.rng.random() < 0.2] for s in self.shapes]
        self.way = str(self.rng.choice(["made", "out", "beta", "c"]))
        self.of_c = (*np.broadcast_shapes(*kept), m, n)
        if self.way == "beta":
            self.words["beta"] = 2

    def layouts(self):
        return [self.layout(s, r) for s, r in zip(self.shapes, self.repeats)] + [self.layout(self.of_c)]

    def arrays(self, layouts):
        of_c = RESULTS.get(self.dtype, self.dtype)
        return [*(self.held(s, layout) for s, layout in zip(self.shapes, layouts)), self.held(self.of_c, layouts[2], dtype=of_c)]

    def call(self, arrays, context):
        a, b, c = arrays
        wanted = self.alpha * np.matmul(a.values().astype(self.wide), b.values().astype(self.wide))
        out = c if self.way in ("out", "beta") else None
        if self.way == "beta":
            wanted = wanted + 2 * c.values().astype(self.wide)
        if self.way == "c":
            wanted = wanted + c.values().astype(self.wide)
        words = {"c": c.array} if self.way == "c" else {}
        given = (a.array, b.array, out and out.array)
        made = context.matmul(*given, **words) if context else damier.matmul(*given, **words, **self.options())
        self.check(made, wanted.astype(RESULTS.get(self.dtype, self.dtype)), out)
        for x in (a, b) if out else arrays:
            x.check()


class Symmetric(Product):
    """gram, cov and cor."""

    def draw(self):
        self.dtype = "f8" if self.dtype in ("i1", "f2", "c8") else self.dtype
        self.name = str(self.rng.choice(["gram", "cov", "cor"]))
        self.of = str(self.rng.choice(["columns", "rows"]))
        self.shape = [int(self.rng.integers(3, 40)), int(self.rng.integers(1, 12))]
        self.shape = self.shape[::-1] if self.of == "rows" else self.shape
        n = self.shape[1 if self.of == "columns" else 0]
        self.of_c, self.writes = (n, n), self.rng.random() < 0.5
        self.weighs = self.name == "cov" and self.rng.random() < 0.5

    def layouts(self):
        return [self.layout(self.shape), self.layout(self.of_c)]

    def arrays(self, layouts):
        return [self.held(self.shape, layouts[0]), self.held(self.of_c, layouts[1])]

    def wanted(self, x, weights):
        x = (x if self.of == "columns" else x.T.conj() if self.name == "gram" else x.T).astype(self.wide)
        if self.name == "gram":
            return self.alpha * (x.conj().T @ x)
        with np.errstate(all="ignore"):
            found = np.cov(x, rowvar=False, aweights=weights).reshape(self.of_c).conj()
            scale = np.sqrt(np.diag(found).real)
            found = found / np.outer(scale, scale) if self.name == "cor" else found
        return self.alpha * (found if self.of == "columns" else found.conj())

    def call(self, arrays, context):
        x, c = arrays
        terms = self.shape[0 if self.of == "columns" else 1]
        weights = self.rng.integers(1, 5, terms).astype("f8") if self.weighs else None
        words = self.options() | ({} if weights is None else {"weights": weights})
        out = c if self.writes else None
        made = getattr(damier, self.name)(x.array, out=out and out.array, of=self.of, **words)
        wanted, got = self.wanted(x.values(), weights), self.package.values(made) if out is None else None
        if out is not None:
            assert made is out.array
            got = out.layout.of(self.package.read(out.memory)).copy()
            out.check(got)
        np.testing.assert_allclose(got, wanted, rtol=0, atol=(1e-3 if self.dtype == "f4" else 1e-10) * max(1, np.nanmax(np.abs(wanted), initial=0)))
        x.check()


class Divided(Product):
    """Rows on several ranks, each with arrays that lie as it likes."""

    def draw(self):
        ranks, rank = self.comm.Get_size(), self.comm.Get_rank()
        m, self.n, k = (int(self.rng.integers(1, 30)) for _ in range(3))
        self.name = str(self.rng.choice(["matmul", "gram", "cov"]))
        self.writes, self.weighs = self.rng.random() < 0.5, self.rng.random() < 0.5
        self.m, self.k = max(m, 3), k
        cut = lambda count: (count * rank // ranks, count * (rank + 1) // ranks)
        self.rows = {count: cut(count) for count in (self.m, self.n, self.k)}
        self.own = np.random.default_rng((int(self.rng.integers(1 << 30)), rank))

    def layouts(self):
        shapes = [(self.m, self.k), (self.k, self.n)] if self.name == "matmul" else [(self.m, self.n)]
        of_c = (self.m if self.name == "matmul" else self.n, self.n)
        mine = [(self.rows[s[0]][1] - self.rows[s[0]][0], s[1]) for s in [*shapes, of_c]]
        self.whole = [*shapes, of_c]
        return [Layout(self.own, shape, negative=self.package.negative) for shape in mine]

    def mine(self, x):
        return x[slice(*self.rows[len(x)])]

    def arrays(self, layouts):
        self.all = [numbers(self.rng, shape, self.dtype) for shape in self.whole]
        return [Held(self.package, layout, self.mine(x)) for layout, x in zip(layouts, self.all)]

    def renew(self, arrays):
        self.all = [numbers(self.rng, shape, self.dtype) for shape in self.whole]
        for held, x in zip(arrays, self.all):
            held.renew(self.mine(x))

    def call(self, arrays, context):
        *given, c = arrays
        of_all = [x.astype(self.wide) for x in self.all[:-1]]
        weights = self.rng.integers(1, 5, self.m).astype("f8")
        words = self.words | {"alpha": typed(self.own, self.alpha)}  # other types on other ranks
        words |= {"weights": weights} if self.name == "cov" and self.weighs else {}
        out = c.array if self.writes else None
        made = getattr(damier, self.name)(*(x.array for x in given), out=out, comm=self.comm, **words)
        if self.name == "matmul":
            wanted = of_all[0] @ of_all[1]
        elif self.name == "gram":
            wanted = of_all[0].conj().T @ of_all[0]
        else:
            wanted = np.cov(of_all[0], rowvar=False, aweights=weights if self.weighs else None).reshape(self.n, self.n).conj()
        got = self.package.values(made) if out is None else c.layout.of(self.package.read(c.memory)).copy()
        scale = max(1, np.abs(wanted).max(initial=0))
        np.testing.assert_allclose(got, self.mine(self.alpha * wanted), rtol=0, atol=(1e-4 if self.dtype == "f4" else 1e-10) * scale)
        if self.writes:
            c.check(got)
        for x in given:
            x.check()

    def wrong(self):
        """The same call, wrong on one rank: all raise; then it is right again."""
        arrays = self.arrays(self.layouts())
        odd = self.comm.Get_rank() == int(self.rng.integers(self.comm.Get_size()))
        x = arrays[0].array
        words, which = self.words | {"alpha": self.alpha}, int(self.rng.integers(9))
        wrongs = [{"alpha": self.alpha + 3}, {"gird": 1}, {"alpha": "z"}, {"weights": "missing.npy"}, {"weights": np.ones((2, 2))},
                  {"threads": 1}, {"of": "diagonal"}]
        words |= wrongs[which] if odd and which < len(wrongs) else {}
        x = ("missing.h5:/x" if which == 7 else [["a"]]) if odd and which >= len(wrongs) else x
        try:
            damier.gram(x, None, self.comm, **words)
        except damier.UsageError:
            code = 2
        else:
            code = 0
        assert self.comm.allgather(code) == [2] * self.comm.Get_size(), (which, code)


def renew(product, arrays):
    if hasattr(product, "renew"):
        product.renew(arrays)
        return
    for held in arrays:
        held.renew(numbers(product.rng, held.layout.shape, held.block.dtype, held.layout.repeats))


def several_times(product):
    """One Context, or the functions of the package, which keep theirs."""
    own = isinstance(product, Matmul) and product.rng.random() < 0.3
    context = damier.Context(**product.options()) if own else None
    first = product.layouts()
    arrays = product.arrays(first)
    product.call(arrays, context)
    for _ in range(2):
        renew(product, arrays)
        product.call(arrays, context)
    for layouts in (first, product.layouts(), first):
        product.call(product.arrays(layouts), context)
    if context:
        context.close()


def main():
    faulthandler.enable()
    parser = argparse.ArgumentParser()
    parser.add_argument("package", nargs="?", default="numpy")
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", action="store_true")
    words = parser.parse_args()
    comm = None
    if words.ranks:
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        try:
            damier.Context(comm).close()
        except damier.MPIError as error:  # not mpi4py's MPI
            print(error)
            sys.exit(77)
    package = opened(words.package)
    signal.alarm(int(words.seconds) + 60)  # ends a test that hangs
    end, done, seed = time.monotonic() + words.seconds, 0, words.seed
    going = True
    while going:
        rng = np.random.default_rng(seed)
        kind = Divided if comm is not None else Matmul if rng.random() < 0.7 else Symmetric
        try:
            product = kind(rng, package, comm)
            several_times(product)
            if comm is not None:
                product.wrong()
        except BaseException:
            print(f"seed {seed}: {kind.__name__} {({k: v for k, v in vars(product).items() if k not in ('all', 'rng', 'own')})}", flush=True)
            if comm is not None:
                import traceback
                traceback.print_exc()
                comm.Abort(1)
            raise
        done, seed = done + 1, seed + 1
        going = time.monotonic() < end
        if comm is not None:
            going = comm.bcast(going)
    if comm is None or comm.Get_rank() == 0:
        print(f"{done} products of {words.package}, six times each: as NumPy's")


if __name__ == "__main__":
    main()
