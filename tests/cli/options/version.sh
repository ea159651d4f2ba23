damier --version
damier --version -v | wc -l | awk '$1 < 3 { print "-v does not say more" }'
damier multiply --version | cmp - <(damier --version)
