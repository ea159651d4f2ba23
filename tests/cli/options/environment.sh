plan="damier plan --size 1000 --ranks 4 --memory host=4GiB"
grid() { grep -o 'grid=[0-9x]*' | tail -n 1; }
DAMIER_GRID=4x1x1 $plan | grid
DAMIER_GRID=4x1x1 $plan --grid 1x4x1 | grid # a flag comes first
DAMIER_KERNEL=none $plan >/dev/null && echo "a variable of another verb is left alone"
DAMIER_VERIFY=no DAMIER_QUIET=1 $plan | wc -l
try env DAMIER_GRID=4x $plan
try env DAMIER_REPRODUCIBLE=perhaps $plan
try env DAMIER_PANNEL=64 DAMIER_ROOT=/opt DAMIER_ZYXWVUT=1 $plan -q | grep -v '^damier: plan'
