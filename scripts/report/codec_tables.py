"""The table of packed chunks in docs/hdf5.md: reads by damier and by h5py (scripts/bench/codecs.py)."""
from job_tables import is_shared
from tables import grouped, median, origin, table


def rows_of(records):
    for way, runs in grouped(records, lambda r: r["way"]).items():
        first = runs[0]
        times = {by: {what: median([r[what] for r in mine]) for what in ("seconds", "processor_s")}
                 for by, mine in grouped(runs, lambda r: r["by"]).items()}
        h5py, ours = times["h5py"], times["damier"]
        yield (way, f"{first['stored_bytes'] / first['bytes']:.2f}",
               *(f"{first['bytes'] / t['seconds'] / 1e9:.2f}" for t in (h5py, ours)), f"{h5py['seconds'] / ours['seconds']:.2f}",
               *(f"{t['processor_s'] / first['bytes'] * 1e9:.2f}" for t in (h5py, ours)))


def codecs_table(records):
    """One for each machine."""
    lines = []
    for (device, cores), mine in grouped(records, lambda r: (r["machine"]["device"], r["machine"]["cores"])).items():
        first = mine[0]
        head = ("stored", "bytes / of the matrix", "h5py, GB/s", "damier, GB/s", "ratio", "h5py, s of processors per GB", "damier")
        lines += table(head, rows_of(mine))
        if is_shared(mine):
            lines += ["", "Other programs used the same processors: only the times of processors compare the two."]
        lines += ["", f"{cores} processors; h5py {first['h5py']} with hdf5plugin {first['hdf5plugin']} reads with one; "
                  "medians, GB of the unpacked matrix."]
        own = {"version": first["version"], "command": "scripts/bench/codecs.py",
               "date": first["date"], "machine": {"device": device}}
        lines += [*origin([own]), ""]
    return lines
