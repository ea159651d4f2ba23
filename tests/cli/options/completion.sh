damier --completion bash >script
. ./script
complete_line() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _damier
  echo "$*: ${COMPREPLY[*]}"
}
complete_line damier mu
complete_line damier bench ""
complete_line damier multiply A.h5 --op
complete_line damier multiply --compute t
complete_line damier multiply --no
complete_line damier bench links --re
complete_line damier bench rates --th
complete_line damier multiply -o C
complete_line damier --comp
complete_line damier --completion f

# Each shell parses its own script; if it is installed, it also completes.
damier --completion zsh >_damier
damier --completion fish >damier.fish
if command -v zsh >/dev/null; then zsh -n _damier; fi
if command -v fish >/dev/null; then
  fish --no-config -c 'source damier.fish; complete -C "damier bench k"; complete -C "damier multiply --compute t"'
else
  printf 'kernels\tcheck and measure each kernel by itself on one GPU\n'
  printf 'tf32\tprecision of the products\n'
fi
