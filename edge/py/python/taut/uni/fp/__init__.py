# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""One core, fixed priority: a module per theorem.

| module | bounds | verdict |
|---|---|---|
| `preemptive` | response time | exact for free releases, else sufficient |
| `arbitrary` | the same, deadlines of any length | exact for free releases, else sufficient |
| `sweep` | the same for a whole core, fast | sufficient |
| `limited_preemption` | response time, last region without preemption | exact for free releases |
| `non_preemptive` | response time without preemption | exact for free releases |
| `offsets` | response time in transactions with offsets | exact, or sufficient and fast |
| `ceiling` | blocking by local locks with ceilings | sufficient |
| `local_locks` | response times of a core with such locks | sufficient |
| `assignment`, `audsley` | priorities that keep all deadlines, if any do | exact for the test used |
"""

from . import (
    arbitrary,
    assignment,
    audsley,
    ceiling,
    limited_preemption,
    local_locks,
    non_preemptive,
    offsets,
    preemptive,
    sweep,
)

__all__ = [
    "arbitrary",
    "assignment",
    "audsley",
    "ceiling",
    "limited_preemption",
    "local_locks",
    "non_preemptive",
    "offsets",
    "preemptive",
    "sweep",
]
