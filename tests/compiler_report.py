"""Checks nvcc's report on the top rungs: no registers spilled, no wgmma serialised, no setmaxnreg ignored.

usage: compiler_report.py NVCC ROOT ARCHITECTURE | --self
"""
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = ("warp_tile", "wmma", "mma", "mma_f64", "wgmma")
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
    failed = False
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
