# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""FMLP+: global resources by suspension, first come, first served everywhere; holders boosted by request time.

Sufficient. Source: Brandenburg 2011; Chen et al. 2019.
"""

from __future__ import annotations

from collections.abc import Iterable

from .. import _taut
from ..model import TaskSet
from ..time import Time, each_ns
from ..verdict import Verdict, verdict
from .bounds import Bounds, Terms, bounds


def response_times(tasks: TaskSet) -> Verdict[Bounds]:
    """Bounds the response times of all tasks; every core is of fixed priority, and D ≤ T.

    Raises ``OverflowError`` if a bound, or the first value past a deadline, does not fit in 64 bits of ns.
    """
    return bounds(tasks, _taut.multi_bounds("fmlp_plus", tasks._set))


def blocking(tasks: TaskSet, windows: Iterable[Time]) -> Verdict[list[Terms]]:
    """Spinning and blocking alone, of all tasks, if each job ends within its task's window after its release.

    Raises ``ValueError`` unless there is one window per task, and ``OverflowError``.
    """
    answer = _taut.multi_blocking("fmlp_plus", tasks._set, each_ns(windows))
    return verdict(answer, lambda rows: [Terms(*row) for row in rows])
