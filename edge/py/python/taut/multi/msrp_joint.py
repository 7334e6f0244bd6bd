# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""MSRP, spinning counted for a core, not for each job: no remote section is charged twice in a window.

Sufficient; never more than `taut.multi.msrp_holistic`. Source: Wieder & Brandenburg 2013 for blocking as a linear
program with these rows; its solution is ours.
"""

from __future__ import annotations

from .. import _taut
from ..model import TaskSet
from ..verdict import Verdict
from .bounds import Bounds, bounds


def response_times(tasks: TaskSet) -> Verdict[Bounds]:
    """Bounds the response times of all tasks; every core is of fixed priority, and D ≤ T.

    Raises ``OverflowError`` if a bound, or the first value past a deadline, does not fit in 64 bits of ns.
    """
    return bounds(tasks, _taut.multi_bounds("msrp_joint", tasks._set))
