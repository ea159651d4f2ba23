"""Products that are stated before they are computed: ``damier.open(...) @ damier.open(...)``."""
from __future__ import annotations

import math
import numbers
from collections.abc import Iterator
from typing import Any

from . import _spelling
from ._errors import UsageError


class Expression:
    """A matrix in a file, or a product of such matrices and arrays, that nothing has computed yet.

    ``@`` multiplies, ``*`` scales, ``.T`` and ``.H`` transpose, and ``+`` adds a matrix to a product."""

    __array_ufunc__ = None  # NumPy's operators leave the work to those of this class

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """Not of a matrix in a file, which NumPy would read as a whole, or take for an object."""
        raise UsageError(f"{self!r} is in a file", hint="compute() makes an array of it; damier multiplies it without")

    def __matmul__(self, other: Any) -> Product:
        return Product(self, other)

    def __rmatmul__(self, other: Any) -> Product:
        return Product(other, self)

    def __mul__(self, factor: Any) -> Any:
        return Scaled(self, factor) if isinstance(factor, numbers.Number) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Any:
        return self * (1 / divisor)

    def __neg__(self) -> Any:
        return self * -1

    def _added(self, product: Any, factor: int) -> Any:
        """FACTOR times PRODUCT, and this matrix."""
        if isinstance(product, Product):
            return product * factor + self
        raise UsageError(f"{self!r} is only added to a product", hint="compute() makes an array of it")

    def __add__(self, product: Any) -> Any:
        return self._added(product, 1)

    def __sub__(self, product: Any) -> Any:
        return self._added(product, -1)

    def __radd__(self, other: Any) -> Any:
        return self._added(other, 1)

    def __rsub__(self, other: Any) -> Any:
        return self._added(other, -1)

    def dot(self, other: Any) -> Product:
        """``self @ other``."""
        return Product(self, other)

    def transpose(self) -> Any:
        """``self.T``."""
        return self.T

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._extents())

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self._extents())

    def __len__(self) -> int:
        return int(self._extents()[0])

    def __iter__(self) -> Iterator[Any]:
        """Its rows, which are expressions, too."""
        item: Any = self
        return (item[i] for i in range(len(self)))

    def __getattr__(self, name: str) -> Any:
        raise _spelling.unknown_attribute(self, name)

    def _extents(self) -> tuple[int, ...]:
        extents: tuple[int, ...] = getattr(self, "shape")
        return extents

    @property
    def T(self) -> Any:  # pylint: disable=invalid-name
        """Transposed."""
        return Transposed(self._matrix(), "t")

    @property
    def H(self) -> Any:  # pylint: disable=invalid-name
        """Transposed and conjugated."""
        return Transposed(self._matrix(), "c")

    def _matrix(self) -> Expression:
        """Itself, as ``.T`` of NumPy turns all dimensions of a batch, not its matrices."""
        if self.ndim > 2:
            raise UsageError(f"{self!r} has {self.ndim} dimensions, and is not transposed", hint="op_a='t' and op_b='t' of damier.matmul transpose the matrices of a batch")
        return self


class Scaled(Expression):
    """A matrix times a number, which a product takes over."""

    def __init__(self, of: Any, factor: Any) -> None:
        self.of, self.factor = of, factor

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return tuple(self.of.shape)

    def __mul__(self, factor: Any) -> Any:
        return Scaled(self.of, self.factor * factor) if isinstance(factor, numbers.Number) else NotImplemented

    __rmul__ = __mul__

    @property
    def T(self) -> Any:
        return Scaled(self.of.T, self.factor)

    @property
    def H(self) -> Any:
        return Scaled(self.of.H, self.factor.conjugate())

    def __getitem__(self, key: Any) -> Any:
        return Scaled(self.of[key], self.factor)

    def compute(self, **options: Any) -> Any:
        """The numbers as an array."""
        return self.factor * self.of.compute(**options)

    def __repr__(self) -> str:
        return f"{self.factor!r} * {self.of!r}"


class Transposed(Expression):
    """A transposed matrix, or a conjugated one."""

    def __init__(self, of: Any, op: str) -> None:
        self.of = of
        self.op = op

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return tuple(self.of.shape[::-1])

    @property
    def T(self) -> Any:
        if self.op != "t":
            raise UsageError("a conjugated matrix is not transposed again", hint=".H of it is the matrix")
        return self.of

    @property
    def H(self) -> Any:
        if self.op != "c":
            raise UsageError("a transposed matrix is not conjugated", hint=".T of it is the matrix; .H of the matrix is conjugated")
        return self.of

    def __getitem__(self, key: Any) -> Any:
        rows, cols = key if isinstance(key, tuple) and len(key) == 2 else (key, slice(None))
        return Transposed(self.of[cols, rows], self.op)

    def compute(self, **options: Any) -> Any:
        """The numbers as an array."""
        found = self.of.compute(**options).T
        return found if self.op == "t" else found.conj()

    def __repr__(self) -> str:
        return f"{self.of!r}.{'T' if self.op == 't' else 'H'}"


class Product(Expression):
    """A product that :meth:`compute` or :func:`damier.save` computes: alpha op(A) op(B) + beta C."""

    def __init__(self, a: Any, b: Any, alpha: Any = 1, c: Any = None, beta: Any = 1) -> None:
        for scaled in (a, b):
            alpha = alpha * scaled.factor if isinstance(scaled, Scaled) else alpha
        a, b = (x.of if isinstance(x, Scaled) else x for x in (a, b))
        self.a, self.b, self.alpha, self.c, self.beta = a, b, alpha, c, beta
        shapes = [tuple(getattr(x, "shape", ())) for x in (a, b)]
        if all(len(shape) == 2 for shape in shapes) and shapes[0][1] != shapes[1][0]:
            raise UsageError(f"{' @ '.join(' x '.join(map(str, shape)) for shape in shapes)}: the inner dimensions differ")

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns; of a vector's product a dimension less."""
        return (*self.a.shape[:-1], *self.b.shape[1:])

    # ---- algebra ----

    def __mul__(self, factor: Any) -> Any:
        if not isinstance(factor, numbers.Number):
            return NotImplemented
        return Product(self.a, self.b, self.alpha * factor, self.c, self.beta * factor)

    __rmul__ = __mul__

    def _plus(self, c: Any, sign: int) -> Product:
        if isinstance(c, (Transposed, Scaled)):
            raise UsageError(f"{c!r} is not added to a product", hint="an array, a matrix in a file as it is, and a product are")
        if self.c is None:
            return Product(self.a, self.b, self.alpha, c, sign)
        if isinstance(c, Product) and c.c is None:
            return Product(self.a, self.b, self.alpha, Product(c.a, c.b, sign * c.alpha, self.c, self.beta))
        if isinstance(self.c, Product):
            return Product(self.a, self.b, self.alpha, (self.c * self.beta)._plus(c, sign))
        raise UsageError("one matrix is added to a product, in a file or in memory", hint="compute() makes an array of a product")

    def __add__(self, c: Any) -> Product:
        return self._plus(c, 1)

    __radd__ = __add__

    def __sub__(self, c: Any) -> Product:
        return self._plus(c, -1)

    def __rsub__(self, c: Any) -> Product:
        negative: Product = self * -1
        return negative._plus(c, 1)

    @property
    def T(self) -> Product:
        return self._turned("T")

    @property
    def H(self) -> Product:
        return self._turned("H")

    def __getitem__(self, key: Any) -> Product:
        """Some rows and columns, of which alone the product is computed."""
        rows, cols = key if isinstance(key, tuple) and len(key) == 2 else (key, slice(None))
        if len(self.shape) != 2 or rows is Ellipsis or cols is Ellipsis or getattr(self.c, "ndim", 2) != 2:
            raise UsageError(f"of {self!r} no part is taken", hint="compute() makes an array of it")
        added = self.c
        if added is not None:
            added = added[rows, cols] if isinstance(added, Product) else added[rows, :][..., cols]
        return Product(self.a[rows, :], self.b[:, cols], self.alpha, added, self.beta)

    def _turned(self, how: str) -> Product:
        if self.c is not None:
            raise UsageError("a product with a matrix that is added is not transposed", hint="compute() makes an array of it")
        alpha = self.alpha.conjugate() if how == "H" else self.alpha
        return Product(_turned(self.b, how), _turned(self.a, how), alpha)

    def __repr__(self) -> str:
        scaled = "" if self.alpha == 1 else f"{self.alpha!r} * "
        added = "" if self.c is None else f" {'+' if self.beta == 1 else '-' if self.beta == -1 else f'+ {self.beta!r} *'} {_named(self.c)}"
        return f"{scaled}({_named(self.a)} @ {_named(self.b)}){added}"

    # ---- work ----

    def operands(self) -> tuple[Any, Any, dict[str, str]]:
        """A and B, and options with their ops."""
        a, b = _factor(self.a), _factor(self.b)
        return a[0], b[0], _ops_of(a, b)

    def compute(self, **options: Any) -> Any:
        """The product as an array; ``options`` are those of :func:`damier.matmul`."""
        return self._done(None, options)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        found = self.compute()
        return found if dtype is None else found.astype(dtype)

    def _done(self, output: Any, options: dict[str, Any]) -> Any:
        """The array, or, if OUTPUT names a file, the record."""
        from . import gram, matmul

        _check_stated(options, ("op_a", "op_b", "c", "beta", *(("alpha",) if self.alpha != 1 else ())), repr(self))
        options = {key: value for key, value in options.items() if key not in ("op_a", "op_b", "c", "beta")}
        a, b = _factor(self.a), _factor(self.b)
        words: dict[str, Any] = ({} if self.alpha == 1 else {"alpha": self.alpha}) | options
        of = _of_itself(a, b) if self.c is None and self.alpha.imag == 0 else None
        if of is not None:
            return gram(a[0], output, of=of, **words)
        c = self.c.compute() if isinstance(self.c, Product) or (output is None and isinstance(self.c, Expression)) else self.c
        words = ({} if c is None else {"c": c, "beta": self.beta}) | words
        words = _ops_of(a, b) | words
        return matmul(a[0], b[0], output, **words)


def _turned(factor: Any, how: str) -> Any:
    if isinstance(factor, Expression):
        return getattr(factor, how)
    return factor.T if how == "T" else factor.conj().T


def _named(factor: Any) -> str:
    if isinstance(factor, Expression):
        return repr(factor)
    return f"<{type(factor).__name__} {' x '.join(map(str, getattr(factor, 'shape', ())))}>"


def _factor(factor: Any) -> tuple[Any, str]:
    """What is multiplied, an array or a matrix in a file, and its op; a product is computed."""
    if isinstance(factor, Transposed):
        return factor.of, factor.op
    return (factor.compute() if isinstance(factor, Product) else factor), "n"


def _ops_of(a: tuple[Any, str], b: tuple[Any, str]) -> dict[str, str]:
    return {f"op_{name}": op for name, (_, op) in zip("ab", (a, b)) if op != "n"}


def _of_itself(a: tuple[Any, str], b: tuple[Any, str]) -> str | None:
    """The lines of a matrix, if the product is that of these with each other: half of the work is enough."""
    (x, op_a), (y, op_b) = a, b
    same = x is y or (isinstance(x, Expression) and isinstance(y, Expression) and repr(x) == repr(y))
    ops = {op_a, op_b}
    if not same or len(ops) != 2 or "n" not in ops or ("t" in ops and str(getattr(x, "dtype", "c"))[0] == "c"):
        return None
    return "columns" if op_a != "n" else "rows"


def product_of(a: Any, b: Any, c: Any, options: Any) -> Product | None:
    """The product of A and B, of which one is no matrix in a file or in memory; None: both are."""
    if not any(isinstance(x, (Product, Transposed, Scaled)) for x in (a, b)):
        return None
    _check_stated(options, ("op_a", "op_b"), f"{_named(a)} @ {_named(b)}")
    beta = options.get("beta")
    return Product(a, b, 1, c, 1 if beta is None else beta)


def _check_stated(options: Any, names: tuple[str, ...], expression: str) -> None:
    given = {key: options.get(key) for key in names}
    stated = [key for key, value in given.items() if value is not None and not (isinstance(value, str) and value == "n")]
    if stated:
        raise UsageError(f"{stated[0]} is a part of the expression {expression}", hint=".T and .H transpose, * scales, + adds a matrix")


def save(product: Any, output: Any, **options: Any) -> Any:
    """Computes a product of :func:`damier.open`, or reads a part of a matrix, and writes it to ``output``, a location as of
    :func:`damier.multiply`; returns the record.

    >>> np.save("A.npy", np.arange(6.0).reshape(2, 3))
    >>> a = damier.open("A.npy")
    >>> damier.save(2 * (a @ a.T), "S.npy").verification.verdict
    'PASS'
    >>> np.load("S.npy")
    array([[ 10.,  28.],
           [ 28., 100.]])
    """
    if not isinstance(product, Expression) or not hasattr(type(product), "_done"):
        raise UsageError(f"{type(product).__name__} is not a product of damier.open()",
                         hint="damier.save(x, output) writes it without .T and factors" if isinstance(product, Expression) else "numpy.save and h5py write arrays")
    return product._done(output, options)
