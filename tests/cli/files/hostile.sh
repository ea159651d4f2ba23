# Files that nobody should trust: each with its exit code and a word of its message.
needs_h5py
"$PYTHON" "$ROOT/tests/hostile/make_cases.py" bad >/dev/null
bash "$ROOT/tests/hostile/run_cases.sh" "$PWD/bad" damier info -q
