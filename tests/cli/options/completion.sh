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
complete_line damier bench io --re
complete_line damier tune ""
complete_line damier tune rates --th
