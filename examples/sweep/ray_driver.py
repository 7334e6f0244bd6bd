# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors
"""A sweep on a Ray cluster: a part for each task, and one file in the end.

    pip install ray
    python ray_driver.py GENERATOR.toml ROWS.parquet PARTS

`taut` must be on the PATH of every worker. They share nothing else: the generator file goes to them, rows come back.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import ray


@ray.remote
def part(generator: bytes, which: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "generator.toml").write_bytes(generator)
        line = ["taut", "sweep", "generator.toml", "--shard", which, "--jobs", "1", "--out", "rows.parquet"]
        subprocess.run(line, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        return Path(folder, "rows.parquet").read_bytes()


def main(generator: str, out: str, parts: str) -> None:
    text = Path(generator).read_bytes()
    made = [part.remote(text, f"{number}/{parts}") for number in range(1, int(parts) + 1)]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{number}.parquet") for number in range(len(made))]
        for file, rows in zip(files, ray.get(made)):
            file.write_bytes(rows)
        subprocess.run(["taut", "sweep", generator, "--out", out, "--merge", *files], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
