#!/usr/bin/env bash
# Builds the site from docs/ into build/site; broken links and anchors are errors.
# usage: scripts/site.sh           needs mkdocs with the Material theme (scripts/site-requirements.txt)
#        scripts/site.sh --serve   serves it at 127.0.0.1:8000 and rebuilds after each change
# Set MKDOCS to the program if it is not in PATH.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

# The link to the repository: where this clone came from, if that is a site. 'git@HOST:PATH' is https://HOST/PATH.
DAMIER_REPOSITORY=${DAMIER_REPOSITORY-$(git remote get-url origin 2>/dev/null || true)}
DAMIER_REPOSITORY=$(sed -E 's|^(ssh://)?git@([^:/]+)[:/]|https://\2/|; s|\.git$||' <<<"$DAMIER_REPOSITORY")
case $DAMIER_REPOSITORY in
https://*) export DAMIER_REPOSITORY ;;
*) unset DAMIER_REPOSITORY ;;
esac

serve=
read_options "serve!" "$@"
mkdocs=${MKDOCS-mkdocs}
export NO_MKDOCS_2_WARNING=1 # hides a message of the theme about other programs
has "$mkdocs" || die "there is no $mkdocs: python3 -m venv build/site-tools && build/site-tools/bin/pip install -r" \
  "scripts/site-requirements.txt, then MKDOCS=build/site-tools/bin/mkdocs scripts/site.sh"
has mandoc || die "there is no mandoc, which makes a page of the manual"
if [ -n "$serve" ]; then
  exec "$mkdocs" serve
fi
# With --quiet it would not count warnings, of which broken links are some.
"$mkdocs" build --strict --site-dir build/site 2>&1 | { grep -E '^(WARNING|ERROR|Abort)' || true; }
