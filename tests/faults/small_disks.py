#!/usr/bin/env python3
"""A tmpfs and an ext4 that are too small for C: the program refuses in advance if it can tell, else the first write
that fails ends the job. Needs root; else skipped with the reason.
"""
import os
import subprocess
import sys

import faulty_runs
import running
from running import expect

MIB = 1 << 20
# C has 4.4 MiB. Reserves nothing and reports endless space, like some network file systems.
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


def on_disk(bed, kind, mib, counts):
    disk, image = bed.folder / kind, bed.folder / f"{kind}.image"
    mounted = mount(kind, disk, image, mib)
    if mounted.returncode != 0:
        return f"skip: {kind} cannot be mounted: {mounted.stderr.strip()}"
    try:
        for ranks in counts:
            fill(disk, 2 * MIB)
            too_small(bed, disk, ranks, {}, 5)
            fill(disk, 2 * MIB)
            too_small(bed, disk, ranks, {"FAULT": "statvfs:1+:lie"}, 5)
            fill(disk, 2 * MIB)
            too_small(bed, disk, ranks, UNKNOWING, 4)
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
    with faulty_runs.scratch() as folder:
        bed = faulty_runs.Bed(folder, options, shape=(760, 760, 64))
        for ranks in counts:
            bed.undisturbed(ranks)
        outcomes = [on_disk(bed, "tmpfs", 12, counts), on_disk(bed, "ext4", 20, counts)]
    skipped = [o for o in outcomes if o and o.startswith("skip")]
    print("\n".join(skipped))
    if len(skipped) == len(outcomes):
        sys.exit(77)
    running.finish([o for o in outcomes if o not in skipped], len(outcomes) - len(skipped))


main()
