# C in another type than its sums: rounded once, and verified as rounded.
for types in "bf16 bf16" "f16 f16" "f64 f32" "f32 f64" "c128 c64" "i8 i32"; do
  read -r type type_c <<<"$types"
  for count in 1 3; do
    ranks $count damier bench multiply --m 61 --n 74 --k 257 --type "$type" --type-c "$type_c" --repetitions 2 \
      2>/dev/null | grep -o "sums in .*\|PASS"
  done
done
expect 2 damier bench multiply --size 100 --type f64 --type-c c128
