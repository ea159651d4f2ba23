"""torch.compile: calls of the library are no part of compiled functions, which continue after them."""
from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_REASON = "damier computes in a library of its own, which torch.compile does not see; without fullgraph=True the rest is compiled"


def _kept_out(function: Function) -> Function:
    """FUNCTION, which torch's compiler calls, and does not look into."""
    function._torchdynamo_disable = True  # type: ignore[attr-defined]
    function._torchdynamo_disable_msg = _REASON  # type: ignore[attr-defined]
    return function


@_kept_out
def _pause() -> tuple[Any, Any] | None:
    """Frames that follow are not compiled; what :func:`_resume` needs, or None: nothing was compiled."""
    if "torch._dynamo" not in sys.modules:
        return None
    found = getattr(sys.modules.get("torch._C._dynamo.eval_frame"), "set_eval_frame", None)
    return None if found is None else (found, found(None))


@_kept_out
def _resume(before: tuple[Any, Any]) -> None:
    set_eval_frame, compiler = before
    set_eval_frame(compiler)


def uncompiled(function: Function) -> Function:
    """FUNCTION, within which torch compiles nothing."""
    @functools.wraps(function)
    def call(*arguments: Any, **words: Any) -> Any:
        before = _pause()
        try:
            return function(*arguments, **words)
        finally:
            if before is not None:
                _resume(before)

    return call  # type: ignore[return-value]
