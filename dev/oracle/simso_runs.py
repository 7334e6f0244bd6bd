# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors
"""Runs the sets of a file in SimSo, and prints how many milliseconds a round over all of them took: a JSON list."""

import json
import sys
import time

from simso.configuration import Configuration
from simso.core import Model

CYCLES_PER_MS = 1_000_000


def configuration(line):
    of_set = Configuration()
    of_set.cycles_per_ms = CYCLES_PER_MS
    of_set.duration = line["ms"] * CYCLES_PER_MS
    of_set.scheduler_info.clas = "simso.schedulers.FP"
    # Its scheduler takes the larger number as the more urgent.
    for rank, task in enumerate(line["tasks"]):
        of_set.add_task(
            name=f"t{rank}",
            identifier=rank + 1,
            period=task["T"] / 1000,
            activation_date=0,
            wcet=task["C"] / 1000,
            deadline=task["D"] / 1000,
            abort_on_miss=False,
            data={"priority": len(line["tasks"]) - rank},
        )
    of_set.add_processor(name="p0", identifier=1)
    of_set.check_all()
    return of_set


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    rounds = []
    for _ in range(int(sys.argv[2])):
        begin = time.perf_counter()
        for line in lines:
            Model(configuration(line)).run_model()
        rounds.append((time.perf_counter() - begin) * 1e3)
    print(json.dumps(rounds))


main()
