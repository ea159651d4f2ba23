# shellcheck shell=bash
# Sourced by the findings.  packages NAME==VERSION...: installs these packages in a new environment in a temporary folder, which
# becomes the current folder.  check: runs a program of Python from standard input there; its exit code is the finding's.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

packages() {
  python3 -m venv env
  env/bin/python -m pip install --quiet --disable-pip-version-check "$@"
  env/bin/python -m pip list --disable-pip-version-check 2>/dev/null |
    grep -iE "^($(printf '%s|' "${@%%==*}")) " || true
}

check() { env/bin/python -; }
