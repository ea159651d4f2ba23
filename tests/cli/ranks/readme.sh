# README's commands run as shown, in order, in an empty folder, and print the output shown.
readme() { python3 "$ROOT/tests/cli/bin/readme.py" "$ROOT/README.md" "$@"; }
damier info -q --json - >info 2>/dev/null
gpu=$(python3 -c 'import json; print("--gpu" * ("device_0" in json.load(open("info"))["backends"]["cuda"]))')
mkdir empty && cd empty || exit
readme commands "$gpu" >../commands
bash -e ../commands >../out 2>../errors || cat ../errors
grep -c '^damier: multiply.*PASS$' ../out
ls
rm C.h5
readme sessions
