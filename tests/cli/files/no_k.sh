# k = 0: C is beta C0, or zeros; a product without rows or columns is refused.
needs_h5py
make C0 6 5
"$PYTHON" - <<'END'
import h5py
import numpy as np
with h5py.File("A.h5", "w") as file:
    file["a"] = np.zeros((6, 0))
    file["t"] = np.zeros((0, 6))
    file.create_dataset("chunked", (6, 0), "f8", maxshape=(None, None), chunks=(4, 4))
with h5py.File("B.h5", "w") as file:
    file["b"] = np.zeros((0, 5))
np.save("A.npy", np.zeros((6, 0)))
np.save("B.npy", np.zeros((0, 5), order="F"))
END
check() { # FACTOR
  "$PYTHON" -c 'import sys, h5py; c, c0 = (h5py.File(f"{n}.h5")[d][()] for n, d in (("C", "c"), ("C0", "C0")))
print("right" if (c == float(sys.argv[1]) * c0).all() else c)' "$1"
}
product() { # FACTOR OPERANDS...
  damier multiply "${@:2}" -o C.h5 --force -q | grep -o ' k=0 .*PASS' | sed 's/ ranks.* / ... /'
  check "$1"
}
product 0 A.h5:/a B.h5
product 2 A.h5:/a B.h5 --beta 2 --c C0.h5
damier verify A.h5:/a B.h5 C.h5 -q | grep -o ' k=0 .*PASS' | sed 's/ residual.* / ... /'
damier verify A.h5:/a B.h5 C.h5 --full -q | grep -o 'PASS$'
damier verify A.h5:/a B.h5 C.h5 --beta 3 -q >/dev/null 2>&1
echo "exit $?"
product 0 A.h5:/t B.h5 --op-a t
product 0 A.h5:/chunked B.npy --chunk 2x2 --deflate 1
product -1 A.npy B.npy --beta -1 --c C0.h5 --verify-files
damier info A.h5:/a | grep shape
try damier multiply A.h5:/t C0.h5 -o D.h5
try damier multiply C0.h5 B.h5 -o D.h5 --op-b t
try damier multiply A.h5:/a A.h5:/t -o C.h5 --op-a t --op-b t --force
