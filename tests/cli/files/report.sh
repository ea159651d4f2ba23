# The report for a person has at most 12 lines, and says what its words mean; -v has the rest.
make A 90 70 --kind normal
make B 70 80 --kind normal --seed 2
lines() { "$@" --force 2>/dev/null | tee said | wc -l | awk '{ print ($1 <= 12 ? "at most 12 lines" : $1 " lines") }'; }
lines damier multiply A.h5 B.h5 -o C.h5
grep -oE '^(A|B|C|predicted|total|  multiplying|rate|verified) ' said
grep -oE 'residual: |bound: |--verify-seed' said
lines damier gram A.h5 -o G.h5
lines damier cor A.h5 -o R.h5
lines damier pca A.h5 --rank 40 -o P.h5
grep -oE '^  component [0-9]+' said
lines damier gram A.h5 --top 3 -o T.h5
lines ranks 2 damier multiply A.h5 B.h5 -o C.h5
damier multiply A.h5 B.h5 -o C.h5 --force -v 2>/dev/null | grep -oE '^(product|types|runs on|plan|norm of C|  writing) '
damier pca A.h5 --rank 40 -o P.h5 --force -v 2>/dev/null | grep -c '^  component'
damier multiply A.h5 B.h5 -o D.h5 --dry-run 2>/dev/null | grep -o '^plan '
damier multiply A.h5 B.h5 -o C.h5 --force -q 2>/dev/null | wc -l
