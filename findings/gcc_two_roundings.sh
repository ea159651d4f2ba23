#!/usr/bin/env bash
# GCC 12.2 at -O2, Debian 12's compiler, leaves out two roundings of double to float that stand beside each other: it makes one vector of
# both, narrows and widens it again, and removes the two conversions as if they were none. A single rounding, and those of a loop, stay.
# Seen with gcc-12 12.2.0-14+deb12u1 (Debian 12, amd64): out[0] = (float)x; out[1] = (float)y stores 0.1 as it is, where -O1 stores
# 0.10000000149011612. GCC 11.3 does so at -O3; GCC 14.2 at neither.
# Why it matters here: the verification multiplies doubtful rows again, rounding as kernels in f32 do. Its two sums stood beside each other.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
apt-get download -q gcc-12=12.2.0-14+deb12u1 cpp-12=12.2.0-14+deb12u1 libgcc-12-dev=12.2.0-14+deb12u1 >/dev/null
for package in *.deb; do dpkg -x "$package" .; done
cat >rounding.c <<'C'
double out[2], same;
void pair(double x, double y) { out[0] = (float)x; out[1] = (float)y; }
void single(double x) { same = (float)x; }
C
cat >main.c <<'C'
#include <stdio.h>
extern double out[2], same;
void pair(double x, double y);
void single(double x);
int main(void) {
  pair(0.1, 0.3);
  single(0.1);
  printf("%.17g %.17g %.17g\n", out[0], out[1], same);
  return 0;
}
C
usr/bin/gcc-12 --version | head -1
for level in -O1 -O2; do
  usr/bin/gcc-12 "$level" -S rounding.c -o rounding.s
  gcc main.c rounding.s -o main
  echo "$level: $(./main)" | tee "seen$level"
done
[ "$(cat seen-O1)" = "-O1: 0.10000000149011612 0.30000001192092896 0.10000000149011612" ]
[ "$(cat seen-O2)" = "-O2: 0.10000000000000001 0.29999999999999999 0.10000000149011612" ]
