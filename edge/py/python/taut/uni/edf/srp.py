# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Processor demand, EDF, local resources under the stack resource policy, release jitter.

Sufficient. Source: Baker 1991, Baruah 2006 without jitter, Zhang & Burns 2009; with jitter it is ours.
"""

from __future__ import annotations

from typing import Literal, SupportsIndex

from ... import _taut
from ...model import TaskSet
from ...time import count
from ...verdict import Verdict, verdict
from .demand import Demand


def core(
    tasks: TaskSet, core: SupportsIndex = 0, levels: Literal["deadline", "latest-release"] = "deadline"
) -> Verdict[Demand]:
    """Whether the tasks of a core keep their deadlines, with preemption levels by D, or by D − J.

    Raises ``IndexError`` and ``OverflowError``.
    """
    guard = {"deadline": "srp", "latest-release": "srp-latest-release"}[levels]
    return verdict(_taut.edf_core(tasks._set, count(core, "a core"), guard), Demand._of)
