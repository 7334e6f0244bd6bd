# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Response times of a whole core in one sweep, fixed priority, preemptive: fast.

Sufficient; exact where `taut.uni.fp.arbitrary` is. Source: Lehoczky 1990, Tindell et al. 1994; starting values in the
manner of Davis et al. 2008.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ... import _taut
from ...time import Time, ns
from ...verdict import Verdict, same, verdict

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True)
class Task:
    """A task: C, T, D of any length, J, B."""

    cost: Time
    period: Time
    deadline: Time
    jitter: Time = 0
    blocking: Time = 0


def responses(tasks: Iterable[Task]) -> tuple[Verdict[int], npt.NDArray[np.uint64]]:
    """Bounds the response times of tasks, the most urgent first. The verdict has the position of the first task that is
    not shown to keep its deadline, or the number of tasks; the array has R in ns, from the arrival, of the tasks before
    that position.

    Raises ``OverflowError`` if a window does not fit in 64 bits of ns.
    """
    import numpy as np

    rows = [(ns(t.cost), ns(t.period), ns(t.deadline), ns(t.jitter), ns(t.blocking)) for t in tasks]
    answer, found = _taut.fp_sweep(rows)
    return verdict(answer, same), np.array(found, dtype=np.uint64)
