"""Parts of matrices in files, as ``[...]`` states them: what a location says about the lines of each dimension."""
from __future__ import annotations

import atexit
import io
import os
from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from ._errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Lines = Union[int, range, "NDArray[Any]"]  # of a dimension; a number drops it

_LISTED = 100  # numbers of a list that a location holds in place
_folder = ("", 0)  # of files with longer lists and masks, and the process that removes it


def _in_file(name: str, content: bytes) -> str:
    """A file with CONTENT, which this process removes at its end."""
    import hashlib  # of few programs
    import tempfile

    global _folder
    if _folder[1] != os.getpid():
        _folder = tempfile.mkdtemp(prefix="damier-"), os.getpid()
        atexit.register(_remove, *_folder)
    path = os.path.join(_folder[0], f"{hashlib.blake2b(content, digest_size=8).hexdigest()}-{name}")
    if not os.path.exists(path):
        with open(path, "wb") as file:
            file.write(content)
    return path


def _remove(folder: str, process: int) -> None:
    import shutil

    if process == os.getpid():  # not a forked one, which has this from its parent
        shutil.rmtree(folder, ignore_errors=True)


def location_of_list(locations: Sequence[Any]) -> str:
    """The location of a stack of LOCATIONS."""
    names = [os.path.abspath(os.fspath(one)) if os.path.exists(os.fspath(one)) else os.fspath(one) for one in locations]
    if any("\n" in name for name in names):
        raise UsageError("a location in a list has a line break")
    return "@" + _in_file("list.txt", "".join(f"{name}\n" for name in names).encode(errors="surrogateescape"))


def _text_of_list(listed: NDArray[Any]) -> str:
    if listed.dtype != bool and listed.size <= _LISTED:
        return f"[{', '.join(map(str, listed.tolist()))}]"
    content = io.BytesIO()
    np.save(content, listed if listed.dtype == bool else listed.astype("i8"))
    return "@" + _in_file("rows.npy", content.getvalue())


def text_of(lines: Any) -> str:
    """What a location says in ``[...]`` for LINES: an index, a slice, a list of numbers or a mask."""
    if lines is Ellipsis:
        return "..."
    if isinstance(lines, range):
        step = f":{lines.step}" if lines.step != 1 else ""
        return f"{lines.start}:{lines.stop}{step}" if lines.step > 0 else _text_of_list(np.asarray(lines, "i8"))
    if isinstance(lines, slice):
        ends = ["" if n is None else str(index(n)) for n in (lines.start, lines.stop)]
        return ":".join([*ends, *([] if lines.step is None else [str(index(lines.step))])])
    listed = _list_of(lines)
    return str(index(lines)) if listed is None else _text_of_list(listed)


def _list_of(lines: Any) -> NDArray[Any] | None:
    """LINES as numbers or a mask; None: a single index."""
    try:
        index(lines)
        return None
    except TypeError:
        pass
    listed = np.asarray(lines) if hasattr(lines, "__len__") else np.empty(0)
    if listed.ndim == 1 and listed.size and (listed.dtype == bool or listed.dtype.kind in "iu"):
        return listed
    raise TypeError(f"{type(lines).__name__} is neither a slice, an index, a list of numbers nor a mask of one dimension")


def is_backward(key: Any) -> bool:
    """Whether KEY is a slice whose step is negative."""
    return isinstance(key, slice) and key.step is not None and index(key.step) < 0


def lines_of(key: Any, shape: tuple[int, ...]) -> list[Lines]:
    """The lines that KEY takes of each dimension of SHAPE, by NumPy's rules."""
    keys = list(key) if isinstance(key, tuple) else [key]
    filled = len(shape) - sum(one is not Ellipsis for one in keys)
    at = next((i for i, one in enumerate(keys) if one is Ellipsis), len(keys))
    keys[at:at + 1] = [slice(None)] * filled
    if len(keys) != len(shape):
        raise UsageError(f"{len(keys)} indices of a matrix of {len(shape)} dimensions")
    return [_taken(range(extent), one) for one, extent in zip(keys, shape)]


def _taken(lines: Any, key: Any) -> Lines:
    """Of LINES, a range or a list, those that KEY takes."""
    if isinstance(key, slice):
        found: Lines = lines[key]
        return found
    listed = _list_of(key)
    if listed is None:
        return int(lines[index(key)])
    if listed.dtype == bool and listed.size != len(lines):
        raise UsageError(f"the mask has {listed.size} elements for {len(lines)} lines")
    return np.asarray(np.asarray(lines, "i8")[listed])


def within(outer: list[Lines], key: Any) -> list[Lines]:
    """The lines that KEY takes of a part that has those of OUTER."""
    kept = [lines for lines in outer if not isinstance(lines, int)]
    inner = iter(lines_of(key, tuple(len(lines) for lines in kept)))
    taken: list[Lines] = []
    for lines in outer:
        places = lines if isinstance(lines, int) else next(inner)
        taken.append(lines if isinstance(lines, int) else int(lines[places]) if isinstance(places, int) else
                     np.asarray(lines, "i8")[places] if not isinstance(places, range) or not isinstance(lines, range) else
                     lines[_slice_of(places)])
    return taken


def _slice_of(lines: range) -> slice:
    stop = lines.stop if lines.stop >= 0 else None
    return slice(lines.start, stop, lines.step)
