# Tasks 1 to 7: from NumPy arrays to a checked product, and back.
needs_h5py
"$PYTHON" - <<'END'
import h5py, numpy as np
random = np.random.default_rng(1)
np.save("a.npy", random.standard_normal((60, 40)))
np.save("b.npy", np.asfortranarray(random.standard_normal((40, 50))))
with h5py.File("data.h5", "w") as file:
    file["run/b"] = np.load("b.npy")
    file["run/labels"] = np.arange(3)
END
# 1 two arrays  2 a dataset by its path  3 a file with one matrix needs none  4 as .npy  5 a look  6 a check
task damier multiply a.npy b.npy -o c.h5 -q
task damier multiply a.npy data.h5:/run/b -o d.h5 -q
task damier multiply a.npy data.h5 -o e.npy -q
task damier multiply a.npy b.npy -o f.npy --type f32 -q
damier info c.h5 | grep -E '^(dataset|shape|type|layout)'
task damier verify a.npy b.npy c.h5 -q
# 7 NumPy agrees, and finds C where it was written
"$PYTHON" - <<'END'
import h5py, numpy as np
exact = np.load("a.npy") @ np.load("b.npy")
for name, c in ("c.h5", h5py.File("c.h5")["c"][:]), ("d.h5", h5py.File("d.h5")["c"][:]), ("e.npy", np.load("e.npy")), \
        ("f.npy", np.load("f.npy")):
    print(name, c.shape, c.dtype, np.allclose(c, exact, atol=1e-4 if c.dtype == "f4" else 1e-12))
END
