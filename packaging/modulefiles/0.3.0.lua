-- Lmod: install as MODULEPATH/damier/0.3.0.lua. root is the prefix of 'cmake --install build/release --prefix'.
whatis("Name: damier")
whatis("Version: 0.3.0")
whatis("Description: multiplies matrices in HDF5 files over MPI ranks and GPUs")

local root = "/opt/damier/0.3.0"
-- Modules used for the build:
-- depends_on("openmpi", "hdf5", "openblas")

prepend_path("PATH", pathJoin(root, "bin"))
append_path("MANPATH", "") -- an empty entry keeps the default path of man
prepend_path("MANPATH", pathJoin(root, "share/man"))
prepend_path("FPATH", pathJoin(root, "share/zsh/site-functions"))
prepend_path("CMAKE_PREFIX_PATH", root)
setenv("DAMIER_ROOT", root)
