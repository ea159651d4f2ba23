# Tasks 8 to 15: the products that people need besides A B.
needs_h5py
make A 60 40
make B 40 50 --seed 2
make D 60 50 --seed 3
# 8 A^T A  9 A A^T  10 2 A B  11 A B + D  12 C += A B in its own file  13 compressed chunks  14 into a file with other data
task damier multiply A.h5 A.h5 --op-a t -o AtA.h5 -q
task damier multiply A.h5 A.h5 --op-b t -o AAt.h5 -q
task damier multiply A.h5 B.h5 --alpha 2 -o C2.h5 -q
task damier multiply A.h5 B.h5 --beta 1 --c D.h5 -o CD.h5 -q
task damier multiply A.h5 B.h5 --beta 1 --c CD.h5 -o CD.h5 --force -q
task damier multiply A.h5 B.h5 --chunk 16x16 --deflate 4 -o Z.h5 -q
task damier multiply A.h5 B.h5 -o D.h5:/c --append -q
# 15 integers
damier generate I.h5 --size 30 --kind integer --type i8 -q >/dev/null
task damier multiply I.h5 I.h5 -o I2.h5 -q
"$PYTHON" - <<'END'
import h5py, numpy as np
a, b, d = (h5py.File(f"{x}.h5")[x][:] for x in "ABD")
wanted = {"AtA.h5": a.T @ a, "AAt.h5": a @ a.T, "C2.h5": 2 * (a @ b), "CD.h5": d + 2 * (a @ b), "Z.h5": a @ b, "D.h5": a @ b}
for name, exact in wanted.items():
    c = h5py.File(name)["c"]
    print(name, c.chunks, c.compression, np.allclose(c[:], exact, atol=1e-10))
i = h5py.File("I.h5")["a"][:].astype(int)
print("I2.h5", h5py.File("I2.h5")["c"].dtype, np.array_equal(h5py.File("I2.h5")["c"][:], i @ i))
END
