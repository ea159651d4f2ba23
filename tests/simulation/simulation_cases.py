"""Simulated runs of 8 to 64 ranks: their traffic, their output, and that slower conditions give longer times."""
import argparse
import copy
import json
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "simulation"))
import file_cases  # pylint: disable=wrong-import-position
from running import simulate  # pylint: disable=wrong-import-position

MACHINE = argparse.Namespace(model="h200", nodes=2, gpus=4, link=370e9, nic=50e9, link_latency=2e-6,
                             nic_latency=5e-6, slow_nic=1.0, network="ports", files=0, file_rate=10e9)
SHAPES = ((4096, 8192, 12288, "f64"), (10001, 7003, 9999, "f64"), (8192, 4096, 65, "bf16"))
GRIDS = ("2x4x1", "2x2x2", "1x1x8", "8x1x1", "1x7x1", "3x1x2", "0x0x0")


def machine(**others):
    result = copy.copy(MACHINE)
    for name, value in others.items():
        setattr(result, name, value)
    return result


def volumes(run):
    """Every rank receives the plan's number of bytes exactly; if no row needs padding, the total is the planner's."""
    for network in ("ports", "flows"):
        for grid in GRIDS:
            for m, n, k, kind in SHAPES[:1] if network == "flows" else SHAPES:
                r = run(machine(network=network), ["--m", m, "--n", n, "--k", k, "--type", kind,
                                                   "--grid", grid])
                moved, case = r["moved"], f"{network} {grid} {m}x{n}x{k} {kind}"
                assert moved["as_planned"], f"{case}: {moved}"
                assert moved["between_ranks_bytes"] == moved["padded_bytes"], case
                assert moved["between_nodes_bytes"] == moved["padded_between_nodes_bytes"], case
                if (m, r["plan"]["grid"]) in ((4096, "2x4x1"), (4096, "2x2x2"), (4096, "1x1x8")):
                    assert moved["between_ranks_bytes"] == moved["planned_bytes"], case
                    assert moved["between_nodes_bytes"] == moved["planned_between_nodes_bytes"], case


def times(run):
    """Runs of one product under several conditions."""
    words = ["--size", 32768]
    plain, again = run(machine(), words), run(machine(), words)
    seconds = plain["times"]["multiply_s"]
    assert seconds == again["times"]["multiply_s"], "the same run took another time"
    busy = plain["times"]["gemm_s"]
    assert busy < seconds <= busy + plain["times"]["exposed_s"] + 1e-4, plain["times"]
    plainly = run(machine(), [*words, "--no-overlap"])
    assert plainly["times"]["multiply_s"] > 1.02 * seconds, "overlap hid nothing"
    slower = run(machine(), [*words, "--slow-down", 0.05])["times"]["multiply_s"]
    assert 1.02 * seconds < slower < 1.06 * seconds, (seconds, slower)
    assert plain["bound"]["total"] == "compute", plain["simulated"]
    words += ["--grid", "2x4x1"]
    narrow = run(machine(nic=2e9), words)
    assert narrow["bound"]["total"] == "network", narrow["simulated"]
    slow = run(machine(nic=2e9, slow_nic=0.25), words)["times"]["multiply_s"]
    assert slow > 2 * narrow["times"]["multiply_s"], "one slow adapter held nobody up"


def networks(run):
    """Links shared among all messages, and ports that serve one at a time, give similar times if the first panel and
    the last product are relatively short."""
    for size, nic in ((32768, 50e9), (16384, 10e9)):
        took = [run(machine(network=network, nic=nic), ["--size", size])["times"]["multiply_s"]
                for network in ("ports", "flows")]
        assert 0.9 < took[0] / took[1] < 1.05, (size, nic, took)


def files(run):
    """See file_cases.py."""
    file_cases.files(run, machine)


def many(run):
    """One rank, without peers; two, whose messages once left a rounding remainder; 64, of which none is idle; efficiency
    is at most 1."""
    one = run(machine(nodes=1, gpus=1), ["--size", 32768])
    assert one["rates"]["of_library"] > 0.99 and one["moved"]["between_ranks_bytes"] == 0, one
    few = run(machine(nodes=1, gpus=2), ["--size", 32768, "--grid", "1x2x1"])
    assert few["rates"]["of_library"] > 0.9, few["rates"]
    r = run(machine(nodes=8, gpus=8), ["--size", 65536, "--type", "bf16", "--slow-down", 0.05])
    assert r["machine"]["ranks"] == 64 and r["moved"]["as_planned"]
    assert 0.3 < r["rates"]["of_library"] < 1.0 and r["rates"]["of_bound"] < 1.0, r["rates"]
    assert r["simulated"]["planning_s"] < 1.0


def refusals(program):
    """With the program's exit codes."""
    for words, code, reason in ((["--size", "0"], 2, "not a size"), (["--grid", "2x2"], 2, "not a grid"),
                                ([], 2, "are needed"), (["--size", "8", "--what"], 2, "not known"),
                                (["--size", "8", "--grid", "3x3x1"], 2, "more than the 8 ranks"),
                                (["--size", "8", "--files", "2"], 2, "needs --file-rate"),
                                (["--size", "1000000"], 5, "needs")):
        try:
            simulate(program, MACHINE, words)
        except RuntimeError as error:
            assert reason in error.args[0] and f"code {code}" in error.args[2], (words, error.args)
        else:
            raise AssertionError(f"{words}: not refused")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=pathlib.Path, required=True)
    program = parser.parse_args().program
    if not shutil.which("smpirun") or not program.exists():
        print("skipped: SimGrid's smpirun is not there, or came after the build "
              "(scripts/packages.sh simulation)")
        sys.exit(77)
    schema = json.loads((ROOT / "docs" / "record.schema.json").read_text())
    try:
        import jsonschema  # pylint: disable=import-outside-toplevel
        validator = jsonschema.Draft202012Validator(schema)
    except ImportError:
        validator = None

    def run(where, words):
        record = simulate(program, where, words, timeout=300)
        errors = [e.message for e in validator.iter_errors(record)] if validator else []
        assert not errors, errors
        return record

    for case in (volumes, times, networks, files, many):
        case(run)
        print(f"{case.__name__}: passed", flush=True)
    refusals(program)
    words = subprocess.run(["smpirun", "--version"], capture_output=True, text=True, check=True).stdout
    print(f"refusals: passed, with {words.splitlines()[0]}")


if __name__ == "__main__":
    main()
