# The commands of the how-to pages and of "From NumPy" run as shown, each page in an empty folder, and print the
# output shown.
[ -n "$PYTHON" ] || exit 77
mkdir bin
ln -s "$PYTHON" bin/python3
export PATH="$PWD/bin:$PATH"
for page in numpy howto/{order,slices,batches,gram,covariance,missing,compressed,memory,many_gpus,resume,exit5,neighbours,thresholds,makefiles,job_lists,compare}; do
  rm -rf work && mkdir work && cd work || exit
  echo "$page: $("$PYTHON" "$ROOT/tests/cli/bin/pages.py" "$ROOT/docs/$page.md" 2>&1)"
  cd ..
done
