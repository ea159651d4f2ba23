"""Gradients of products of torch's tensors."""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ._errors import UsageError

# With others the product is not alpha op(A) op(B).
_LINEAR = ("alpha", "op_a", "op_b", "threads", "memory", "verify", "backend", "compute", "kernel", "reproducible", "accumulate", "grid",
           "allow_unchecked", "type_c", "gpus", "machine", "panel", "overlap", "verify_seed", "on_corruption")


def needs(*arrays: Any) -> bool:
    """Whether one of ARRAYS is a tensor that requires a gradient."""
    for array in arrays:  # a loop takes half of the time of any()
        if array is not None and getattr(array, "requires_grad", False) is True:
            return True
    return False


def detached(array: Any) -> Any:
    """ARRAY without its part in torch's graph."""
    return array.detach() if needs(array) else array


def is_recorded(*arrays: Any) -> bool:
    """Whether torch records what is computed of ARRAYS; under no_grad() it does not."""
    return needs(*arrays) and "torch" in sys.modules and bool(sys.modules["torch"].is_grad_enabled())


def refuse(name: str, *arrays: Any) -> None:
    """NAME has no gradient."""
    if is_recorded(*arrays):
        raise UsageError(f"{name} has no gradient, and a tensor requires one",
                         hint="pass tensor.detach(), or call it under torch.no_grad()")


def check_product(out: Any, c: Any, options: dict[str, Any]) -> None:
    """Whether a product of tensors that require gradients has them."""
    stated = {"out": out, "c": c} | {key: value for key, value in options.items() if key not in _LINEAR}
    why = next((key for key, value in stated.items() if value is not None), "")
    if why:
        raise UsageError(f"a product with {why} has no gradient, and a tensor requires one",
                         hint="pass tensor.detach(), or call it under torch.no_grad()")


def product(multiplied: Callable[..., Any], a: Any, b: Any, options: dict[str, Any]) -> Any:
    """``multiplied(a, b, **options)`` as a tensor with a gradient.

    C = alpha op(A) op(B).  With G, the gradient of C: conj(alpha) G op(B)^H is that of op(A), and conj(alpha) op(A)^H G that of
    op(B)."""
    torch: Any = sys.modules["torch"]
    op_a, op_b = (str(options.get(key) or "n").lower() for key in ("op_a", "op_b"))
    plain = {key: value for key, value in options.items() if key not in ("op_a", "op_b", "alpha", "type_c")}
    alpha: Any = 1 if options.get("alpha") is None else options["alpha"]

    def times(x: Any, y: Any, like: Any) -> Any:
        found = torch.as_tensor(multiplied(x.resolve_conj(), y.resolve_conj(), alpha=alpha.conjugate(), **plain))
        return found.to(like.dtype)

    class Product(torch.autograd.Function):  # type: ignore[misc]
        """The product as a function of both matrices."""

        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            return torch.as_tensor(multiplied(a, b, **options))

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            a, b = ctx.saved_tensors
            g, found = gradient.to(a.dtype), [None, None]
            if ctx.needs_input_grad[0]:  # batches repeat what they multiply several times: its gradients are summed
                found[0] = _applied(times(g, _applied(b, op_b).mH, a), op_a).sum_to_size(a.shape)
            if ctx.needs_input_grad[1]:
                found[1] = _applied(times(_applied(a, op_a).mH, g, b), op_b).sum_to_size(b.shape)
            return tuple(found)

    setattr(Product, "backward", staticmethod(torch.autograd.function.once_differentiable(Product.backward)))
    return Product.apply(*(torch.as_tensor(x) for x in (a, b)))


def _applied(x: Any, op: str) -> Any:
    """op(X); also X where this is op(X)."""
    return {"n": x, "t": x.mT, "c": x.mH}[op]
