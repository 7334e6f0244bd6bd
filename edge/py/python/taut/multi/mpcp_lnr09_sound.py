# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""MPCP: global resources by suspension, queues by priority, boosted sections. The default for MPCP.

Sufficient. Source: Lakshmanan et al. 2009; Chen et al. 2019 for how late a job that suspends can run.
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
    return bounds(tasks, _taut.multi_bounds("mpcp_lnr09_sound", tasks._set))
