# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Some global resources under MSRP, others under MPCP, others wait-free: selection judges by these bounds.

Sufficient. Source: Brandenburg 2011; Lakshmanan et al. 2009; Chen et al. 2019; what each of the two adds to the other
is ours.
"""

from __future__ import annotations

from collections.abc import Mapping

from .. import _taut
from ..model import TaskSet
from ..verdict import Verdict
from .bounds import Bounds, Guard, bounds, guards


def response_times(tasks: TaskSet, guard: Guard | Mapping[str, Guard] = "spinning") -> Verdict[Bounds]:
    """Bounds the response times of all tasks; ``guard`` guards all resources, or each by name (``"spinning"`` for the
    rest).

    Raises ``KeyError`` for names that do not exist, and ``OverflowError``.
    """
    return bounds(tasks, _taut.multi_mixed(tasks._set, guards(tasks, guard)))
