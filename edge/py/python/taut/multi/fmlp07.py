# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""FMLP of 2007, partitioned, fixed priority: short resources by spinning, long ones by suspension, both first come,
first served.

Sufficient. Source: Block et al. 2007; Brandenburg & Anderson 2008 for boosting on partitions; the bound is ours.
"""

from __future__ import annotations

from collections.abc import Iterable

from .. import _taut
from ..model import TaskSet
from ..verdict import Verdict
from .bounds import Bounds, bounds


def response_times(tasks: TaskSet, long: Iterable[str] = ()) -> Verdict[Bounds]:
    """Bounds the response times of all tasks; ``long`` are the names of long resources.

    Raises ``KeyError`` for names that do not exist, and ``OverflowError``.
    """
    chosen = {tasks.resource(name) for name in long}
    return bounds(tasks, _taut.multi_fmlp07(tasks._set, [at in chosen for at in range(len(tasks.resources))]))
