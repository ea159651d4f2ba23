"""Traces: valid JSON in Chrome's format, with nested spans that do not overlap within rows and add up to the phases of
the record. One process for each rank."""
import collections
import json

from running import records_of, run, run_checks

ROWS = {"phase", "compute", "copy", "transport", "read", "write"}
SLACK = 0.002  # microseconds: printed with three digits


def spans_of(trace):
    """Spans by (rank, row): begin, end in microseconds, name, panel."""
    rows = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] != "X":
            assert event["ph"] == "M", event
            continue
        assert event["cat"] in ROWS and event["dur"] >= 0, event
        panel = event.get("args", {}).get("panel", -1)
        rows[event["pid"], event["tid"]].append(
            (event["ts"], event["ts"] + event["dur"], event["name"], panel, event["cat"]))
    return rows


def named_rows(trace):
    return {(e["pid"], e["tid"]) for e in trace["traceEvents"] if e["name"] == "thread_name"}


def check_rows(trace, ranks):
    """Within a row spans do not overlap; every row has a name."""
    rows = spans_of(trace)
    assert {pid for pid, _ in rows} == set(range(ranks)), "a process for each rank"
    assert set(rows) == named_rows(trace), "every row has its name"
    for key, spans in rows.items():
        spans.sort()
        assert len({cat for *_, cat in spans}) == 1, f"{key}: one kind in a row"
        for (_, end, *first), (begin, _, *second) in zip(spans, spans[1:]):
            assert begin >= end - SLACK, f"{key}: {first} and {second} overlap"
    return rows


def of_rank(rows, rank, cat):
    return sorted(span for (pid, _), spans in rows.items() if pid == rank
                  for span in spans if span[4] == cat)


def check_order(rows, ranks, panels):
    """Panels are multiplied in ascending order, each after its gather."""
    for rank in range(ranks):
        products = [s for s in of_rank(rows, rank, "compute")]
        whole = [s[3] for s in products if s[3] >= 0]  # the others belong to the last strips
        assert [s[3] for s in products] == whole + [-1] * (len(products) - len(whole))
        assert whole == list(range(len(whole))), f"rank {rank}: {products}"
        assert len(products) > len(whole) or len(whole) == panels, f"rank {rank}: {products}"
        gathered = {(s[2], s[3]): s[1] for s in of_rank(rows, rank, "transport")}
        assert len(gathered) == 2 * panels, f"rank {rank}: {gathered}"
        for begin, _, _, panel, _ in products:
            panel = panel if panel >= 0 else panels - 1
            assert all(gathered[f"fetch {x}", panel] <= begin + SLACK for x in "AB")


def inside(span, outer):
    return outer[0] - SLACK <= span[0] and span[1] <= outer[1] + SLACK


def check_phases(rows, record, ranks):
    """Steps lie inside their phases, and their seconds equal the record's."""
    where = {"compute": "multiplying", "transport": "multiplying", "read": "reading",
             "write": "writing"}
    for rank in range(ranks):
        phases = {s[2]: s for s in of_rank(rows, rank, "phase")}
        assert {"reading", "multiplying", "writing"} <= set(phases), phases
        for cat, name in where.items():
            for span in of_rank(rows, rank, cat):
                assert inside(span, phases[name]), f"rank {rank}: {span} is not in {name}"
        seconds = sum(s[1] - s[0] for s in of_rank(rows, rank, "compute")) * 1e-6
        counted = record["ranks"]["gemm_s"][rank]
        assert abs(seconds - counted) <= 0.02 * counted + 0.002, f"rank {rank}: {seconds}, {counted}"
        whole = (phases["multiplying"][1] - phases["multiplying"][0]) * 1e-6
        assert record["ranks"]["multiply_s"][rank] <= whole + 1e-6
        exposed = record["ranks"]["exposed_s"][rank]
        parts = record["ranks"]["exposed_fetch_s"][rank] + record["ranks"]["exposed_upload_s"][rank]
        assert parts <= exposed + 0.002 + 0.02 * whole, f"rank {rank}: {parts} of {exposed}"
    starts = [of_rank(rows, rank, "phase") for rank in range(ranks)]
    begins = [next(s[0] for s in spans if s[2] == "multiplying") for spans in starts]
    assert max(begins) - min(begins) < 1e6, "the clocks are those of one computer"


def check_multiply(damier, folder):
    run(damier, 1, "generate", folder / "A.h5:/a", "--rows", 300, "--cols", 1280)
    run(damier, 1, "generate", folder / "B.h5:/b", "--rows", 1280, "--cols", 260)
    for overlap in ([], ["--no-overlap"]):
        run(damier, 5, "multiply", folder / "A.h5", folder / "B.h5", "-o", folder / "C.h5", "--grid",
            "2x2x1", "--panel", 128, "--trace", folder / "t.json", "--json", folder / "r.json",
            "--threads", 1, "--force", *overlap)
        trace = json.loads((folder / "t.json").read_text())
        record = records_of(folder / "r.json")[-1]
        assert trace["otherData"]["schema"] == "damier-trace/1"
        rows = check_rows(trace, 5)  # the fifth is idle and only has phases
        check_order(rows, 4, 10)
        if overlap:
            check_phases(rows, record, 4)
        assert {s[4] for (pid, _), spans in rows.items() if pid == 4 for s in spans} == {"phase"}


def check_layers(damier, folder):
    run(damier, 4, "bench", "multiply", "--size", 256, "--grid", "1x1x4", "--repetitions", 2,
        "--warmup", 1, "--threads", 1, "--trace", folder / "t.json")
    rows = check_rows(json.loads((folder / "t.json").read_text()), 4)
    for rank in range(4):
        assert [s[2] for s in of_rank(rows, rank, "transport")] == ["reduce"] * 3
        assert len(of_rank(rows, rank, "compute")) == 3


def check_refusals(damier, folder):
    run(damier, 2, "bench", "multiply", "--size", 64, "--trace", folder / "no" / "t.json", expect=4)
    left = folder / "left.json"
    run(damier, 2, "bench", "multiply", "--size", 64, "--memory", "host=1KiB", "--trace", left,
        expect=5)
    assert not left.exists(), "a run that failed leaves no trace"
    run(damier, 1, "bench", "multiply", "--size", 64, "--trace", left)
    before = left.read_bytes()
    run(damier, 1, "bench", "multiply", "--size", 64, "--memory", "host=1KiB", "--trace", left, expect=5)
    assert left.read_bytes() == before, "a run that failed leaves the trace of an earlier one"


run_checks(check_multiply, check_layers, check_refusals)
