#!/usr/bin/env python3
"""Every state that a kill or a loss of power can leave: a run is recorded operation by operation (record_shim.c), and after
each of them the folder is rebuilt as a disk may hold it. The same command must then go on.

What was not synced is there, lost, lost but for its length, or there in every second page; names are lost from the last
one backwards. In each state C, if there is one, is the old or the right one, and other files are as they were; then the
same command ends with 0 and a right C, and leaves nothing else. --long: all states; otherwise some of each mode.
"""
import collections
import copy
import itertools
import os
import pathlib
import shutil

import h5py
import numpy as np

import faulty_runs
import running
from running import expect

PAGE = 4096
FEW, RUN, AT_ONCE = 12, 8, 24  # states of a mode; writes told apart; states in memory
SIDES = (".part", ".journal", ".damier-new")
ALL, LOST, ZEROS, ODD, EVEN = "all there", "lost", "lengths only", "odd pages", "even pages"
WAYS = (ALL, LOST, ZEROS, ODD, EVEN)
STRANGER = ("C.h5.packing", b"a file of the user")


class File:
    """The contents of one file in memory, and what of them is on the disk."""

    def __init__(self, data=b""):
        self.now, self.safe, self.lost = bytearray(data), bytes(data), {}

    def write(self, offset, data):
        self.grow(offset + len(data))
        self.now[offset:offset + len(data)] = data

    def grow(self, length):
        if len(self.now) < length:
            self.now.extend(bytes(length - len(self.now)))

    def as_lost(self, way):
        """Made once for each change; equal contents are one object, whose hash Python keeps."""
        if way not in self.lost:
            self.lost[way] = self.losing(way)
        return self.lost[way]

    def losing(self, way):
        if way == ALL or bytes(self.now) == self.safe:
            return bytes(self.now)
        if way == LOST:
            return self.safe
        old = bytearray(self.safe[:len(self.now)].ljust(len(self.now), b"\0"))
        if way != ZEROS:
            for at in range(PAGE if way == ODD else 0, len(old), 2 * PAGE):
                old[at:at + PAGE] = self.now[at:at + PAGE]
        return bytes(old)


class Disk:
    """A folder whose files are known by inode, as the record names them."""

    def __init__(self, folder):
        self.files, self.names, self.pending = {}, {}, []
        for path in folder.iterdir():
            self.files[path.stat().st_ino] = File(path.read_bytes())
            self.names[path.name] = path.stat().st_ino
        self.safe_names = dict(self.names)

    def do(self, kind, words, data):
        if kind in ("link", "rename", "unlink") or (kind == "open" and words[1] not in self.names):
            self.pending.append((kind, words))
            self.rename(self.names, kind, words)
        if kind in ("file", "open"):
            if kind == "file":
                self.files[int(words[0])] = File()
            self.files.setdefault(int(words[0]), File())
        elif kind == "folder":
            self.safe_names, self.pending = dict(self.names), []
        elif kind in ("write", "cut", "reserve", "sync"):
            file, amount = self.files[int(words[0])], int(words[1]) if len(words) > 1 else 0
            if kind == "write":
                file.write(amount, data)
            elif kind == "sync":
                file.safe = bytes(file.now)
            else:
                file.grow(amount)
                if kind == "cut":
                    del file.now[amount:]
            file.lost = {}

    @staticmethod
    def rename(names, kind, words):
        if kind in ("open", "link"):
            names[words[1]] = int(words[0])
        elif kind == "rename":
            names[words[1]] = names.pop(words[0])
        else:
            names.pop(words[0], None)

    def states(self):
        """(what was lost, {name: inode}, {inode: contents}) of all states in which the disk may be now."""
        for kept in range(len(self.pending), -1, -1):
            names = dict(self.safe_names)
            for kind, words in self.pending[:kept]:
                self.rename(names, kind, words)
            for way in WAYS:
                lost = f"{way}, {len(self.pending) - kept} names lost"
                contents = {inode: self.files[inode].as_lost(way) for inode in set(names.values())}
                yield lost, names, contents


def gathered(operations):
    """Operations, with at most a few of many writes that follow each other told apart."""
    for (kind, _), run in itertools.groupby(operations, lambda one: (one[0], one[1][0])):
        run = list(run)
        size = max(1, len(run) // RUN) if kind == "write" else 1
        for i in range(0, len(run), size):
            yield run[i:i + size]


def recorded(path):
    """Operations (KIND, words, data) of a record."""
    with open(path, "rb") as file:
        while line := file.readline():
            kind, *words = line.decode().rstrip("\n").split(" ")
            data = b""
            if kind == "write":
                data = file.read(int(words[2]))
                expect(file.read(1) == b"\n", f"the record is damaged after {line}")
            yield kind, words, data


class Mode:
    """A command, the folder in which it starts, and the C that it makes."""

    def __init__(self, name, words=(), out="C.h5", old=None, force=False, shape=(70, 60, 50), start=None, faults=None,  # pylint: disable=too-many-arguments
                 add=False, verb="multiply"):
        self.name, self.out, self.old, self.force, self.add = name, out, old, force, add
        self.words, self.shape, self.start, self.faults, self.verb = words, shape, start, faults or {}, verb

    def command(self, options, folder):
        m, n, _ = self.shape
        words = [str(word).format(folder=folder) for word in self.words] + ["--force"] * self.force
        if self.verb == "generate":
            return running.command(1, options.damier, "generate", folder / self.out, "--rows", m, "--cols", n, "--kind",
                                   "integer", "--seed", 3, "-q", *words)
        return running.command(1, options.damier, "multiply", folder / "A.h5", folder / "B.h5", "-o",
                               f"{folder / self.out}" + (":/c" if self.out.endswith("h5") else ""), *words)


def read(path, dataset="c"):
    if str(path).endswith(".npy"):
        return np.load(path)
    with h5py.File(path, "r") as file:
        return file[dataset][()]


class Trial:
    """One mode: its recorded run, and the states after each operation."""

    def __init__(self, options, mode, folder):
        self.options, self.mode, self.folder = options, mode, folder
        self.start, self.counts = folder / "start", collections.Counter()
        self.start.mkdir()
        m, n, k = mode.shape
        for name, rows, cols, seed in (("A", m, k, 1), ("B", k, n, 2), ("old", m, n, 4)):
            running.run(options.damier, 1, "generate", f"{self.start}/{name}.h5", "--rows", rows, "--cols", cols,
                        "--kind", "integer", "--range", 50, "--seed", seed, "-q")
        a, b = read(self.start / "A.h5", "a"), read(self.start / "B.h5", "a")
        old = read(self.start / "old.h5", "a")
        if mode.old:
            self.make_old(old)
        if mode.verb == "multiply":
            self.right = a @ b + (old if mode.add else 0)
        (self.start / STRANGER[0]).write_bytes(STRANGER[1])
        self.run_recorded()

    def make_old(self, old):
        path = self.start / self.mode.out
        if path.suffix == ".npy":
            np.save(path, old)
        else:
            with h5py.File(path, "w") as file:
                file[self.mode.old] = old
        path.chmod(0o600)

    def run_recorded(self):
        place = self.folder / "recorded"
        if self.mode.start:  # another run is killed first
            done = running.ended(self.mode.command(self.options, self.start), LD_PRELOAD=self.options.shim,
                                 **self.mode.start)
            expect(done.returncode in faulty_runs.KILLED, f"not killed: {done.returncode}\n{done.stderr}")
        shutil.copytree(self.start, place)
        self.disk = Disk(place)
        shims = f"{self.options.record}:{self.options.flip}" if self.mode.faults else self.options.record
        done = running.ended(self.mode.command(self.options, place), LD_PRELOAD=shims, RECORD=str(self.folder / "record"),
                             RECORD_FOLDER=str(place), **self.mode.faults)
        expect(done.returncode == 0, f"recorded: exit {done.returncode}\n{done.stderr}")
        if self.mode.faults:
            expect("computed again" in done.stderr, f"nothing was repaired\n{done.stderr}")
        if self.mode.verb == "generate":
            self.right = read(place / self.mode.out, "a")
        expect(self.is_right(place), "the recorded run made another C")
        self.before = {path.name: path.read_bytes() for path in self.start.iterdir()}

    def dataset(self):
        return "a" if self.mode.verb == "generate" else "c"

    def is_right(self, place):
        """Whether C is complete and right; raises if it looks complete and is not."""
        path = place / self.mode.out
        if not path.exists() or self.before_is(path):
            return False
        if path.suffix == ".h5":
            with h5py.File(path, "r") as file:
                if self.mode.old and self.mode.old not in (self.dataset(), f"/{self.dataset()}"):
                    expect(self.mode.old in file, "the user's dataset is lost")
                state = file[self.dataset()].attrs["damier_state"]
                expect(state in ("complete", b"complete"), f"C.h5 is {state}")
        expect(np.array_equal(read(path, self.dataset()), self.right), "a complete C is wrong")
        return True

    def before_is(self, path):
        return self.mode.old and path.read_bytes() == (self.start / path.name).read_bytes()

    def all_states(self):
        """Distinct states, with the places at which they occur."""
        seen, number = set(), 0
        for state in self.disk.states():
            yield from self.fresh(seen, number, "start", *state)
        for operations in gathered(recorded(self.folder / "record")):
            for kind, words, data in operations:
                number += 1
                self.disk.do(kind, words, data)
            for state in self.disk.states():
                self.counts["replayed"] += 1
                yield from self.fresh(seen, number, f"{kind} {' '.join(words)}", *state)
        self.counts["operations"] = number

    @staticmethod
    def fresh(seen, number, operation, lost, names, contents):
        key = hash(tuple(sorted((name, inode, hash(contents[inode])) for name, inode in names.items())))
        if key not in seen:
            seen.add(key)
            yield number, operation, lost, names, contents

    def check(self, case):
        number, operation, lost, names, contents = case
        what = f"{self.mode.name}, after {number} ({operation}), {lost}"
        place = self.folder / f"state{number}-{hash(lost) & 0xffffff}"
        place.mkdir()
        try:
            return self.check_in(place, names, contents)
        except (KeyError, OSError, ValueError) as reason:
            raise running.Failure(f"{what}: {type(reason).__name__} {reason}") from reason
        except running.Failure as reason:
            raise running.Failure(f"{what}: {reason}; {sorted((n, i, len(contents[i])) for n, i in names.items())}") from reason
        finally:
            shutil.rmtree(place)

    def check_in(self, place, names, contents):
        mode, first = self.mode, {}
        for name, inode in names.items():
            if inode in first:
                os.link(place / first[inode], place / name)
            else:
                (place / name).write_bytes(contents[inode])
            first.setdefault(inode, name)
        for name in ("A.h5", "B.h5", mode.out, "old.h5"):  # their times tell whether they changed
            if (place / name).exists() and (self.start / name).exists() and contents[names[name]] == self.before[name]:
                stamp = (self.start / name).stat()
                os.utime(place / name, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        right = self.is_right(place)
        expect(right or not mode.old or (place / mode.out).exists(), "the old C is lost")
        if right and not self.left(place):
            self.counts["complete"] += 1
            return
        done = running.ended(mode.command(self.options, place))
        expect(done.returncode == 0, f"once more: exit {done.returncode}\n{done.stderr}")
        expect(self.is_right(place), "once more: no C")
        expect(not self.left(place), f"once more: left {self.left(place)}")
        expect((place / STRANGER[0]).read_bytes() == STRANGER[1], "a file of the user was touched")
        self.counts["was there" if right else "resumed" if "resuming: " in done.stderr else "started over"] += 1

    def left(self, place):
        return [suffix for suffix in SIDES if (place / (self.mode.out + suffix)).exists()] + \
               [path.name for path in place.glob(".damier*")]

    def run(self):
        """Replays twice: the states of a large C do not fit into memory together."""
        first = copy.deepcopy(self.disk)
        count = self.counts["states"] = sum(1 for _ in self.all_states())
        chosen = set(range(1, count + 1) if self.options.long else faulty_runs.places(count, FEW))
        self.disk, self.counts["replayed"], failures = first, 0, []
        cases = (case for number, case in enumerate(self.all_states(), 1) if number in chosen)
        while some := list(itertools.islice(cases, AT_ONCE)):
            failures += running.each(self.check, some, lambda case: "")
        return failures, len(chosen)


def modes(options):
    room = running.process_mib(options.damier) + 1
    tiles = ("--memory", f"host={room}MiB", "--checkpoint-interval", "0")
    records = faulty_runs.once_recorded(2)
    large = (600, 500, 60)
    in_place = ("--c", "{folder}/C.h5:/c", "--beta", 1)
    return [Mode("plain"), Mode("plain, `--force`", old="c", force=True), Mode("into mapped pages", ("--write-by", "mapped")),
            Mode("`--no-checkpoint`", ("--no-checkpoint",)), Mode("`--chunk`", ("--chunk", "32x32")),
            Mode("`--deflate --no-checkpoint`", ("--deflate", 1, "--no-checkpoint")),
            Mode("`--deflate`, `--force`", ("--deflate", 1, "--shuffle"), old="c", force=True),
            Mode("`--append`", ("--append",), old="x"), Mode("`.npy`", out="C.npy"),
            Mode("`.npy`, `--force`", out="C.npy", old="c", force=True),
            Mode("in place", in_place, old="c", force=True, add=True),
            Mode("in place, `--no-checkpoint`", (*in_place, "--no-checkpoint"), old="c", force=True, add=True),
            Mode("in place, `--deflate`", (*in_place, "--deflate", 1), old="c", force=True, add=True),
            Mode("`--beta`", ("--c", "{folder}/old.h5:/a", "--beta", 1), add=True),
            Mode("several tiles", tiles, shape=large), Mode("resumed", tiles, shape=large, start=records),
            Mode("resumed, `--append`", (*tiles, "--append"), old="x", shape=large, start=records),
            Mode("repaired", ("--read-by", "pread"), shape=(300, 100, 60), faults={"FLIP": "c:1:62:0.1"}),
            Mode("`generate`", verb="generate"), Mode("`generate --deflate`", ("--deflate", 1), verb="generate")]


COLUMNS = ("operations", "replayed", "states", "complete", "was there", "resumed", "started over")


def main():
    options = running.options("--shim", "--record", "--flip")
    failures, count = [], 0
    print("| mode | " + " | ".join(COLUMNS) + " | failed |\n|---" + "|---" * (len(COLUMNS) + 1) + "|")
    with faulty_runs.scratch() as folder:
        for number, mode in enumerate(modes(options)):
            if os.environ.get("ONLY", mode.name) != mode.name:
                continue
            place = pathlib.Path(folder) / str(number)
            place.mkdir()
            try:
                trial = Trial(options, mode, place)
                found, chosen = trial.run()
            except running.PROBLEMS as reason:
                failures.append(f"{mode.name}: {reason}")
                continue
            failures += found
            count += chosen
            print(f"| {mode.name} | " + " | ".join(str(trial.counts[name]) for name in COLUMNS)
                  + f" | {sum(map(bool, found))} |", flush=True)
            shutil.rmtree(place, ignore_errors=True)
    running.finish(failures, count)


main()
