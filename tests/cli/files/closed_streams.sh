# If standard streams are closed, messages must not go into the program's files.
make A 900 900
closed() {
  local code=$?
  echo "exit $code"
  damier verify A.h5 A.h5 C.h5 -q | grep -o 'PASS$'
}
multiply=(damier multiply A.h5 A.h5 -o C.h5 --force -v --progress always)
"${multiply[@]}" 2>&- | grep -o 'PASS$'
closed
"${multiply[@]}" <&- >out 2>&-
closed
"${multiply[@]}" >&- 2>&-
closed
"${multiply[@]}" <&- >&- 2>errors
closed
grep -c 'could not be written to standard output' errors
damier generate G.h5 --size 30 -v <&- >&- 2>&-
echo "exit $?"
damier info G.h5 | grep shape
