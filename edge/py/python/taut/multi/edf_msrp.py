# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Processor demand and response times, EDF on every core, MSRP for global resources.

Sufficient. Source: Gai et al. 2001 for spinning as cost; Baruah 2006; Biondi & Brandenburg 2016 for the same as a
baseline.
"""

from __future__ import annotations

from .. import _taut
from ..model import TaskSet
from ..uni.edf.demand import Demand
from ..uni.edf.response import Response
from ..verdict import Verdict, verdict
from .bounds import Witness, witness


def cores(tasks: TaskSet) -> Verdict[list[Demand]]:
    """Whether all tasks keep their deadlines: the demand of each core, up to the first core whose deadlines could not
    be shown. Raises ``OverflowError``."""
    return verdict(_taut.edf_msrp_cores(tasks._set), lambda rows: [Demand._of(row) for row in rows])


def response_times(tasks: TaskSet) -> Verdict[list[Response]]:
    """Bounds the response times of all tasks, in the order of the set; values past a deadline are still bounds. Raises
    ``OverflowError``."""
    return verdict(_taut.edf_msrp_responses(tasks._set), lambda rows: [Response(*row) for row in rows])


def spinning(tasks: TaskSet) -> list[tuple[int, Witness]]:
    """For each task, how long a job spins at most, in ns, and the resource that it spins longest for. Raises
    ``OverflowError``."""
    return [(time, witness(tasks, row)) for time, row in _taut.edf_msrp_spinning(tasks._set)]
