# A transport must pass a self-test before it is used; one that fails is refused with the reason.
bench() {
  ranks "$1" damier bench multiply --size 100 --backend cpu --repetitions 1 --transport "$2" "${@:3}"
}
for name in self ipc nccl; do
  expect 6 bench 2 $name
done
expect 2 bench 2 pigeon
bench 2 self 2>&1 | grep 'damier: error'
proof='
import json, sys
t = json.load(sys.stdin)["transport"]
print(t["name"], "proved" if t["proved_rate"] > 0 else "not proved")'
for name in auto host shared; do
  for count in 1 2; do
    bench $count $name -q -q --json - | python3 -c "$proof"
  done
done
# A limit on file sizes also limits shared memory: messages instead, or a refusal.
(
  ulimit -f 100000
  bench 2 auto -q -q --json - | python3 -c "$proof"
  bench 2 auto 2>&1 | grep 'transport shared'
  expect 6 bench 2 shared
  bench 2 shared 2>&1 | grep 'damier: error'
)
# a narrow first panel, by messages and in shared memory
for transport in host shared; do
  ranks 4 damier bench multiply --m 301 --n 404 --k 1027 --panel 64,256 --grid 2x1x2 --transport $transport \
    --repetitions 2 2>/dev/null | grep -o "kb=256 ramp=64\|PASS"
done
