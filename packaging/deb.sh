#!/usr/bin/env bash
# Builds Debian source and binary packages of the current commit in build/packages, and checks them with lintian.
# usage: packaging/deb.sh
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

# Names all that is missing at once: the tools, and what the package's build needs.
missing=()
for need in dpkg-buildpackage:dpkg-dev dh:debhelper lintian:lintian; do
  has "${need%:*}" || missing+=("${need#*:}")
done

# The packages of control's build dependencies, of alternatives the first that this system has, and of every package's.
build_dependencies() {
  local line name
  echo build-essential
  sed -n '/^Build-Depends:/,/^[^ B]/{/^Build-Depends:\|^ /p}' packaging/debian/control |
    sed 's/^Build-Depends://; s/([^)]*)//g; s/debhelper-compat/debhelper/' | tr ',' '\n' | while read -r line; do
    for name in ${line//|/ }; do
      if apt-cache show "$name" >/dev/null 2>&1; then
        echo "$name"
        break
      fi
    done
  done
}

if has dpkg-checkbuilddeps; then
  mapfile -t -O ${#missing[@]} missing < <(dpkg-checkbuilddeps packaging/debian/control 2>&1 |
    sed -n 's/.*nmet build dependencies: //p' | sed 's/ ([^)]*)//g; s/ | [^ ]*//g; s/:native//g; s/debhelper-compat/debhelper/' | tr ' ' '\n')
else
  mapfile -t -O ${#missing[@]} missing < <(build_dependencies)
fi
if [ ${#missing[@]} != 0 ]; then
  die "missing packages: apt-get install $(printf '%s\n' "${missing[@]}" | sort -u | tr '\n' ' ')"
fi

version=$(sed -n '1s/.*(\(.*\)-.*/\1/p' packaging/debian/changelog)
folder=build/packages source=build/packages/damier-$version
rm -rf "$source"
mkdir -p "$folder"
git archive --prefix="damier-$version/" HEAD | tee >(gzip -9n >"$folder/damier_$version.orig.tar.gz") |
  tar -C "$folder" -x
cp -r packaging/debian "$source/debian"
(cd "$source" && dpkg-buildpackage -us -uc) >"$folder/deb.log" 2>&1 || {
  tail -n 40 "$folder/deb.log" >&2
  die "dpkg-buildpackage failed; all of it is in $folder/deb.log"
}
rm -rf "$source"
lintian --fail-on error,warning "$folder"/damier_*.changes
say "packages:"
ls "$folder"/*.deb "$folder"/*.dsc
