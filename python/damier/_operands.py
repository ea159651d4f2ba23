"""The operands of a context's products: where they are, of what types, whether they fit."""
from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar, Union

import numpy as np

from . import _library as lib
from ._agreement import agree, attempt
from ._arrays import Reading
from ._compiler import uncompiled
from ._errors import UsageError
from ._handle import Handle
from ._matrices import Operand, PartedOperand, Rows, Stated, shown
from ._meaning import check_meaning
from ._numbers import EXACT, common_type, is_whole_type, name_of_whole
from ._options import text_of, type_name
from ._progress import Progress
from ._record import Record
from ._stored import Stored, StoredOperand, location_of, several

Path = Union[str, "os.PathLike[str]"]
Method = TypeVar("Method", bound=Callable[..., Any])


def alone(method: Method) -> Method:
    """Other threads wait meanwhile: what a context keeps for like calls is that of one."""
    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **words: Any) -> Any:
        if self.process != os.getpid():
            self.renew()
        with self.in_use:
            return method(self, *arguments, **words)

    return uncompiled(call)  # type: ignore[return-value]


def name_of(location: Any) -> bytes:
    if isinstance(location, Stored):
        location = location.location
    if not isinstance(location, (str, bytes, os.PathLike)):
        raise UsageError(f"a location in a file is needed, not {type(location).__name__}",
                         hint="numpy.save('NAME.npy', array) makes a file of an array; matmul, gram, cov and cor take arrays")
    name = os.fsencode(location)
    if b"\0" in name:
        raise UsageError(f"the file name {name!r} contains a zero byte")
    return name


class Operands(Handle):
    """Base class of :class:`damier.Context`."""

    def __init__(self, comm: Any, progress: Progress | bool | None, options: Mapping[str, Any]) -> None:
        self._type_c = options.get("type_c")  # of arrays; Handle leaves it to the calls with files
        self._type = options.get("type")
        self._common: str | None = None  # the type that both operands of the present call are promoted to
        self._rounds, self._same_types = (str(options.get(key)).lower() in ("true", "yes", "1", "on")
                                      for key in ("allow_rounding", "strict_types"))
        self._fills = options.get("missing") not in (None, "refuse")
        self._states_lines = any(str(options.get(key)) not in ("None", "False", "no") for key in ("as_column", "as_row"))
        self._ops = {x: str(options.get(f"op_{x}") or "n").lower() for x in "ab"}
        self._changes = any(str(options.get(key)) not in ("None", "none", "False", "no")
                            for key in ("center_a", "scale_a", "weights", "center", "scale", "grm", "metric"))
        self._changes |= options.get("missing") == "mean"
        self._complex_axes = {x: options.get(f"complex_axis_{'b' if x in 'by' else 'a'}") for x in "abxy"}
        self._complex_axes["all"] = options.get("complex_axis")
        self._folds = {x: {key: options.get(f"{key}_{x}") for key in ("shape", "packed", "row_axes")} for x in "ab"}
        self.in_use = threading.RLock()
        super().__init__(comm, progress, options)

    def renew(self) -> None:
        """In a forked process, which has no other threads: a call of one may have been interrupted in its middle."""
        if not self.in_use.acquire(blocking=False):
            raise UsageError("the process was forked while another thread used this context", hint="open a context in the new process")
        self.in_use.release()
        self.process = os.getpid()

    @property
    def _changes_a(self) -> bool:
        """Whether A is centered, scaled, weighted or filled."""
        return self._changes or not self._vectors.isdisjoint(("center_a", "scale_a", "weights"))

    @alone
    def info(self, location: Path | None = None) -> Record:
        """As :func:`damier.info`; collective."""
        name, problem = attempt(name_of, "" if location is None else location)
        agree(self.comm, problem, ("info", location is None))
        self._call(lib.library.damier_info, None if location is None else name)
        return self.record

    def _found(self, given: Any, name: str, by_rule: bool = False) -> Any:
        """The dataset that GIVEN is or names, if the library can read it; else GIVEN.  BY_RULE: a vector is A's row or B's column."""
        location = location_of(given)
        if location is not None:
            with self._with(None, **(self._rule(name) if by_rule else {})):
                record = self._described(location, name)
            if "dataset" not in record:
                raise several(location, record)
            found = StoredOperand(location, name, record)
            return found if by_rule and not self._states_lines else found.as_line()
        if not isinstance(given, (list, tuple)):
            return given
        check_meaning(given, name)
        try:
            return np.asarray(given)
        except ValueError:  # rows of different lengths, which are refused later
            return given

    @contextmanager
    def _folded(self, name: str) -> Iterator[None]:
        """What is stated of the shape of A is stated of that of B, instead."""
        mine, others = ({f"{key.replace('_', '-')}-a": value for key, value in self._folds[x].items() if value is not None} for x in "ba")
        if name not in "by" or not (mine or others):
            yield
            return

        def exchange(stated: dict[str, Any], now: dict[str, Any]) -> None:
            for key in stated:
                self._set(key, None)
            for key, value in now.items():
                self._set(key, text_of(key, value))

        try:
            exchange(others, mine)
            yield
        finally:
            exchange(mine, others)

    def _rule(self, name: str) -> dict[str, bool]:
        """The option by which the library takes a vector in a file as operand NAME of a product; none if the options state it."""
        return {} if self._states_lines else {"as_row" if (name == "a") == (self._ops[name] == "n") else "as_column": True}

    def _described(self, location: str, name: str) -> Record:
        with self._folded(name):
            return self._described_alike(location, name)

    def _described_alike(self, location: str, name: str) -> Record:
        own, of_all = self._complex_axes[name], self._complex_axes["all"]
        if own is None:
            return self.info(location)
        with self._with(complex_axis=own):
            record = self.info(location)
        if of_all is not None:
            self._set("complex-axis", str(of_all))
        return record

    def _operand(self, given: Any, name: str, floats: bool = False) -> Operand:
        if isinstance(given, StoredOperand):
            return given
        found = self._found(given, name)
        return found.one() if isinstance(found, StoredOperand) else self._in_memory(found, name, reading=self._reading(floats))

    def _in_memory(self, given: Any, name: str, writable: bool = False, reading: Reading | None = None) -> Operand:
        if self.gpus > 1 and isinstance(given, Rows) and isinstance(given.array, (list, tuple)):
            return PartedOperand(given, name, self.gpus, writable, reading)
        return Operand(given, name, self.rank, self.ranks, writable, reading)

    def _reading(self, floats: bool = False) -> Reading:
        """FLOATS: no whole numbers are multiplied as such."""
        kept = () if floats else ("int8",) if self._type is None else ("int8", "int32")
        return Reading(kept, self._fills)

    def _agree(self, operands: list[Operand]) -> None:
        mine = [operand.stated for operand in operands]
        everyone: list[list[Stated]] = [mine] if self.comm is None else self.comm.allgather(mine)
        for index, operand in enumerate(operands):
            operand.agree([stated[index] for stated in everyone])

    def _pose(self, ab: list[Operand]) -> tuple[int, int, int]:
        self._agree(ab)
        (m, k), (k_of_b, n) = (self._op_shape(o) for o in ab)
        if k != k_of_b:
            raise UsageError(f"op(a) is {shown((m, k))} and op(b) {shown((k_of_b, n))}: the inner dimensions differ",
                             hint="b.reshape(-1, 1), or of a file row_axes_b=2, is one column" if k == k_of_b * n and min(k_of_b, n) > 1 else "")
        self._check_types(ab)
        return m, n, k

    def _pose_batch(self, ab: list[Operand], shape: tuple[int, int]) -> tuple[int, int]:
        self._agree(ab)
        self._check_types(ab)
        return shape

    def _state_whole(self, ab: list[Operand]) -> None:
        """The type that the options state, of whole numbers: those of exact products stay what they are."""
        stated = None if self._type is None else type_name(self._type)
        for o in ab:
            if o.whole and stated in ("i32", "i64"):
                o.type, o.exact = name_of_whole(o.whole), True
            elif o.whole and stated in EXACT:
                o.type, o.rounds = stated, self._rounds

    def _check_types(self, ab: list[Operand]) -> None:
        """Numbers of two types, and whole numbers, become what NumPy multiplies them as: the latter here, others in the library."""
        self._common = None
        self._state_whole(ab)
        alike = ab[0].type == ab[1].type and not (ab[0].whole or ab[1].whole)
        whole = [o for o in ab if o.whole or is_whole_type(str(o.type), alike)]
        differ = ab[0].type != ab[1].type
        if self._type is not None or not (whole or differ):
            return
        if self._same_types or (differ and any(o.on_gpus for o in ab)):
            first, second = (o.whole or o.type for o in ab)
            raise UsageError(f"{ab[0].name} is {first} and {ab[1].name} is {second}",
                             hint="convert one of them with astype(), or state the type of both, type=")
        if any(o.on_gpus for o in ab):
            return
        common = common_type([o.whole or str(o.type) for o in ab])
        for o in whole:
            if not isinstance(o, StoredOperand):
                o.whole, o.type = o.whole or "int8", common
        if {o.type for o in ab} != {common}:
            self._common = common

    def _op_shape(self, operand: Operand) -> tuple[int, int]:
        shape = operand.rows, operand.cols
        return shape if self._ops[operand.name] == "n" else shape[::-1]
