"""Starts simulated runs, one process each."""
import json
import os
import pathlib
import subprocess
import tempfile

import platform_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Nothing but modelled products and messages takes time; links share their rate fairly; all ranks
# are threads of one process with small stacks, which is possible because the program keeps no
# variables in static memory. Of the messages that nobody waits for SimGrid keeps one list, which it
# searches at the end of each: with thousands of ranks that took longer than all else, and so did
# collectives in which the first rank hears all others. Neither is timed.
COMMON = ["smpi/simulate-computation:no", "smpi/privatization:no", "smpi/test:0", "smpi/iprobe:0",
          "smpi/display-timing:no", "smpi/send-is-detached-thresh:0", "smpi/allreduce:redbcast",
          "smpi/reduce:binomial", "contexts/stack-size:256"]
FLOWS = ["network/model:CM02", "network/crosstraffic:no", "network/TCP-gamma:0", "network/weight-S:0",
         "network/latency-factor:1", "network/bandwidth-factor:1"]


def configuration(machine):
    if machine.network == "flows":
        return COMMON + FLOWS
    # The model counts what is left of a message, and one of which rounding leaves less than a byte
    # would never arrive: the precision, times 1e-9, is in bytes.
    return COMMON + ["network/model:Constant", f"network/latency-factor:{machine.nic_latency}",
                     "maxmin/precision:1e10"]


def machine_words(machine):
    """As damier plan --machine."""
    return (f"gpu={machine.model},links=device,nodes={machine.nodes},gpus={machine.gpus},"
            f"link={machine.link / 1e9:g},network={machine.nic * machine.gpus / 1e9:g}")


def way_words(machine):
    """With ports, ranks learn as late as by a message that a peer is ready."""
    words = ["--slow-nic", str(machine.slow_nic)]
    if machine.network == "ports":
        words += ["--notice", str(machine.nic_latency)]
    if machine.files:
        words += ["--files", str(machine.files), "--file-rate", f"{machine.file_rate:g}"]
    return words


def words_of(text):
    """What the run itself said of its failure, without what smpirun adds."""
    lines = [line.strip() for line in text.splitlines() if not line.startswith("Execution failed")]
    return lines or ["no reason given"]


def simulate(program, machine, words, timeout=None):
    """The record of one run; RuntimeError with the reason and the command where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        platform_file.write(machine, folder)
        output = folder / "record"
        options = ["--machine", machine_words(machine), *way_words(machine), *map(str, words)]
        command = ["smpirun", "-quiet", "-np", str(machine.nodes * machine.gpus + machine.files),
                   "-platform", str(folder / "platform.xml"), "-hostfile", str(folder / "hosts"),
                   *(f"--cfg={setting}" for setting in configuration(machine)),
                   "--log=root.thresh:error", str(program), *options, "--json", str(output)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False,
                              stdin=subprocess.DEVNULL, preexec_fn=lambda: os.nice(5))
        if done.returncode or not output.exists():
            raise RuntimeError(" ".join(words_of(done.stdout + done.stderr)), command,
                               f"code {done.returncode}")
        record = json.loads(output.read_text())
        record["command"] = " ".join(["damier_simulate", *options])
        return record
