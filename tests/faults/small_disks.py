#!/usr/bin/env python3
"""A tmpfs and an ext4 that are too small for C: the program refuses in advance if it can tell, else the first write
that fails ends the job. Needs root; else skipped with the reason.
"""
import os
import pathlib
import subprocess
import sys

import faulty_runs
import running
from running import expect

MIB = 1 << 20
# Shapes of the product, kinds of disks, their MiB and the free ones. C has 4.4 MiB, or two pieces that a tmpfs reserves at once.
DISKS = ((760, 760, 64), "tmpfs", 12, 2), ((760, 760, 64), "ext4", 20, 2), ((4096, 4096, 8), "tmpfs", 300, 96)
# Reserves nothing and reports endless space, like some network file systems.
UNKNOWING = {"FAULT": "fallocate:1+:95,statvfs:1+:lie"}


def mount(kind, folder, image, mib):
    folder.mkdir()
    if kind == "tmpfs":
        words = ["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", str(folder)]
    else:
        image.write_bytes(b"")
        os.truncate(image, mib * MIB)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], check=True, capture_output=True)
        words = ["mount", "-o", "loop", str(image), str(folder)]
    return subprocess.run(words, capture_output=True, text=True)


def too_small(bed, disk, ranks, fault, code):
    """Exits with CODE, leaves no C, and succeeds once there is space."""
    output = faulty_runs.Output(bed, "C", ranks)
    output.place = disk
    got, err, seconds = output.run(fault)
    what = f"{disk.name}, {ranks} ranks, {fault}"
    expect(got == code, f"{what}: exit {got}, wanted {code}\n{err[-900:]}")
    expect(seconds < faulty_runs.SECONDS, f"{what}: took {seconds:.0f} s")
    expect(err.count("damier: error") == 1, f"{what}: not one error:\n{err[-900:]}")
    expect(not output.path().exists(), f"{what}: there is a C.h5")
    for file in disk.iterdir():
        if file.name == "filler":
            file.unlink()
    output.expect_recovery(what)
    output.path().unlink()


def fill(disk, keep):
    """Fills PLACE to about KEEP bytes of free space."""
    room = os.statvfs(disk)
    with open(disk / "filler", "wb") as filler:
        os.posix_fallocate(filler.fileno(), 0, room.f_bavail * room.f_frsize - keep)


def on_disk(folder, options, ranks, shape, kind, mib, keep):
    """On a disk of MIB, of which KEEP are free. Each rank has rows of C: no other plan, whose C has other bits, suits links better."""
    place = folder / f"{kind}{mib}-{ranks}"
    place.mkdir()
    disk = place / kind
    mounted = mount(kind, disk, place / "image", mib)
    if mounted.returncode != 0:
        return f"skip: {kind} cannot be mounted: {mounted.stderr.strip()}"
    try:
        bed = faulty_runs.Bed(place, options, shape=shape, words=("--grid", f"{ranks}x1x1"))
        bed.undisturbed(ranks)
        for fault, code in (({}, 5), ({"FAULT": "statvfs:1+:lie"}, 5), (UNKNOWING, 4)):
            fill(disk, keep * MIB)
            too_small(bed, disk, ranks, fault, code)
    except running.Failure as failure:
        return str(failure)
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    return None


def of_pairs(folder, options):
    """A disk with room for two of the four products beside C and C: refused before the first, and nothing is left."""
    disk = folder / "pairs"
    mounted = mount("tmpfs", disk, None, 12)
    if mounted.returncode != 0:
        return f"skip: a tmpfs cannot be mounted: {mounted.stderr.strip()}"
    try:
        words = (folder / "X.h5", "--rows", "30", "--cols", "700", "-q")  # 3.7 MiB each
        running.run(options.damier, 1, "generate", *words)
        done = running.ended([str(options.damier), "cov", str(folder / "X.h5"), "--missing", "pairwise", "-o", str(disk / "C.h5")])
        told = all(part in done.stderr for part in ("C and 4 products of pairs: ", "needs 18.7 MiB"))
        expect(done.returncode == 5 and told, done.stderr)
        expect(not list(disk.iterdir()), f"left: {list(disk.iterdir())}")
    except running.Failure as failure:
        return str(failure)
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    return None


def main():
    options = faulty_runs.options()
    if os.geteuid() != 0:
        print("skipped: only root can mount small disks")
        sys.exit(77)
    counts = (1, 2, 3, 4) if options.long else (1, 3)
    with faulty_runs.scratch() as name:
        folder = pathlib.Path(name)
        outcomes = [on_disk(folder, options, ranks, *disk) for disk in DISKS for ranks in counts]
        outcomes.append(of_pairs(folder, options))
    skipped = [o for o in outcomes if o and o.startswith("skip")]
    print("\n".join(skipped))
    if len(skipped) == len(outcomes):
        sys.exit(77)
    running.finish([o for o in outcomes if o not in skipped], len(outcomes) - len(skipped))


main()
