"""nvtx: a listening tool gets every phase and every step with its panel, and the end of each."""
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

damier, tool = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    heard = pathlib.Path(folder, "ranges")
    environment = dict(os.environ, NVTX_INJECTION64_PATH=tool, NVTX_RANGES=str(heard))
    words = ["bench", "multiply", "--backend", "cpu", "--size", "512", "--panel", "128", "--threads", "1",
             "--repetitions", "1", "--warmup", "0", "-q"]
    subprocess.run([damier, *words], env=environment, check=True, stdout=subprocess.DEVNULL)
    lines = collections.Counter(heard.read_text().splitlines())
products = [lines[f"gemm {panel}"] for panel in range(4)]
ends = lines.pop("end 1", 0)
print(lines, ends)
sys.exit(not (min(products) > 0 and lines["measuring -1"] == 1 and lines["end 0"] == 0
              and ends == sum(lines.values())))
