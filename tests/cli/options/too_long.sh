# No value is cut: what does not fit is refused.
zeros=$(printf '0%.0s' {1..300})
make A 8 8
say() { # NAME COMMAND...
  local name=$1
  shift
  "$@" >out 2>errors
  echo "$name: exit $?, $(sed -n "s/$zeros/000/g; s/.*error: //p" errors | cut -c 1-90)"
}
product() {
  say "$1" damier multiply A.h5 A.h5 -o C.h5 -q "${@:2}"
  [ ! -e C.h5 ] || echo "C was computed"
}
product alpha --alpha "${zeros}2"
product 'imaginary part' --alpha "0.${zeros}2,1"
product beta --beta "${zeros}2" --c A.h5
product memory --memory "host=${zeros}1GiB"
product panel --panel "${zeros}64"
product chunk --chunk "${zeros}64x64"
product kernel --kernel "${zeros}64"
product output -o "${zeros}${zeros}${zeros}${zeros}.h5"
product 'name of A' --c "A.h5:/${zeros}${zeros}${zeros}/${zeros}${zeros}" --beta 1
DAMIER_ALPHA="${zeros}2" product 'variable'
say sizes damier bench kernels --list --sizes "${zeros}64"
