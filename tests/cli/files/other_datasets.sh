needs_h5py
make A 30 30
cp A.h5 C.h5
"$PYTHON" -c "import h5py
with h5py.File('C.h5', 'a') as f: f['precious'] = [1, 2, 3]; f['c'] = [[1.0]]"
cp C.h5 before.h5
try damier multiply A.h5 A.h5 -o C.h5:/c
try damier multiply A.h5 A.h5 -o C.h5:/c --force
cmp C.h5 before.h5 && ls
# Control characters in names do not reach the terminal, in tables or messages.
name=$(printf '\033[31mred.h5')
damier generate "$name" --size 3 | grep -c '\\x1b\[31mred'
damier info "$name" | grep -c '\\x1b\[31mred'
damier info "no$name" 2>&1 | grep -c "$(printf '\033')" # none
rm "$name"
