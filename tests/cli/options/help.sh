# The whole of it, so that a change of the table is seen.
damier --help
damier --help-all
damier multiply --help
damier multiply --help-all
damier bench --help | cmp - <(damier --help)
