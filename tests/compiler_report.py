"""Checks nvcc's report on the top rungs: no registers spilled, no wgmma serialised, no setmaxnreg ignored. NVRTC compiles jit in all types.

usage: compiler_report.py NVCC ROOT ARCHITECTURE | --self
"""
import ctypes
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = ("warp_tile", "wmma", "mma", "mma_f64", "wgmma_simple", "wgmma")
ENTRY = re.compile(r"Compiling entry function '(\S+)'")
SPILL = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
LOST = re.compile(r"serializ|setmaxnreg.*ignored", re.IGNORECASE)


def findings(report):
    """(compiled entries, problems)."""
    entries, wrong, name = 0, [], "?"
    for line in report.splitlines():
        entry, spill = ENTRY.search(line), SPILL.search(line)
        if entry:
            name = entry.group(1)
            entries += 1
        if LOST.search(line) or spill and any(int(n) for n in spill.groups()):
            wrong.append(f"{name}: {line.strip()}")
    return entries, wrong


def compile_jit(nvcc, root):
    """Messages of NVRTC, which needs no GPU, about the text of jit; None: it is not beside NVCC."""
    source = (root / "kernels/ladder/22_jit.cu").read_text()
    text = re.search(r'R"\((.*?)\)"', source, re.DOTALL).group(1).encode()
    types = re.findall(r'\{DM_\w+, "([^"]+)", "([^"]+)"\}', source)
    found = sorted(pathlib.Path(nvcc).resolve().parents[1].glob("lib64/libnvrtc.so"))
    if not found or len(types) != 7:
        return None if types else ["no types in 22_jit.cu"]
    nvrtc, messages = ctypes.CDLL(str(found[0])), []
    for (element, total), (m, n, k) in itertools.product(types, [(64, 96, 128), (1, 7, 31), (100000, 65537, 5)]):
        sizes = {"M": m, "N": n, "K": k, "A_STRIDE": k, "B_STRIDE": n, "C_STRIDE": n}
        options = [f"-DELEMENT={element}", f"-DSUM={total}", "--std=c++17", "--gpu-architecture=sm_80",
                   *(f"-D{name}={size}LL" for name, size in sizes.items())]
        program = ctypes.c_void_p()
        nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"jit.cu", 0, None, None)
        if nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*(o.encode() for o in options))):
            log = ctypes.create_string_buffer(10000)
            nvrtc.nvrtcGetProgramLog(program, log)
            messages.append(f"{' '.join(options)}: {log.value.decode()}")
    return messages


def test_self():
    head = "ptxas info    : Compiling entry function 'f' for 'sm_90a'\n"
    clean = "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    assert findings(head + clean) == (1, [])
    for bad in (clean.replace(" 0 bytes spill loads", " 8 bytes spill loads"),
                "ptxas info : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
                "serialized due to a call\n",
                "ptxas info : setmaxnreg ignored; unable to determine register count\n"):
        assert len(findings(head + bad)[1]) == 1, bad


def main():
    if sys.argv[1:] == ["--self"]:
        test_self()
        return
    nvcc, root, architecture = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    wrong = compile_jit(nvcc, root)
    print("jit: no NVRTC" if wrong is None else f"jit: {len(wrong)} findings", *(wrong or []), sep="\n    ")
    failed = bool(wrong)
    for name in TOP:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [nvcc, "-O3", "-std=c++17", "-fmad=false", "-gencode",
                 f"arch=compute_{architecture},code=sm_{architecture}", f"-I{root}", f"-I{root / 'src'}", "-Xptxas", "-v", "--cubin", "-o",
                 pathlib.Path(folder) / "x.cubin", *(root / "kernels/ladder").glob(f"??_{name}.cu")],
                capture_output=True, text=True, check=False)
        entries, wrong = findings(done.stderr + done.stdout)
        failed |= bool(wrong) or done.returncode != 0 or entries == 0
        print(f"{name}: {entries} kernels, {len(wrong)} findings, nvcc's exit code {done.returncode}")
        for line in wrong + (done.stderr.splitlines()[-5:] if done.returncode else []):
            print("   ", line)
    sys.exit(failed)


main()
