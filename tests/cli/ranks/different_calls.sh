# Ranks that were started with different commands are refused, once, before anything is written.
make A 20 20
make B 20 20 --seed 2
product="damier multiply A.h5 A.h5 -o C.h5 -q"
differ() { # FIRST SECOND
  # shellcheck disable=SC2086 # words
  timeout 60 mpirun -n 1 $1 : -n 2 $2 >out 2>errors
  echo "exit $?, $(grep -c 'damier: error' errors) error: $(sed -n 's/damier: error: //p' errors)"
}
differ "$product --alpha 2" "$product --alpha 3"
differ "$product" "$product --op-b t --no-verify"
differ "$product" "damier multiply A.h5 B.h5 -o C.h5 -q"
differ "$product" "damier multiply A.h5 A.h5 -o D.h5 -q"
differ "$product" "env DAMIER_REPRODUCIBLE=yes $product"
differ "$product" "damier verify A.h5 A.h5 A.h5 -q"
differ "$product" "$product"
ls C.h5* D.h5* 2>/dev/null || true
