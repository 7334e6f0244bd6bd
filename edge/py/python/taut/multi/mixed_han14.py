# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Some global resources under MSRP, others under MPCP, by the published equations. **Unsound**: for reproducing
published results, never for a proof.

Source: Han et al. 2014, equations 2 to 11.
"""

from __future__ import annotations

from collections.abc import Mapping

from .. import _taut
from ..model import TaskSet
from ..verdict import Verdict
from .bounds import Claim, Guard, guards
from .bounds import claims as named


def claims(tasks: TaskSet, guard: Guard | Mapping[str, Guard] = "spinning") -> Verdict[list[Claim]]:
    """What the published equations claim of each task: a verdict of ``"not shown"`` whose ``reason`` is ``"unsound"``.

    Raises ``KeyError`` for names that do not exist, and ``OverflowError``.
    """
    return named(tasks, _taut.multi_claims(tasks._set, guards(tasks, guard)))
