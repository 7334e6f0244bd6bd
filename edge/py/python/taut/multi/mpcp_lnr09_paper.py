# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""MPCP as it was published. **Unsound**: for reproducing published results, never for a proof.

A job that suspends can run later than the equations say, as Chen et al. 2019 show. Source: Lakshmanan et al. 2009.
"""

from __future__ import annotations

from .. import _taut
from ..model import TaskSet
from ..verdict import Verdict
from .bounds import Claim
from .bounds import claims as named


def claims(tasks: TaskSet) -> Verdict[list[Claim]]:
    """What the published equations claim of each task: a verdict of ``"not shown"`` whose ``reason`` is ``"unsound"``.

    Raises ``OverflowError``.
    """
    return named(tasks, _taut.multi_claims(tasks._set))
