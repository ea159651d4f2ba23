# The whole of it, so that a change of the table is seen.
damier --help
damier multiply --help
damier bench --help | cmp - <(damier --help)
