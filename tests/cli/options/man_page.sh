damier --man-page >damier.1
cmp damier.1 "$ROOT/docs/damier.1" || echo "docs/damier.1 is old: damier --man-page >docs/damier.1"
! command -v mandoc >/dev/null || mandoc -Tlint -Wwarning damier.1
# The page contains every option and every variable.
damier multiply --help-all | sed 's,\[no-],,' | grep -o -- '--[a-z][a-z-]*' | tr -d - | sort -u >options
tr -d '\\-' <damier.1 | grep -o 'Fl [a-z]*' | cut -c4- | sort -u >described
comm -23 options described
