# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Tasks on cores, with the resources that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, SupportsIndex, TypeAlias

from . import _taut
from . import rows as row_types
from .errors import SetError
from .time import Time, count, ns

Scheduler: TypeAlias = Literal["fixed-priority", "edf"]
"""What schedules a core."""

Arrivals: TypeAlias = Literal["periodic", "sporadic"]
"""Arrivals every T from a start that nothing fixes, or T or more apart."""

CORES_MAX = 4096
"""The most cores that a set has."""

NESTING_MAX = 32
"""The most critical sections inside each other."""


@dataclass(frozen=True, init=False)
class Section:
    """Critical sections of a job at any place in it, none inside another: at most ``count`` on ``resource``, each of at
    most ``longest`` ns."""

    resource: str
    longest: int
    count: int

    def __init__(self, resource: str, longest: Time, count: SupportsIndex = 1) -> None:
        object.__setattr__(self, "resource", named(resource, "a resource"))
        object.__setattr__(self, "longest", ns(longest))
        object.__setattr__(self, "count", whole32(count, "the number of sections"))


@dataclass(frozen=True, init=False)
class Hold:
    """A critical section at its place in a job: the job holds ``resource`` while it executes the parts ``inside``."""

    resource: str
    inside: tuple[Part, ...]

    def __init__(self, resource: str, *inside: Time | Hold) -> None:
        object.__setattr__(self, "resource", named(resource, "a resource"))
        object.__setattr__(self, "inside", tuple(map(part, inside)))


Part: TypeAlias = int | Hold
"""A part of a job: execution in ns, or a critical section."""


@dataclass(frozen=True, init=False)
class Task:
    """A recurring activity on a core.

    ``period`` is T: the period, or for ``arrivals="sporadic"`` the least time between two arrivals. ``deadline`` counts
    from the arrival, is T if it is not given, and may be longer than T. ``jitter`` is the longest time from an arrival
    to the release. With an ``offset`` jobs arrive at that time after a start that all such tasks share, then every T.

    A job has either a ``cost``, its longest execution, which includes its ``sections`` at any place; or ``parts``, in
    order: times, and `Hold`. ``priority`` is needed on cores of fixed priority: larger = more urgent, over all cores.
    """

    name: str
    period: int
    deadline: int
    cost: int
    sections: tuple[Section, ...]
    parts: tuple[Part, ...] | None
    priority: int | None
    core: int
    jitter: int
    arrivals: Arrivals
    offset: int | None

    def __init__(
        self,
        name: str,
        *,
        period: Time,
        cost: Time | None = None,
        parts: Sequence[Time | Hold] | None = None,
        sections: Iterable[Section] = (),
        deadline: Time | None = None,
        priority: SupportsIndex | None = None,
        core: SupportsIndex = 0,
        jitter: Time = 0,
        arrivals: Arrivals = "sporadic",
        offset: Time | None = None,
    ) -> None:
        held = tuple(sections)
        if (cost is None) == (parts is None):
            raise ValueError(f"task {name!r}: give either its cost or its parts")
        if parts is not None and (held or isinstance(parts, str)):
            raise ValueError(f"task {name!r}: parts are a list of times and Hold, and say where sections are")
        if not all(isinstance(section, Section) for section in held):
            raise TypeError(f"task {name!r}: sections are a list of Section")
        if arrivals not in ("periodic", "sporadic"):
            raise ValueError(f"task {name!r}: arrivals are 'periodic' or 'sporadic', not {arrivals!r}")
        if offset is not None:
            arrivals = "periodic"
        made = None if parts is None else tuple(map(part, parts))
        given = {
            "name": named(name),
            "period": ns(period),
            "deadline": ns(period if deadline is None else deadline),
            "cost": length(made or ()) if cost is None else ns(cost),
            "sections": held,
            "parts": made,
            "priority": None if priority is None else whole32(priority, f"task {name!r}: its priority"),
            "core": count(core, f"task {name!r}: its core", 0, CORES_MAX - 1),
            "jitter": ns(jitter),
            "arrivals": arrivals,
            "offset": None if offset is None else ns(offset),
        }
        for key, value in given.items():
            object.__setattr__(self, key, value)

    def but(self, **changes: object) -> Task:
        """The same with other arguments, as `Task` takes them."""
        known = {key: getattr(self, key) for key in self.__dataclass_fields__ if key != "name"}
        known["cost" if self.parts is not None else "parts"] = None
        if "parts" in changes:
            known["cost"], known["sections"] = None, ()
        if "cost" in changes:
            known["parts"] = None
        known.update(changes)
        called = known.pop("name", self.name)
        return Task(called, **known)


class TaskSet:
    """Tasks, bound to cores, that share resources. The constructor checks the set, which never changes afterwards.

    ``resources`` are names; the default is the resources that the tasks' sections name, in order of first use.
    ``scheduler`` is one for all cores, or one per core. ``cores`` is the number of cores; the default is as many as the
    tasks need.

    Raises `SetError` with every fault of every task.

    >>> bus = [Section("bus", "100us")]
    >>> TaskSet([Task("a", period="5ms", cost="1ms", priority=2, sections=bus), Task("b", period="9ms", cost="3ms", priority=1)])
    <taut.TaskSet: 2 tasks on 1 core, 1 resource>
    """

    def __init__(
        self,
        tasks: Iterable[Task],
        resources: Iterable[str] | None = None,
        *,
        scheduler: Scheduler | Sequence[Scheduler] = "fixed-priority",
        cores: SupportsIndex | None = None,
    ) -> None:
        given = tuple(tasks)
        if not all(isinstance(task, Task) for task in given):
            raise TypeError("a task set is made of Task")
        needed = 1 + max((task.core for task in given), default=0)
        edf = schedulers(scheduler, needed if cores is None else count(cores, "the number of cores", 0, CORES_MAX))
        names = list(dict.fromkeys(used(given))) if resources is None else [named(each) for each in resources]
        if len(set(names)) < len(names):
            raise SetError("two resources of one name", ())
        at = {name: place for place, name in enumerate(names)}
        first = {task.name: i for i, task in reversed(list(enumerate(given)))}
        twice = [(i, "a name that another task has") for i, task in enumerate(given) if first[task.name] < i]
        missing = [(i, name) for i, task in enumerate(given) for name in used([task]) if name not in at]
        faults = twice + [(i, f"there is no resource {name!r}") for i, name in missing]
        faults += [
            (i, "a core of fixed priority, and no priority; `deadline_monotonic` gives some")
            for i, task in enumerate(given)
            if task.priority is None and task.core < len(edf) and not edf[task.core]
        ]
        if faults:
            raise SetError("\n".join(f"task {given[i].name!r}: {what}" for i, what in faults), tuple(faults))
        try:
            self._set = _taut.Set(edf, names, [row(task, at) for task in given])
        except ValueError as error:
            if len(error.args) != 2:
                raise
            text, found = error.args
            raise SetError(text, tuple(found)) from None
        self._tasks = given
        self._resources = tuple(names)
        self._schedulers: tuple[Scheduler, ...] = tuple("edf" if core else "fixed-priority" for core in edf)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks, in the order given: results that are per task have the same order."""
        return self._tasks

    @property
    def resources(self) -> tuple[str, ...]:
        """The names of the resources; results name resources by them."""
        return self._resources

    @property
    def schedulers(self) -> tuple[Scheduler, ...]:
        """What schedules each core."""
        return self._schedulers

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks)

    def __repr__(self) -> str:
        def plural(number: int, what: str) -> str:
            return f"{number} {what}" + ("" if number == 1 else "s")

        tasks, cores = plural(len(self), "task"), plural(len(self._schedulers), "core")
        return f"<taut.TaskSet: {tasks} on {cores}, {plural(len(self._resources), 'resource')}>"

    def __reduce__(self) -> tuple[object, ...]:
        return again, (self._tasks, self._resources, self._schedulers)

    def index(self, task: str) -> int:
        """The position of the task of this name. Raises ``KeyError``."""
        for at, each in enumerate(self._tasks):
            if each.name == task:
                return at
        raise KeyError(task)

    def users(self, resource: str) -> tuple[str, ...]:
        """The names of the tasks that use a resource. Raises ``KeyError`` if there is no resource of that name."""
        return tuple(self._tasks[at].name for at in self._set.users(self.resource(resource)))

    def is_local(self, resource: str) -> bool:
        """Whether all users of a resource are on one core. Raises ``KeyError``."""
        return self._set.is_local(self.resource(resource))

    def resource(self, name: str) -> int:
        """The position of the resource of this name. Raises ``KeyError``."""
        try:
            return self._resources.index(name)
        except ValueError:
            raise KeyError(name) from None

    def utilisation(self, core: SupportsIndex | None = None) -> float:
        """Σ C / T of a core, or of all cores: for display, never for a proof; for proofs see `taut.uni.utilisation`."""
        chosen = [t for t in self._tasks if core is None or t.core == core.__index__()]
        return sum(task.cost / task.period for task in chosen)

    @classmethod
    def _of(cls, made: _taut.Set) -> TaskSet:
        """A task set from one of the extension's."""
        edf, resources, rows = made.rows()
        self = cls.__new__(cls)
        self._set = made
        self._resources = tuple(resources)
        self._schedulers = tuple("edf" if core else "fixed-priority" for core in edf)
        self._tasks = tuple(task_of(each, resources) for each in rows)
        return self


def deadline_monotonic(tasks: Iterable[Task]) -> list[Task]:
    """The tasks with priorities by D − J, the shorter the more urgent: from the number of tasks down to 1. Among equals
    the earlier task is more urgent. The tasks stay in the order given."""
    return ranked(list(tasks), lambda task: task.deadline - task.jitter)


def rate_monotonic(tasks: Iterable[Task]) -> list[Task]:
    """The same with priorities by T."""
    return ranked(list(tasks), lambda task: task.period)


def ranked(tasks: list[Task], key: Callable[[Task], int]) -> list[Task]:
    """The tasks with priorities by a number: the smaller, the more urgent."""
    order = sorted(range(len(tasks)), key=lambda at: key(tasks[at]))
    priority = {at: len(tasks) - rank for rank, at in enumerate(order)}
    return [task.but(priority=priority[at]) for at, task in enumerate(tasks)]


def again(tasks: Iterable[Task], resources: Iterable[str], schedulers: Sequence[Scheduler]) -> TaskSet:
    """A set from its parts: for copies in other processes."""
    return TaskSet(tasks, resources, scheduler=schedulers)


def named(value: str, what: str = "a name") -> str:
    """A text that is not empty. Raises ``TypeError`` and ``ValueError``."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is a text, not {type(value).__name__} {value!r}")
    if not value:
        raise ValueError(f"{what} is empty")
    return value


def whole32(value: SupportsIndex, what: str) -> int:
    """A whole number of 32 bits. Raises ``TypeError`` and ``ValueError``."""
    return count(value, what, 0, 2**32 - 1)


def part(value: Time | Hold) -> Part:
    """A part of a job."""
    return value if isinstance(value, Hold) else ns(value)


def length(parts: Iterable[Part]) -> int:
    """How long parts take. Does not check their depth: an earlier step has, or `packed` does."""
    total, open_ = 0, list(parts)
    while open_:
        each = open_.pop()
        if isinstance(each, Hold):
            open_.extend(each.inside)
        else:
            total += each
    return total


def used(tasks: Iterable[Task]) -> Iterator[str]:
    """The names of the resources that tasks use, in order of use."""
    for task in tasks:
        for section in task.sections:
            yield section.resource
        open_ = list(reversed(task.parts or ()))
        while open_:
            each = open_.pop()
            if isinstance(each, Hold):
                yield each.resource
                open_.extend(reversed(each.inside))


def schedulers(scheduler: Scheduler | Sequence[Scheduler], cores: int) -> list[bool]:
    """For each core, whether it is under EDF."""
    each = [scheduler] * cores if isinstance(scheduler, str) else list(scheduler)
    if not all(word in ("fixed-priority", "edf") for word in each):
        raise ValueError(f"a scheduler is 'fixed-priority' or 'edf', not {scheduler!r}")
    if len(each) > CORES_MAX:
        raise ValueError(f"more than {CORES_MAX} cores")
    return [word == "edf" for word in each]


def packed(part: Part, at: dict[str, int], depth: int = 0) -> row_types.Part:
    """A part as the extension takes it."""
    if depth > NESTING_MAX:
        raise SetError(f"more than {NESTING_MAX} sections inside each other", ())
    if isinstance(part, Hold):
        return at[part.resource], [packed(each, at, depth + 1) for each in part.inside]
    return part


def row(task: Task, at: dict[str, int]) -> row_types.TaskRow:
    """A task as the extension takes it."""
    when = (task.arrivals, 0) if task.offset is None else ("phased", task.offset)
    anywhere, parts = None, None
    if task.parts is None:
        anywhere = (task.cost, [(at[s.resource], s.count, s.longest) for s in task.sections])
    else:
        parts = [packed(each, at) for each in task.parts]
    priority = task.priority or 0
    return task.name, task.core, priority, when, task.period, task.deadline, task.jitter, anywhere, parts


def unpacked(part: row_types.Part, resources: Sequence[str]) -> Part:
    """A part as it was given."""
    if isinstance(part, tuple):
        return Hold(resources[part[0]], *(unpacked(each, resources) for each in part[1]))
    return part


def task_of(given: row_types.TaskRow, resources: Sequence[str]) -> Task:
    """A task from one of the extension's."""
    name, core, priority, (arrivals, offset), period, deadline, jitter, anywhere, parts = given
    cost, sections = (None, []) if anywhere is None else anywhere
    return Task(
        name,
        period=period,
        cost=cost,
        parts=None if parts is None else [unpacked(each, resources) for each in parts],
        sections=[Section(resources[at], longest, number) for at, number, longest in sections],
        deadline=deadline,
        priority=priority,
        core=core,
        jitter=jitter,
        arrivals="sporadic" if arrivals == "sporadic" else "periodic",
        offset=offset if arrivals == "phased" else None,
    )
