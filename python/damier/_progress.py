"""``progress=True``: a bar of tqdm or rich, where they are installed, else a line."""
from __future__ import annotations

import importlib
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

Progress = Callable[[int, int], Any]

_PAUSE_S = 30.0  # between lines that are no bar
_one_at_a_time = threading.Lock()  # catch_warnings() changes what all threads have


class _Line:
    """A line that is replaced on a terminal; elsewhere one now and then."""

    def __init__(self) -> None:
        self._bar = sys.stderr.isatty()
        self._last = time.monotonic() if not self._bar else 0.0
        self._written = False

    def show(self, percent: float) -> None:
        now = time.monotonic()
        if now - self._last < (0.2 if self._bar else _PAUSE_S):
            return
        self._last, self._written = now, True
        print(f"{chr(13) if self._bar else ''}damier: {percent:3.0f} %", end="" if self._bar else "\n", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._bar and self._written:
            print(file=sys.stderr)


class _Tqdm:
    def __init__(self, tqdm: Any) -> None:
        self._bar = tqdm(total=100.0, desc="damier", leave=False, bar_format="{desc}: {percentage:3.0f} %|{bar}| {elapsed}<{remaining}")

    def show(self, percent: float) -> None:
        self._bar.update(percent - self._bar.n)

    def close(self) -> None:
        self._bar.close()


class _Rich:
    def __init__(self, progress: Any) -> None:
        self._bar = progress(transient=True)
        self._bar.start()
        self._task = self._bar.add_task("damier", total=100.0)

    def show(self, percent: float) -> None:
        self._bar.update(self._task, completed=percent)

    def close(self) -> None:
        self._bar.stop()


def _new_bar() -> Any:
    try:
        with _one_at_a_time, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tqdm warns where a notebook has no widgets
            tqdm = importlib.import_module("tqdm.auto").tqdm
        return _Tqdm(tqdm)
    except ImportError:
        pass
    try:
        return _Rich(importlib.import_module("rich.progress").Progress)
    except ImportError:
        return _Line()


class Bar:
    """A progress function that shows a bar from its first call until :meth:`close`."""

    def __init__(self) -> None:
        self._shown: Any = None

    def __call__(self, done: int, total: int) -> None:
        if self._shown is None:
            self._shown = _new_bar()
        self._shown.show(100.0 * done / total if total > 0 else 0.0)

    def close(self) -> None:
        """The call has ended."""
        shown, self._shown = self._shown, None
        if shown is not None:
            shown.close()


def progress_of(asked: Progress | bool | None, rank: int) -> Progress | None:
    """The function that ASKED states: itself, or for True a bar on rank 0."""
    if asked is True:
        return Bar() if rank == 0 else None
    return asked or None
