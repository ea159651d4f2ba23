"""one_product: one product on one emulated GPU, compared with NumPy element by element. Begin here; the other files have many cases."""
import h5py
import numpy

from running import records_of, run, run_checks


def check_product(damier, folder):
    a = numpy.arange(300 * 200.0).reshape(300, 200) % 7 - 3  # whole numbers: C must be exact
    with h5py.File(folder / "A.h5", "w") as file:
        file["a"] = a
    run(damier, 1, "multiply", folder / "A.h5", folder / "A.h5", "-o", folder / "C.h5", "--op-b", "t", "--backend", "cuda",
        "--json", folder / "record.json", "-q")
    with h5py.File(folder / "C.h5") as file:
        numpy.testing.assert_array_equal(file["c"][:], a @ a.T)
    assert "emulated" in records_of(folder / "record.json")[-1]["machine"]["device"]


run_checks(check_product)
