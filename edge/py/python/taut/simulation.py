# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Seeded runs of a task set under scheduling and locking rules, in virtual time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, SupportsIndex, TypeAlias

from . import _taut
from .model import TaskSet
from .table import Table
from .time import NS_MAX, Time, count, each_ns, ns

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

CoreRule: TypeAlias = Literal["immediate", "original", "srp", "dfp", "dfp-next"]
"""Fixed priority with immediate ceilings, or with the original priority ceiling protocol; EDF with the stack resource
policy, or with the deadline floor protocol."""

GlobalRule: TypeAlias = Literal["msrp", "mpcp", "fmlp-long"]
"""What guards a resource that several cores use: spinning first come first served; suspension by priority; suspension
first come first served."""


@dataclass(frozen=True)
class TaskRun:
    """What happened to a task. Jobs that are not complete at the end count as released only."""

    name: str
    released: int
    completed: int
    missed: int
    """Of the completed jobs, those that completed after their deadline."""
    dropped: int
    """Jobs that were not released, because too many earlier ones were not complete."""
    response_max: int
    """The longest response time from an arrival, in ns."""
    from_release_max: int
    """The longest response time from a release, in ns."""


@dataclass(frozen=True)
class Run:
    """The result of a run."""

    end: Literal["complete", "steps", "stuck", "broken", "misuse"]
    """``"complete"``: every job is complete. ``"steps"``: the run reached the limit of steps. Any other word shows a
    fault in a rule."""
    last: int
    """The instant of the last event, in ns."""
    steps: int
    """Steps of the run: releases, ends of execution, and their like."""
    tasks: tuple[TaskRun, ...]
    """What happened to each task, in the order of the set."""
    events: Table | None
    """All events, if the caller wants them: ``at_ns``, ``task``, ``job`` (from 0), ``kind``, and for events that have
    one ``resource``, ``arrival_ns`` (of a release) and ``response_ns`` (of a completion). Kinds are ``release``,
    ``drop``, ``start``, ``preempt``, ``resume``, ``suspend``, ``spin``, ``locked``, ``unlock``, ``complete``,
    ``miss``."""

    @property
    def missed(self) -> bool:
        """Whether a job completed after its deadline, or was dropped."""
        return any(task.missed or task.dropped for task in self.tasks)

    def responses(self) -> npt.NDArray[np.uint64]:
        """The longest response time of each task from an arrival, in ns."""
        import numpy as np

        return np.array([task.response_max for task in self.tasks], dtype=np.uint64)

    def task(self, name: str) -> TaskRun:
        """What happened to the task of this name. Raises ``KeyError``."""
        for each in self.tasks:
            if each.name == name:
                return each
        raise KeyError(name)


def simulate(
    tasks: TaskSet,
    until: Time,
    *,
    seed: SupportsIndex = 0,
    cores: CoreRule | Sequence[CoreRule] | None = None,
    resources: GlobalRule | Mapping[str, GlobalRule] = "msrp",
    start: Literal["critical", "synchronous", "random"] | Sequence[Time] = "critical",
    gaps: SupportsIndex = 0,
    jitter: Literal["none", "first", "full", "random"] = "first",
    execution: Literal["full", "scaled", "random"] = "full",
    percent: SupportsIndex = 100,
    placement: Literal["front", "back", "even", "random"] = "front",
    events: bool = True,
    steps_max: SupportsIndex = 2_000_000,
) -> Run:
    """Runs a set: no job arrives at ``until`` or later, and every job that has arrived runs to its end. The same
    arguments give the same run.

    ``cores`` is a rule for all cores or one per core; the default is the rule of each core's scheduler. ``resources``
    is a rule for all resources of several cores, or one by name (``"msrp"`` for the rest). The other arguments fix what
    a task set leaves open; their defaults are the worst case for preemptive fixed priority without locks. ``start``:
    when first jobs arrive (``"critical"``: such that all are released at once; or one time per task). ``gaps``: by up
    to how many percent of its period a gap between arrivals of a sporadic task exceeds the period. ``jitter``: how much
    of its jitter a job has. ``execution``: whether a job executes all of its cost, ``percent`` of it, or a random share
    of at least ``percent``. ``placement``: where sections are that may be anywhere.

    ``steps_max`` bounds the work and the memory: after so many steps the run stops, and ``end`` says so. A step has up
    to a few events of 41 bytes each.

    Raises ``ValueError`` for rules that do not fit the set, and ``OverflowError``.
    """
    if cores is None:
        chosen = ["srp" if each == "edf" else "immediate" for each in tasks.schedulers]
    else:
        chosen = [cores] * len(tasks.schedulers) if isinstance(cores, str) else list(cores)
    guards = {} if isinstance(resources, str) else dict(resources)
    for name in guards:
        if name not in tasks.resources:
            raise ValueError(f"there is no resource {name!r}")
    rest = resources if isinstance(resources, str) else "msrp"
    begin, starts = (start, []) if isinstance(start, str) else ("at", each_ns(start))
    end, last, steps, rows, table = _taut.simulate(
        tasks._set,
        chosen,
        [guards.get(name, rest) for name in tasks.resources],
        count(seed, "the seed"),
        ns(until),
        count(steps_max, "the limit of steps", 1, NS_MAX),
        (
            begin,
            starts,
            count(gaps, "gaps in percent", 0, 1_000_000),
            jitter,
            execution,
            count(percent, "percent", 0, 100),
            placement,
        ),
        events,
    )
    runs = [TaskRun(task.name, *row) for task, row in zip(tasks, rows, strict=True)]
    # The extension says one of the five.
    return Run(end, last, steps, tuple(runs), None if table is None else Table(table))  # type: ignore[arg-type]
