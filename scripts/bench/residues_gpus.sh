#!/usr/bin/env bash
# usage: scripts/bench/residues_gpus.sh OPTION...: the set residues_gpus of products.sh.
exec "$(dirname "$0")/products.sh" residues_gpus "$@"
