#!/usr/bin/env bash
# Makes build/packages/damier-VERSION-SYSTEM.tar.gz, which runs from any folder and contains its libraries,
# except MPI and the C library: the computer's MPI must be of the same kind as the build's (for Open MPI also of the
# same major version).
# usage: packaging/tarball.sh [CMAKE-OPTION...]
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

mkdir -p build/packages
cmake --preset release -B build/tarball -DDAMIER_BUNDLE=ON -DDAMIER_TESTS=OFF "$@" >build/packages/tarball.log
cmake --build build/tarball 2>&1 | show_tenths >>build/packages/tarball.log
(cd build/tarball && cpack -G TGZ -B ../packages >>../packages/tarball.log)
rm -rf build/packages/_CPack_Packages
say build/packages/damier-*.tar.gz
