# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""MSRP: global resources by non-preemptive spinning, first come, first served; as published.

Sufficient: the same remote section is charged to every request. Local resources are under SRP or immediate ceilings.
Source: Gai et al. 2001.
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
    return bounds(tasks, _taut.multi_bounds("msrp_gai01", tasks._set))
