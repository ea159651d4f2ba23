# Without MPI, and once under mpirun.
ranks 3 damier plan --size 1000 -q | grep -c '^damier: plan'
ranks 3 damier --version | grep -c '^damier '
ranks 3 damier multiply --help | grep -c '^Usage'
ranks 3 damier multiply --op-a x 2>errors
echo "exit $?"
grep -c 'damier: error' errors
