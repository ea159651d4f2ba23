# Spack: `spack repo create FOLDER damier` prints the repository's path; copy this file to packages/damier/package.py
# there; then `spack repo add` that path; spack install damier +cuda cuda_arch=90
from spack.package import *

try:  # Spack 1; older versions define them in spack.package
    from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
    from spack_repo.builtin.build_systems.cuda import CudaPackage
except ImportError:
    pass


class Damier(CMakePackage, CudaPackage):
    """Multiplies matrices in HDF5 files over MPI ranks and GPUs."""

    homepage = "https://example.org/damier"
    git = "file:///path/to/damier"  # a git clone

    license("BSD-3-Clause")

    version("main", branch="main")
    version("0.3.0", tag="v0.3.0")
    version("0.2.0", tag="v0.2.0")

    # CudaPackage defines the variants cuda and cuda_arch.
    variant("codecs", default=True, description="unpack zstd, lz4, blosc and blosc2 without HDF5 plug-ins")
    variant("nccl", default=False, when="+cuda", description="panels between nodes by NCCL")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi@3:")
    depends_on("hdf5@1.10.3: ~mpi")
    depends_on("openblas threads=pthreads")
    depends_on("hwloc@2:")
    depends_on("jansson")
    depends_on("xxhash")
    depends_on("zlib-api")
    with when("+codecs"):
        depends_on("zstd")
        depends_on("lz4")
        depends_on("c-blosc")
        depends_on("c-blosc2@2.7:")
        depends_on("libdeflate@1.14:")
    depends_on("cuda@12:", when="+cuda")
    depends_on("nccl", when="+nccl")

    generator("ninja")

    def cmake_args(self):
        args = [
            self.define_from_variant("DAMIER_CUDA", "cuda"),
            self.define_from_variant("DAMIER_NCCL", "nccl"),
            self.define("DAMIER_TESTS", False),
        ]
        archs = self.spec.variants["cuda_arch"].value if self.spec.satisfies("+cuda") else ("none",)
        if "none" not in archs:
            # Hopper's own instructions require 90a.
            archs = ["90a-real;90-virtual" if arch == "90" else arch for arch in archs]
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", ";".join(archs)))
        return args
