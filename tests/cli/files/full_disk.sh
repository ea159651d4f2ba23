make A 400 400
trap '' XFSZ
ulimit -f 600 # kilobytes; C takes 1250
damier multiply A.h5 A.h5 -o C.h5 2>errors >/dev/null
echo "exit $?"
head -n 1 errors | cut -c1-22
ls | grep -c '^C\.h5$' # neither a whole-looking file
