# Impossible measurements are refused before a GPU is opened.
try damier bench kernels --kernel warp_tyle
try damier bench kernels --kernel 'zzz*'
try damier bench kernels --kernel warp_tile --type f16
try damier bench kernels --kernel warp_tile --op dot
try damier bench kernels --op gem
try damier bench kernels --type f23
try damier bench kernels --sizes 12:3:x2
try damier bench kernels --sizes 1,2
try damier bench kernels --sizes none.csv
try damier bench kernels --repetitions 2
try damier bench kernels --repetitions 1001
try damier bench kernels --pad 2Mi
try damier bench kernels --settle x
printf '1,2,3\n4;5\n' >sizes.csv
try damier bench kernels --sizes sizes.csv
try damier bench kernels 4096
try damier multiply A B --settle 4
