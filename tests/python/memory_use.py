"""How much memory of this process calls leave behind."""
import ctypes
import gc
import os


class _Malloc(ctypes.Structure):
    """glibc's mallinfo2"""

    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks",
                                                     "fsmblks", "uordblks", "fordblks", "keepcost")]


def _resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return 4096 * int(file.read().split()[1])


def host():
    """Bytes that malloc has given out, or None if the C library does not tell, and resident bytes."""
    gc.collect()
    ask = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if ask is None:
        return None, _resident()
    ask.restype = _Malloc
    told = ask()
    return told.uordblks + told.hblkhd, _resident()


def check_growth(test, call, calls=1000, used=host):
    """CALLS calls leave less than 64 bytes each of what malloc gives out, and less than 4 MiB of resident memory, and of a
    GPU's if USED tells. As many calls come before: CUDA keeps some memory of the first hundreds."""
    if "EMULATED" in os.environ:
        test.skipTest("qemu keeps 280 KiB of each thread that has ended")
    for _ in range(calls):
        call()
    before = used()
    for _ in range(calls):
        call()
    for now, then, most in zip(used(), before, (64 * calls, 4 << 20, 4 << 20)):
        if then is not None:
            test.assertLess(now - then, most)
