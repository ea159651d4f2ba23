"""Runs a program from a small process: the peak of a process counts the memory of the one that it was forked from. Takes one word of JSON,
[MiB of data or 0, seconds until it is killed or 0, words ...], and prints [seconds, of processors, peak bytes, exit code]."""
import json
import resource
import subprocess
import sys
import time

limit, kill_after, *words = json.loads(sys.argv[1])
began = time.monotonic()
with open("said", "ab") as said:
    process = subprocess.Popen(words, stdout=said, stderr=said, preexec_fn=lambda: limit and resource.setrlimit(
        resource.RLIMIT_DATA, (limit << 20, limit << 20)))
    try:
        process.wait(kill_after or None)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, process.returncode]))
