# Tasks 16 to 25: what goes wrong in the first hour; each message says what to do instead.
needs_h5py
make A 60 40
make B 40 50
"$PYTHON" -c 'import h5py, numpy as np
file = h5py.File("two.h5", "w"); file["x"] = np.ones((4, 4)); file["y"] = np.ones((4, 4))
np.save("v.npy", np.ones(40)); open("t.csv", "w").write("1,2\n3,4\n")'
try damier multiply A.h5 A.h5 -o C.h5         # 16 shapes that do not fit
try damier multiply A.h5 nothing.h5 -o C.h5   # 17 a missing file
try damier multiply A.h5 B.h5:/x -o C.h5      # 18 a missing dataset
try damier multiply two.h5 two.h5 -o C.h5     # 19 which one?
try damier multiply A.h5 B.h5                 # 20 no output
try damier multiply A.h5 B.h5 A.h5            # 21 the output exists
try damier multiply A.h5 B.h5 -o A.h5
try damier multiply A.h5 3 -o C.h5            # 22 a factor
try damier multiply t.csv t.csv -o C.h5       # 23 text
try damier gram v.npy -o C.h5        # 24 a vector
try damier A.h5 B.h5                          # 25 no verb
[ ! -e C.h5 ] && echo "no C.h5 is left"
