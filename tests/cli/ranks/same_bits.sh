for count in 1 3 8; do
  ranks $count damier generate A$count.h5 --size 70 --kind ozaki --phi 3 --type c64 -q >/dev/null
  h5dump -d /a -o text$count A$count.h5 >/dev/null
done
cmp text1 text3 && cmp text1 text8 && echo generated
for count in 1 2 3 4 7; do
  ranks $count damier multiply A1.h5 A1.h5 -o C$count.h5 --reproducible -q >/dev/null
  h5dump -d /c -b LE -o bits$count C$count.h5 >/dev/null
  cmp bits1 bits$count || echo "$count ranks differ"
done
