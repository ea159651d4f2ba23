"""Numbers of options that the library takes from memory."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import UsageError
from ._gradients import detached, refuse
from ._meaning import check_meaning
from ._stored import Stored

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NAMES = ("weights", "center_a", "center_b", "scale_a", "scale_b")


@dataclass
class Vector:
    """Numbers of an option: of terms, or of the columns or rows of a matrix."""

    given: Any
    of_rows: bool = False

    def numbers(self, name: str) -> NDArray[np.float64]:
        check_meaning(self.given, name)
        refuse(f"a product with {name} of a tensor", self.given)
        given = detached(self.given)
        if hasattr(given, "__cuda_array_interface__"):  # few numbers, which the host needs
            given = given.cpu() if hasattr(given, "cpu") else given.get()
        found = np.asarray(given)
        if found.dtype.kind not in "biuf" and found.dtype.name != "bfloat16":
            raise UsageError(f"{name} has elements of {found.dtype}; they must be real numbers")
        if found.ndim == 0 or found.size != max(found.shape):
            raise UsageError(f"{name} is {' x '.join(map(str, found.shape)) or 'a single number'}, not a vector")
        return np.ascontiguousarray(found, np.float64).reshape(-1)


def _vector_of(key: str, value: Any) -> Vector | None:
    """None: VALUE is a text, or none."""
    if value is None or isinstance(value, (str, bool, np.bool_, Stored)) or hasattr(value, "__fspath__"):
        return None
    lines = value[0] if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) else None
    if lines is None or key == "weights":
        return Vector(value)
    return Vector(value[1], lines == "rows") if lines in ("columns", "rows") else None


def split(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Vector]]:
    """OPTIONS with texts, and those whose numbers are in memory: ``weights``; ``center_a=x``, of columns, ``("rows", x)``, ..."""
    if not options:
        return {}, {}
    found = {key: _vector_of(key, options[key]) for key in _NAMES if key in options}
    vectors = {key: vector for key, vector in found.items() if vector is not None}
    plain = {key: value.location if isinstance(value, Stored) else value for key, value in options.items() if key not in vectors}
    return plain, vectors
