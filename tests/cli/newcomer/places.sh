# Tasks 41 to 52: names and places that people try; what cannot be says what to do instead.
needs_h5py
"$PYTHON" - <<'END2'
import h5py, numpy as np, os
random = np.random.default_rng(1)
a, b = random.standard_normal((6, 4)), random.standard_normal((4, 5))
np.save("a.npy", a)
np.save("b.npy", b)
np.savez("ab.npz", a=a, b=b)
os.makedirs("my data/größe µ")
with h5py.File("my data/größe µ/A (1).h5", "w") as file:
    file["mätrix ä/x y"] = a
with h5py.File("saved.mat", "w", userblock_size=512) as file:  # MATLAB's save -v7.3: matrices by columns
    file["A"] = a.T
with open("saved.mat", "r+b") as file:
    file.write(b"MATLAB 7.3 MAT-file")
open("list.txt", "wb").write(b"\xef\xbb\xbfmy data/gr\xc3\xb6\xc3\x9fe \xc2\xb5/A (1).h5\r\n\r\na.npy\r\n")
os.makedirs("z.zarr")
open("z.zarr/zarr.json", "w").write('{"zarr_format":3,"node_type":"array"}')
END2
mkdir folder
ln -s "../my data/größe µ/A (1).h5" folder/link.h5
mkfifo pipe
# 41 spaces and letters of any language  42 a list from an editor of Windows  43 a relative link  44 MATLAB's file
task damier multiply 'my data/größe µ/A (1).h5:/mätrix ä/x y' b.npy -o 'my data/C ü.h5:/c d' -q
task damier multiply @list.txt b.npy -o list.h5 -q
task damier multiply folder/link.h5 b.npy -o link.h5 -q
task damier multiply saved.mat b.npy --op-a t -o mat.h5 -q
"$PYTHON" - <<'END2'
import h5py, numpy as np
a, b = np.load("a.npy"), np.load("b.npy")
for name, factor in ("my data/C ü.h5", a), ("list.h5", np.vstack([a, a])), ("link.h5", a), ("mat.h5", a):
    with h5py.File(name) as file:
        print(name, *file, np.allclose(next(iter(file.values()))[:], factor @ b))
END2
try damier multiply saved.mat b.npy -o C.h5        # 45 what fits
try damier multiply b.npy a.npy -o C.h5
try damier multiply '~/a.npy' b.npy -o C.h5        # 46 a home that no shell saw
try damier multiply a.npy b.npy --output='~/C.h5'
try damier multiply a.npy b.npy -o folder          # 47 a folder for C, and one that is not there
try damier multiply a.npy b.npy -o new/C.h5
ln -s a.npy alias.npy
ln a.npy second.npy
try damier multiply a.npy b.npy -o alias.npy --force # 48 A by another name
try damier multiply a.npy b.npy -o second.npy --force
try damier multiply folder b.npy -o C.h5           # 49 a folder for A
try damier multiply pipe b.npy -o C.h5             # 50 a pipe, and standard output
try damier multiply a.npy b.npy -o -
try damier multiply ab.npz b.npy -o C.h5           # 51 other formats
try damier multiply z.zarr b.npy -o C.h5
try damier mult a.npy b.npy -o C.h5                # 52 a short verb
[ ! -e C.h5 ] && [ ! -e new ] && echo "no C.h5 is left"
