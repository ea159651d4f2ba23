#!/usr/bin/env bash
# usage: scripts/bench/cublasxt.sh OPTION...: the set cublasxt of products.sh.
exec "$(dirname "$0")/products.sh" cublasxt "$@"
