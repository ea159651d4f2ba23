"""Tensors of torch that require gradients: the product has them, or the call is refused; torch's compiler and graphs."""
import itertools
import unittest
import unittest.mock

import damier
import numpy as np

try:
    import torch
except ImportError:
    torch = None


def tensor(*shape, dtype="float64", seed=1):
    made = np.random.default_rng(seed).standard_normal((*shape, 2))
    numbers = made[..., 0] + 1j * made[..., 1] if dtype.startswith("complex") else made[..., 0]
    return torch.tensor(numbers, dtype=getattr(torch, dtype), requires_grad=True)


@unittest.skipIf(torch is None, "torch is not installed")
class Gradients(unittest.TestCase):
    def is_like_torch(self, a, b, op_a="n", op_b="n", **options):
        """C and the gradients of A and B are those of torch."""
        def op(x, name):
            return {"n": x, "t": x.mT, "c": x.mH}[name]

        found = damier.matmul(a, b, **({"op_a": op_a, "op_b": op_b} if a.dim() == b.dim() == 2 else {}), **options)
        expected = options.get("alpha", 1) * op(a, op_a) @ op(b, op_b)
        self.assertIsInstance(found, torch.Tensor)
        tolerance = {"rtol": 1e-4, "atol": 1e-4} if a.dtype == torch.float32 else {"rtol": 1e-10, "atol": 1e-10}
        torch.testing.assert_close(found.detach(), expected.detach(), **tolerance)
        weights = tensor(*expected.shape, dtype=str(expected.dtype).removeprefix("torch."), seed=5).detach()
        tensors = [x for x in (a, b) if x.requires_grad]
        mine, theirs = (torch.autograd.grad((c * weights).sum().abs(), tensors) for c in (found, expected))
        for one, other in zip(mine, theirs):
            torch.testing.assert_close(one, other, **tolerance)

    def test_matrices(self):
        for dtype, op_a, op_b in itertools.product(("float64", "float32", "complex128"), "ntc", "ntc"):
            a = tensor(*((4, 3) if op_a == "n" else (3, 4)), dtype=dtype)
            b = tensor(*((3, 5) if op_b == "n" else (5, 3)), dtype=dtype, seed=2)
            self.is_like_torch(a, b, op_a, op_b, alpha=2 - 1j if dtype == "complex128" else -0.5)

    def test_batches(self):
        self.is_like_torch(tensor(2, 4, 3), tensor(2, 3, 5))
        self.is_like_torch(tensor(2, 4, 3), tensor(3, 5))
        self.is_like_torch(tensor(4, 3), tensor(2, 3, 5))

    def test_one_of_both(self):
        self.is_like_torch(tensor(4, 3), tensor(3, 5).detach())
        self.is_like_torch(tensor(4, 3).detach(), tensor(3, 5))

    def test_in_a_network(self):
        layer, x = torch.nn.Linear(6, 3, bias=False, dtype=torch.float64), tensor(8, 6).detach()
        loss = damier.matmul(x, layer.weight, op_b="t").relu().sum()
        loss.backward()
        mine, layer.weight.grad = layer.weight.grad, None
        layer(x).relu().sum().backward()
        torch.testing.assert_close(mine, layer.weight.grad)

    def test_without_recording(self):
        a = tensor(4, 3)
        with torch.no_grad():
            np.testing.assert_allclose(damier.matmul(a, a, op_b="t"), (a @ a.mT).numpy())
            np.testing.assert_allclose(damier.cov(a), np.cov(a.numpy(), rowvar=False))
            self.assertEqual(damier.pca(a, 2).components.shape, (2, 3))

    def test_refused(self):
        a, x = tensor(4, 3), tensor(4, 3).detach()
        calls = [lambda: damier.matmul(a, a, op_b="t", out=torch.zeros(4, 4, dtype=torch.float64)),
                 lambda: damier.matmul(a, a, op_b="t", c=torch.zeros(4, 4, dtype=torch.float64)), lambda: damier.matmul(a, a, op_b="t", top=2),
                 lambda: damier.matmul(x, x, op_b="t", out=tensor(4, 4)), lambda: damier.matmul(a, a, op_b="t", center_a="columns"),
                 lambda: damier.matmul(x, x, op_b="t", weights=tensor(3)), lambda: damier.gram(a), lambda: damier.cov(a), lambda: damier.cor(x, a),
                 lambda: damier.pca(a, 2), lambda: damier.svd(a, 2), lambda: damier.multiply(a, x, "nowhere.npy", op_b="t")]
        for number, call in enumerate(calls):
            with self.subTest(number), self.assertRaisesRegex(damier.UsageError, "gradient") as caught:
                call()
            self.assertIn("detach()", caught.exception.hint)

    def test_context(self):
        x = tensor(4, 3).detach()
        with damier.Context(op_b="t") as context:
            for requires in (False, True, False):
                x.requires_grad_(requires)
                if requires:
                    self.assertRaisesRegex(damier.UsageError, "gradient", context.matmul, x, x)
                else:
                    np.testing.assert_allclose(context.matmul(x, x), (x @ x.mT).numpy())

    def test_twice(self):
        a = tensor(3, 3)
        first, = torch.autograd.grad(damier.matmul(a, a).sum(), a, create_graph=True)
        with self.assertRaises(RuntimeError):
            first.sum().backward()

    @unittest.skipIf(torch is not None and not hasattr(torch, "compile"), "this torch has no compiler")
    def test_compiler(self):
        a = tensor(4, 3)

        def both(x):
            return torch.as_tensor(damier.matmul(x * 2, x, op_b="t")) + 1

        compiled = torch.compile(both, backend="eager")
        torch.testing.assert_close(compiled(a.detach()), both(a.detach()))
        compiled(a).sum().backward()
        mine, a.grad = a.grad, None
        both(a).sum().backward()
        torch.testing.assert_close(mine, a.grad)

    @unittest.skipIf(torch is not None and not hasattr(torch, "compile"), "this torch has no compiler")
    def test_compiler_sees_no_call(self):
        with damier.Context(op_b="t") as context:
            compiled = torch.compile(lambda x: torch.as_tensor(context.matmul(x + 1, x)) + 1, backend="eager")
            x = tensor(4, 3).detach()
            torch.testing.assert_close(compiled(x), (x + 1) @ x.mT + 1)
        whole = torch.compile(lambda x: damier.matmul(x, x), backend="eager", fullgraph=True)
        with self.assertRaisesRegex(Exception, "library of its own"):
            whole(tensor(3, 3).detach())

    def test_capture(self):
        with unittest.mock.patch.object(torch._C, "_cuda_isCurrentStreamCapturing", lambda: True, create=True):
            with self.assertRaisesRegex(damier.UsageError, "graph is being captured"):
                damier._device.current_stream(tensor(3, 3))


if __name__ == "__main__":
    unittest.main()
