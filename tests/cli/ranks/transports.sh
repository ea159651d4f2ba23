# What moves panels is proved before it is used; what cannot be used is refused with the reason.
bench() {
  ranks "$1" damier bench multiply --size 100 --backend cpu --repetitions 1 --transport "$2" "${@:3}"
}
for name in self ipc nccl cuda-mpi; do
  expect 6 bench 2 $name
done
expect 2 bench 2 pigeon
for name in self cuda-mpi; do
  bench 2 $name 2>&1 | grep 'damier: error'
done
for name in auto host; do
  for count in 1 2; do
    bench $count $name -q -q --json - | python3 -c '
import json, sys
t = json.load(sys.stdin)["transport"]
print(t["name"], "proved" if t["proved_rate"] > 0 else "not proved")'
  done
done
