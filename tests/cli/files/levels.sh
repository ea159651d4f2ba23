make A 200 200
run() { damier multiply A.h5 A.h5 -o C.h5 --force "$@" >out 2>err; }
run -q -q
echo "quiet twice: $(wc -c <out) $(wc -c <err)"
run -q
echo "quiet: $(wc -l <out) $(wc -c <err), $(grep -o '^damier: multiply' out)"
run
echo "table: $([ "$(wc -l <out)" -gt 5 ] && echo yes), $(tail -n 1 out | grep -o '^damier: multiply.*PASS$' | cut -c1-16)"
cp err usual
run -v
echo "more: $([ "$(wc -l <err)" -gt "$(wc -l <usual)" ] && echo yes)"
run --progress always
echo "bar: $(tr '\r' '\n' <err | grep -c '%' | awk '{ print ($1 > 0) ? "yes" : "no" }')"
run --progress never
echo "none: $(grep -c '%' err)"
verb() { damier "$@" -q --force | cut -d ' ' -f 1-3; }
verb gram A.h5 -o G.h5
verb gram A.h5 -o G.h5 --of rows --triangle lower
verb cov A.h5 -o G.h5
verb cor A.h5 -o G.h5
verb cov A.h5 -o G.h5 --missing pairwise
