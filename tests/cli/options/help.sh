# The whole output, so that changes of the table show.
damier --help
damier --help-all
damier multiply --help
damier multiply --help-all
damier bench --help | cmp - <(damier --help)
