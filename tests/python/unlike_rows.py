"""Right factors whose columns a sample of rows misjudges: the verification must look at all rows then."""
import numpy as np


def factors():
    """A left factor; and of several right factors: what, the matrix, the number of columns with NaN or Inf, and the product."""
    generator = np.random.default_rng(7)
    a, b = (generator.integers(-3, 4, shape).astype("f8") for shape in ((20, 1200), (1200, 24)))
    every = slice(None)
    changes = {"alike": [], "a column of zeros": [(every, 3, 0)], "one huge row": [(1, every, b[1] * 2.0 ** 200)],
               "a column with one number": [(every, 3, 0), (1, 3, 2)], "NaN": [(1, 3, np.nan)], "Inf": [(2, 3, np.inf), (1, 5, -np.inf)]}
    cases = []
    for what, places in changes.items():
        other = b.copy()
        for row, col, value in places:
            other[row, col] = value
        with np.errstate(invalid="ignore"):
            cases.append((what, other, {"NaN": 1, "Inf": 2}.get(what, 0), a @ other))
    return a, cases


def check(test, verification, spoiled):
    test.assertEqual(verification["cols_by_pattern"], spoiled)
    test.assertEqual((verification["rows_left_out"], verification["cols_left_out"]), (0, 0))
    test.assertEqual(verification["verdict"], "PASS")
