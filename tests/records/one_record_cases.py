"""one_record: the record of one product says what was multiplied, how, and that it was verified. Begin here."""
from running import records_of, run, run_checks


def check_record(damier, folder):
    run(damier, 1, "generate", folder / "A.h5", "--size", 100, "-q")
    run(damier, 1, "multiply", folder / "A.h5", folder / "A.h5", "-o", folder / "C.h5", "--json", folder / "record.json", "-q")
    record, = records_of(folder / "record.json")  # one, in one line
    assert record["schema"] == "damier/1" and record["verb"] == "multiply"
    assert [record["problem"][side] for side in "mnk"] == [100, 100, 100]
    assert record["verification"]["verdict"] == "PASS" and record["verification"]["residual"] <= 1


run_checks(check_record)
