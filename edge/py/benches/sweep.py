# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""What Python adds to a sweep: this package beside the command `taut sweep`, which is the same in Rust alone.

Both make the same rows with as many threads, in turns. Measured is from the start of a process to its end, so that
Python's own start and imports count; and besides, for Python, the call alone. Prints JSON: times in seconds, also of
processors, which say more where others use them; and by how much Python took longer, as a share, of the medians. Rows
are compared first.

    python benches/sweep.py --command target/release/taut examples/sweep/han14.toml
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import taut

CALL = """
import sys, time, taut
begin = time.perf_counter()
taut.sweep(sys.argv[1], shard=(1, int(sys.argv[2])), jobs=int(sys.argv[3]))
print(time.perf_counter() - begin)
"""


def main() -> int:
    """Measures, and says whether rows are the same."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("generator", type=Path, help="the generator file")
    parser.add_argument("--command", type=Path, required=True, help="the command taut, built for release")
    parser.add_argument("--parts", type=int, default=2, help="make the first of so many parts of all rows [2]")
    parser.add_argument("--jobs", type=int, default=2, help="threads [2]")
    parser.add_argument("--rounds", type=int, default=5, help="[5]")
    wish = parser.parse_args()
    generator = taut.Generator.read(wish.generator)
    rows = generator.shard(1, wish.parts)
    by_command = [
        str(wish.command),
        "sweep",
        str(wish.generator),
        "--shard",
        f"1/{wish.parts}",
        "--jobs",
        str(wish.jobs),
    ]
    same = compare(by_command, generator, wish)
    by_python = [sys.executable, "-c", CALL, str(wish.generator), str(wish.parts), str(wish.jobs)]
    times: dict[str, list[float]] = {"command": [], "python": [], "call": []}
    work: dict[str, list[float]] = {"command": [], "python": []}
    for _ in range(wish.rounds):
        for name, command in (("command", by_command), ("python", by_python)):
            begin, before = time.perf_counter(), processors()
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            times[name].append(time.perf_counter() - begin)
            work[name].append(processors() - before)
            if name == "python":
                times["call"].append(float(done.stdout))
    middle = {name: statistics.median(each) for name, each in times.items()}
    middle_work = {name: statistics.median(each) for name, each in work.items()}
    result = {
        "rows": len(rows),
        "jobs": wish.jobs,
        "same_rows": same,
        "seconds": {name: [round(each, 4) for each in all_] for name, all_ in times.items()},
        "cpu_seconds": {name: [round(each, 4) for each in all_] for name, all_ in work.items()},
        "overhead": round(middle["python"] / middle["command"] - 1, 4),
        "overhead_of_cpu": round(middle_work["python"] / middle_work["command"] - 1, 4),
        "overhead_of_the_call": round(middle["call"] / middle["command"] - 1, 4),
    }
    print(json.dumps(result, indent=2))
    return 0 if same else 1


def processors() -> float:
    """Seconds of processors that children that have ended took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compare(by_command: list[str], generator: taut.Generator, wish: argparse.Namespace) -> bool:
    """Whether both make the same rows."""
    table = taut.sweep(generator, shard=(1, wish.parts), jobs=wish.jobs)
    columns = {name: table[name].tolist() for name in table.columns}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "rows.jsonl"
        subprocess.run([*by_command, "--out", str(out)], check=True, capture_output=True)
        lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    return len(lines) == len(table) and all([line[name] for line in lines] == columns[name] for name in columns)


if __name__ == "__main__":
    sys.exit(main())
