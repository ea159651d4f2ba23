# Files that another program is writing, and the mark that it leaves when it is killed.
needs_h5py
unset HDF5_USE_FILE_LOCKING
cat >writer.py <<'END'
import os
import sys
import time

import h5py
import numpy as np

with h5py.File("a.h5", "w", libver=("v110", "v110")) as f:
    a = f.create_dataset("a", (8, 6), "f8", maxshape=(None, 6), chunks=(3, 4), compression="gzip")
    a[...] = np.arange(48.0).reshape(8, 6)
    f.flush()
    if sys.argv[1] == "swmr":
        f.swmr_mode = True
    open("ready", "w").close()
    while not os.path.exists("done"):
        time.sleep(0.02)
    os._exit(0)  # as if killed: the file is not closed
END
start() {
  rm -f ready
  "$PYTHON" writer.py "$1" &
  writer=$!
  while [ ! -e ready ]; do sleep 0.02; done
}
stop() {
  touch done
  wait "$writer"
  rm done
}
make b 6 5
# HDF5's locks do not meet those of the run.
for wish in TRUE BEST_EFFORT FALSE; do
  HDF5_USE_FILE_LOCKING=$wish damier multiply b.h5 b.h5 --op-a t --deflate 1 -o l.h5 --force -q | grep -o 'PASS$'
done
start alone
# By its lock or, where the library of h5py takes none, by its mark.
for more in '' --swmr; do
  damier multiply a.h5 b.h5 -o c.h5 -q $more 2>&1 | grep -o 'a.h5: is in use'
  echo "exit ${PIPESTATUS[0]}"
done
stop
start swmr
try damier multiply a.h5 b.h5 -o c.h5 -q | sed 's/(HDF5: .*)/(HDF5: ...)/'
damier multiply a.h5 b.h5 -o c.h5 -q --swmr | grep -o 'PASS$'
ranks 2 damier multiply a.h5 b.h5 -o d.h5 -q --swmr | grep -o 'PASS$'
damier info a.h5 --swmr | grep '^shape'
stop
expect 4 damier multiply a.h5 b.h5 -o c.h5 --force -q
damier multiply a.h5 b.h5 -o c.h5 --force -q --swmr | grep -o 'PASS$'
"$PYTHON" -c "import h5py, numpy as np
c = np.arange(48.0).reshape(8, 6) @ h5py.File('b.h5')['b'][...]
print(all(np.allclose(h5py.File(name)['c'][...], c) for name in ('c.h5', 'd.h5')))"
