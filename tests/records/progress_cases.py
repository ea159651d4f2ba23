"""Progress of a long job: a bar on a terminal, lines in a log; the fraction of operations, rates, time left, and after a
resume the existing fraction; the bar gives way to messages."""
import os
import pty
import re
import signal
import subprocess
import threading
import time

import faulty_runs
from running import environment, process_mib, records_of, run, run_checks

SIZE = 3200
LIMIT = 40  # MiB in addition to the process's own memory: several tiles, A and B in their files
BAR = re.compile(r"multiplying \[([=#.]{30})\] +(\d+) %( \((\d+) % were there\))?, ([^\r]*) left")
RATES = re.compile(r"([\d.]+ [kMGT]?FLOP/s)(, reads [\d.]+ [kMG]?B/s)?(, writes [\d.]+ [kMG]?B/s)?, ([\d.]+ (us|ms|s)|\?)$")
LINE = re.compile(r"^damier: multiplying (\d+) %( \((\d+) % were there\))?, (.*) left$", re.M)


class Terminal:
    """Runs a program with a terminal, or a pipe, as stderr."""

    def __init__(self, command, terminal):
        master, slave = pty.openpty() if terminal else os.pipe()
        self.seen = b""
        self.process = subprocess.Popen(list(map(str, command)), env=environment() | {"DAMIER_PROGRESS": "auto"}, stderr=slave,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        os.close(slave)
        self.reader = threading.Thread(target=self.read, args=(master,))
        self.reader.start()

    def read(self, master):
        while True:
            try:
                data = os.read(master, 65536)
            except OSError:  # the end of a terminal
                data = b""
            if not data:
                os.close(master)
                return
            self.seen += data

    def end(self):
        code = self.process.wait(120)
        self.reader.join(20)
        return code, self.seen.decode().replace("\r\n", "\n")


def check_bars(text, before):
    """Every bar is consistent, and none goes backward."""
    bars = list(BAR.finditer(text))
    assert len(bars) >= 3, f"{len(bars)} bars in\n{text}"
    last = 0
    for bar, percent, _, were, rest in (b.groups() for b in bars):
        percent = int(percent)
        assert last <= percent <= 100, f"{percent} % after {last} %"
        last = percent
        done = sum(c != "." for c in bar)
        assert done == sum(i * 100 < percent * 30 for i in range(30)), f"[{bar}] at {percent} %"
        assert RATES.search(rest) or (rest == "?" and bar == bars[0][1]), rest  # nothing is done yet
        assert (were is not None) == before and bar.startswith("=" if before else ("#", ".")), bar
        assert were is None or 0 < int(were) <= percent, f"{were} % of {percent} %"
    assert any("reads" in b[5] for b in bars), "nothing is read"
    assert before or any("writes" in b[5] for b in bars), f"nothing is written: {bars}" # rates are those of a second
    rates = [RATES.search(b[5])[1].split() for b in bars if b[5] != "?"]
    return [float(number) * {"T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3}.get(unit[0], 1) for number, unit in rates]


def check_cleared(text):
    """Every line on the screen begins where the bar was cleared."""
    assert not re.search(r"left(\033\[K)?\n", text), "a bar was left on the screen"


def stop_after(terminal, journal, records):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and terminal.process.poll() is None:
        if faulty_runs.recorded(journal) >= records:
            terminal.process.send_signal(signal.SIGUSR1)
            return
        time.sleep(0.005)
    raise AssertionError("it ended before it could be stopped")


def check_progress(damier, folder):
    a, c, report = folder / "A.h5", folder / "C.h5", folder / "r.json"
    limit = LIMIT + process_mib(damier)
    run(damier, 1, "generate", a, "--size", SIZE, "-q")
    command = [damier, "multiply", a, a, "-o", c, "--force", "--memory", f"host={limit}MiB",
               "--checkpoint-interval", "0"]

    whole = Terminal([*command, "--json", report], True)
    code, text = whole.end()
    assert code == 0, text
    record = records_of(report)[-1]
    assert record["plan"]["tiles"] > 2, record["plan"]
    rates, mean = check_bars(text, False), record["rates"]["multiply_flops"]
    assert 0.2 * mean < sorted(rates)[len(rates) // 2] < 5 * mean, f"{rates}, on the whole {mean}"
    check_cleared(text)

    stopped = Terminal(command, True)
    stop_after(stopped, folder / "C.h5.journal", 2)
    code, text = stopped.end()
    assert code == 75 and re.search(r"(^|\r\033\[K)damier: stopped early", text, re.MULTILINE), text
    check_cleared(text)
    resumed = Terminal(command, True)
    code, text = resumed.end()
    assert code == 0 and "resuming: " in text, text
    check_bars(text, True)

    log = Terminal([*command, "--progress", "always"], False)
    code, text = log.end()
    lines = LINE.findall(text)
    assert code == 0 and len(lines) >= 1 and "\r" not in text, text
    assert all(0 <= int(line[0]) <= 100 and (RATES.search(line[3]) or line[3] == "?") for line in lines), lines
    ranks = Terminal(["mpirun", "-n", "2", *command, "--progress", "always"], True)  # mpirun gives its ranks a pipe
    code, text = ranks.end()
    assert code == 0 and LINE.search(text) and "\r" not in text, text
    quiet = Terminal([*command, "--progress", "never"], True)
    code, text = quiet.end()
    assert code == 0 and "multiplying" not in text, text


run_checks(check_progress)
