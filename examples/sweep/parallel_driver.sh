#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors
#
# A sweep by GNU parallel: a part for each job, and one file in the end.
#
#     sh parallel_driver.sh GENERATOR.toml ROWS.parquet PARTS [OPTIONS OF PARALLEL]
#
# Called again after an interruption, it goes on: parts that are whole are kept, others are resumed.
set -eu
generator=$1 out=$2 parts=$3 base=${2%.parquet}
shift 3
export generator parts base
seq "$parts" | parallel --halt soon,fail=1 "$@" 'test -e "$base.{}.parquet" ||
    taut sweep "$generator" --shard "{}/$parts" --jobs 1 --out "$base.{}.parquet" --resume > /dev/null'

set --
for part in $(seq "$parts"); do set -- "$@" "$base.$part.parquet"; done
taut sweep "$generator" --out "$out" --merge "$@"
rm "$@"
