# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Processor demand, EDF, local resources under the deadline floor protocol, release jitter.

Sufficient. Source: Burns et al. 2015; Gutiérrez et al. 2013; with jitter it is ours.
"""

from __future__ import annotations

from typing import Literal, SupportsIndex

from ... import _taut
from ...model import TaskSet
from ...time import count
from ...verdict import Verdict, verdict
from .demand import Demand


def core(tasks: TaskSet, core: SupportsIndex = 0, floors: Literal["shared", "own"] = "shared") -> Verdict[Demand]:
    """Whether the tasks of a core keep their deadlines, with one J for all floors, or with floors by the users'
    shortest D − J.

    Raises ``IndexError`` and ``OverflowError``.
    """
    guard = {"shared": "dfp", "own": "dfp-own"}[floors]
    return verdict(_taut.edf_core(tasks._set, count(core, "a core"), guard), Demand._of)
