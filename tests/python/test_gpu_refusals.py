"""Arrays in GPU memory without a GPU: parsing and refusals."""
import sys
import types
import unittest
import unittest.mock

import damier
import numpy as np
from damier._arrays import as_matrix
from damier._device import current_stream
from damier._dlpack import interface_of
from gpu_arrays import BOTH, ByDlpack, ByInterface

ADDRESS = 4096  # never dereferenced
HOST = np.ones((4, 4))


class Understood(unittest.TestCase):
    def test_both_protocols(self):
        for kind in BOTH:
            view, type_, copy, _ = as_matrix(kind(ADDRESS, (3, 5), "f4", (8, 1)), "a")
            self.assertEqual((view.pointer, view.shape, view.strides(), type_), (ADDRESS, (3, 5), [8, 1], "f32"))
            self.assertIsNone(copy)
            view, type_, *_ = as_matrix(kind(ADDRESS, (3, 5), "c16", (1, 3)), "a")
            self.assertEqual((view.strides(), type_), ([1, 3], "c128"))
            self.assertEqual(as_matrix(kind(ADDRESS, (3, 5), "i1"), "a")[0].strides(), [5, 1])
            self.assertEqual(as_matrix(kind(ADDRESS, (1, 5), "i1", (7, 2)), "a")[0].strides(), [1, 2])

    def test_negative_strides_of_cupy(self):
        backward = ByDlpack(ADDRESS, (4, 3), "f8", strides=(2**61 - 3, 1))
        interface, _, _ = interface_of(backward, "a", stream=1)
        self.assertEqual(interface["strides"], (-24, 8))

    def test_streams(self):
        for words, wanted in (({}, 0), ({"version": 2}, 1), ({"stream": None}, 0), ({"stream": 2}, 2),
                              ({"stream": 77777}, 77777)):
            self.assertEqual(as_matrix(ByInterface(ADDRESS, (2, 2), "f8", **words), "a")[0].stream, wanted)
        given = ByDlpack(ADDRESS, (2, 2), "f8")
        self.assertEqual(as_matrix(given, "a")[0].stream, 1)
        self.assertEqual(given.asked, 1)  # the producer makes the default stream wait

    def test_bfloat16(self):
        self.assertEqual(as_matrix(ByDlpack(ADDRESS, (2, 2), "u2", code=4), "a")[1], "bf16")
        self.assertEqual(as_matrix(ByInterface(ADDRESS, (2, 2), "u2"), "a", "bf16")[1], "bf16")


    def test_versions_of_dlpack(self):
        for flags, read_only in ((0, False), (1, True), (2, False)):
            given = ByDlpack(ADDRESS, (2, 3), "f8", flags=flags)
            self.assertEqual(as_matrix(given, "a")[0].shape, (2, 3))
            if read_only:
                with self.assertRaisesRegex(damier.UsageError, "out is read-only"):
                    as_matrix(given, "out", writable=True)
            else:
                as_matrix(given, "out", writable=True)
        host = ByDlpack(HOST.ctypes.data, (4, 4), "f8", device=(1, 0), flags=1)
        with self.assertRaisesRegex(damier.UsageError, "out is read-only"):
            damier.matmul(HOST, HOST, out=host)


class Streams(unittest.TestCase):
    """Of torch, in place of which there is what the package asks it for."""

    def test_of_a_tensor(self):
        tensor, capturing = types.SimpleNamespace(device=types.SimpleNamespace(index=1)), False
        functions = types.SimpleNamespace(_cuda_isCurrentStreamCapturing=lambda: capturing, _cuda_getCurrentRawStream=lambda index: streams[index])
        with unittest.mock.patch.dict(sys.modules, torch=types.SimpleNamespace(_C=functions)):
            for streams, wanted in (((5, 0), 1), ((5, 77), 77)):
                self.assertEqual(current_stream(tensor), wanted)
            capturing = True
            with self.assertRaisesRegex(damier.UsageError, "a CUDA graph is being captured") as caught:
                current_stream(tensor)
        self.assertIn("before or after torch.cuda.graph()", caught.exception.hint)


class Refused(unittest.TestCase):
    def refused(self, words, *operands, error=damier.UsageError, **options):
        with self.assertRaisesRegex(error, words) as caught:
            damier.matmul(*operands, backend="cpu", **options)
        self.assertTrue(caught.exception.agreed)
        return caught.exception

    def test_no_gpu(self):
        for kind in BOTH:
            gpu = kind(ADDRESS, (4, 4), "f8")
            for operands in ((gpu, HOST), (HOST, gpu), (HOST, HOST, gpu)):
                refused = self.refused("is in GPU memory, but backend cpu", *operands, error=damier.DeviceError)
                self.assertTrue(refused.hint)
            self.refused("old C: it is in GPU memory", HOST, HOST, c=gpu, error=damier.DeviceError)

    def test_plans(self):
        with self.assertRaisesRegex(damier.DeviceError, "in GPU memory"):
            damier.plan(ByInterface(ADDRESS, (4, 4), "f8"), HOST, backend="cpu")

    def test_strides(self):
        for kind in BOTH:
            for strides in ((8, 2), (3, 1), (1, 3), (-4, 1), (0, 1)):  # of a package that makes no copies
                refused = self.refused("a has strides that", kind(ADDRESS, (4, 4), "f8", strides), HOST)
                self.assertIn("contiguous", refused.hint)

    def test_out(self):
        out = ByInterface(ADDRESS, (4, 4), "f8", data=(ADDRESS, True))
        self.refused("out is read-only", HOST, HOST, out)
        out = ByInterface(ADDRESS, (4, 4), "f8")
        self.refused("out shares GPU memory with b", HOST, ByDlpack(ADDRESS + 8 * 15, (4, 4), "f8"), out)
        self.refused("out shares GPU memory with c", HOST, HOST, out, c=ByDlpack(ADDRESS + 8, (4, 4), "f8"))
        self.refused("c and out differ", HOST, HOST, out, c=np.ones((4, 4), "f4"))
        self.refused("backend cpu", HOST[:, :0], HOST[:0], out, error=damier.DeviceError)

    def test_side_by_side_is_not_shared(self):
        left, right = (ByInterface(ADDRESS + 32 * x, (4, 4), "f8", (8, 1)) for x in range(2))
        self.refused("backend cpu", left, HOST, right, error=damier.DeviceError)

    def test_types(self):
        self.refused("elements of uint8", ByInterface(ADDRESS, (4, 4), "u1"), HOST)
        self.refused("opposite byte order", ByInterface(ADDRESS, (4, 4), ">f8"), HOST)
        self.refused("DLPack's type 1 of 4 bits|elements of", ByDlpack(ADDRESS, (4, 4), "u1"), HOST)
        self.refused("a is f32 and b is f64", ByDlpack(ADDRESS, (4, 4), "f4"), HOST)

    def test_protocols(self):
        self.refused("masked", ByInterface(ADDRESS, (4, 4), "f8", mask=HOST), HOST)
        self.refused("stream 0", ByInterface(ADDRESS, (4, 4), "f8", stream=0), HOST)
        self.refused("in an unsupported way", ByInterface(ADDRESS, (4, 4), "f8", typestr="?!"), HOST)
        self.refused("1 dimension;", ByInterface(ADDRESS, (4,), "f8"), HOST)
        self.refused("other than a CUDA GPU .DLPack's kind 10", ByDlpack(ADDRESS, (4, 4), "f8", device=(10, 0)), HOST)
        self.refused("cannot be exported", Failing(), HOST)


class Failing:
    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, stream):
        raise RuntimeError("it requires a gradient")


if __name__ == "__main__":
    unittest.main()
