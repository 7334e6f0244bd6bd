# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Selection: for every shared object the mechanism that takes least memory, or leaves most slack, while every deadline
is kept.

A `Problem` holds a task set and, for each shared object, its offers. Reasons, figures and sources: ``docs/decisions``
and the module ``select`` of the crate ``taut-planner``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, SupportsIndex, TypeAlias

from . import _taut
from . import rows as row_types
from .model import TaskSet
from .time import NS_MAX, Time, count, ns

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Guard: TypeAlias = Literal["absent", "spinning", "suspending"]
"""Wait-free: no job waits. MSRP: a waiting job spins. MPCP: a waiting job is suspended."""

Aim: TypeAlias = Literal["memory", "response", "slack"]
"""What to minimise: bytes of all objects; Σ R / D over all tasks; the largest R / D. Between equal selections the other
two decide."""

COMBINATIONS_MAX = 100_000_000
"""The most combinations of offers that `Problem.exhaustive` tries: nothing can interrupt it."""

DEPTH_MAX = 16
"""The deepest refinement of the published algorithms: the work grows as 2 (`Problem.paper`) or 3
(`Problem.backtracking`) to the power of the depth, and nothing can interrupt it."""


@dataclass(frozen=True)
class Buffers:
    """Buffers of an object, whose number depends on response times: ``each`` is the bytes of one buffer; ``writer`` and
    ``readers`` are tasks. With ``by_time`` the number is the count by time alone (`taut.wait_free.lifetime`), else the
    fewest of all counts (`taut.wait_free.smallest`)."""

    each: int
    writer: str
    readers: tuple[str, ...]
    by_time: bool = False


@dataclass(frozen=True)
class Offer:
    """A mechanism with its price: how jobs wait, bytes that do not depend on timing, buffers, the time ``added`` to a
    job of each task, by name, and how much longer each section on the object is ``held`` than the set says."""

    name: str
    guard: Guard
    bytes: int = 0
    buffers: Buffers | None = None
    added: Mapping[str, Time] | None = None
    held: Time = 0


@dataclass(frozen=True)
class Object:
    """A shared object: the name of its resource in the set, and its offers, 1 to 64."""

    resource: str
    offers: tuple[Offer, ...]


@dataclass(frozen=True)
class Selection:
    """An offer per object that keeps every deadline."""

    offers: dict[str, str]
    """By resource, the name of the offer."""
    positions: tuple[int, ...]
    """The same as positions, in the order of the objects."""
    bytes: int
    """Bytes of all objects."""
    responses: dict[str, int]
    """By task, the bound on its response time from the arrival, in ns."""
    response_ppm: int
    """Σ R / D over all tasks, each in millionths, rounded up."""
    tightest_ppm: int
    """The largest R / D of all tasks, in millionths, rounded up."""

    def response_times(self) -> npt.NDArray[np.uint64]:
        """The bounds, in the order of the set."""
        import numpy as np

        return np.array(list(self.responses.values()), dtype=np.uint64)


@dataclass(frozen=True)
class Progress:
    """How far a search has come: judgements so far, the value to minimise of the best selection so far, and a lower
    bound of that value for every selection."""

    judged: int
    best: int | None
    at_least: int


@dataclass(frozen=True)
class Found:
    """The result of a search."""

    best: Selection | None
    """The best selection; ``None`` if none was found that keeps every deadline."""
    at_least: int | None
    """No selection has a lower value to minimise; ``None`` if the algorithm gives no lower bound."""
    proven: bool
    """Whether the search has proven that the best is the least, or that there is no selection."""
    judged: int
    """How many selections were judged."""
    aim: Aim
    """What the search minimised."""

    @property
    def gap(self) -> float | None:
        """An upper bound on how far the best is above the least, as a share of the least; ``None`` if no bound is
        known."""
        if self.best is None or self.at_least is None:
            return None
        value = {"memory": self.best.bytes, "response": self.best.response_ppm, "slack": self.best.tightest_ppm}[
            self.aim
        ]
        if self.at_least == 0:
            return 0.0 if value == 0 else None
        return value / self.at_least - 1


@dataclass(frozen=True)
class Alternative:
    """An offer for an object, while all other objects keep theirs."""

    offer: str
    bytes: int | None
    """Bytes of the object with this offer; ``None`` if the response times rule the offer out."""
    outcome: Literal["selected", "kept", "deadline", "constraint", "memory", "steps"]
    """The offer is the selected one; with it everything is kept; a deadline or another condition is missed; or the
    analysis gave up."""
    selection: Selection | None
    """The whole selection with this offer, if everything is kept."""
    task: str | None
    """The task whose deadline would be missed."""
    response: int | None
    """The first bound found past that deadline, in ns."""


class Problem:
    """The choice of an offer for each object. Costs in the set include all sections, but not what offers add.
    ``others`` guards the resources that belong to no object. ``aim`` is what to minimise. ``printed`` judges by the
    published equations, which are **unsound**: for experiments.

    Raises ``ValueError`` for objects that do not fit the set, or a set that the analysis does not apply to (fixed
    priorities, D ≤ T), ``KeyError`` for names that do not exist, and ``OverflowError``.
    """

    def __init__(
        self,
        tasks: TaskSet,
        objects: Iterable[Object],
        *,
        others: Guard | Mapping[str, Guard] = "spinning",
        aim: Aim = "memory",
        printed: bool = False,
    ) -> None:
        self._tasks = tasks
        self._objects = tuple(objects)
        rest: dict[str, Guard] = {} if isinstance(others, str) else dict(others)
        default: Guard = others if isinstance(others, str) else "spinning"
        guards: list[str] = [rest.get(name, default) for name in tasks.resources]
        rows = [self._row(each) for each in self._objects]
        self._made = _taut.Problem(tasks._set, rows, guards, printed, aim)
        self._aim = aim

    @property
    def objects(self) -> tuple[Object, ...]:
        """The objects."""
        return self._objects

    def best(
        self,
        *,
        budget: Time | None = None,
        judgements: SupportsIndex = NS_MAX,
        progress: Callable[[Progress], bool | None] | None = None,
    ) -> Found:
        """The least selection, by branch and bound. The search stops earlier after a time ``budget``, after so many
        ``judgements``, or when ``progress``, called some ten times a second, returns ``False``; its first step, and its
        last one if nothing is proven, run in any case. Ctrl-C ends it. With neither budget nor callback the answer is
        always the same.

        Raises ``OverflowError``, and whatever ``progress`` raises.
        """
        tell = None if progress is None else lambda *row: progress(Progress(*row))
        most = count(judgements, "judgements")
        row, at_least, proven, judged = self._made.best(most, None if budget is None else ns(budget), tell)
        return Found(self._found(row), None if at_least == NS_MAX else at_least, proven, judged, self._aim)

    def paper(self, depth: SupportsIndex = 0) -> Found:
        """What the published heuristic finds, refined to a depth. Raises ``ValueError`` for a depth above
        `DEPTH_MAX`."""
        return self._other("heuristic", count(depth, "the depth", 0, DEPTH_MAX))

    def backtracking(self, depth: SupportsIndex = 0) -> Found:
        """What the published heuristic finds if it tries the last ``depth`` decisions in all ways. Raises as
        `paper`."""
        return self._other("backtracking", count(depth, "the depth", 0, DEPTH_MAX))

    def exhaustive(self) -> Found:
        """The least of all selections, for small problems. Raises ``ValueError`` if there are more than
        `COMBINATIONS_MAX` selections."""
        combinations = 1
        for each in self._objects:
            combinations *= len(each.offers)
        if combinations > COMBINATIONS_MAX:
            raise ValueError(f"{combinations} combinations, and at most {COMBINATIONS_MAX} are tried: use best()")
        found = self._other("exhaustive", 0)
        best = found.best
        least = (
            None
            if best is None
            else {"memory": best.bytes, "response": best.response_ppm, "slack": best.tightest_ppm}[self._aim]
        )
        return Found(best, least, True, found.judged, self._aim)

    def judge(self, offers: Mapping[str, str] | Sequence[SupportsIndex]) -> Selection | None:
        """Judges the caller's selection, given by resource and name of the offer or by positions; ``None`` if some
        deadline is not shown to be kept. Raises ``KeyError`` and ``IndexError``."""
        if isinstance(offers, Mapping):
            places = [self._place(each, offers[each.resource]) for each in self._objects]
        else:
            places = [count(each, "a position") for each in offers]
        judged = self._made.judge(list(places))
        return None if judged is None else self._found((list(places), judged))

    def why(self, selection: Selection, resource: str) -> list[Alternative]:
        """Each offer of an object while the other objects keep theirs, and what forbids it, in the order of the offers.
        Raises ``KeyError`` for an object that does not exist, ``ValueError`` for a selection that does not keep every
        deadline, and ``IndexError`` for one of another problem."""
        at = next((at for at, each in enumerate(self._objects) if each.resource == resource), None)
        if at is None:
            raise KeyError(resource)
        rows = self._made.why(list(selection.positions), at)
        if rows is None:
            raise ValueError("the selection does not keep every deadline")

        def one(row: row_types.AlternativeRow) -> Alternative:
            offer, size, what, judged, miss = row
            places = list(selection.positions)
            places[at] = offer
            name = None if miss is None else self._tasks.tasks[miss[0]].name
            return Alternative(
                offer=self._objects[at].offers[offer].name,
                bytes=size,
                outcome=what,  # type: ignore[arg-type]
                selection=None if judged is None else self._found((places, judged)),
                task=name,
                response=None if miss is None else miss[1],
            )

        return [one(row) for row in rows]

    def _other(self, algorithm: str, depth: int) -> Found:
        row, judged = self._made.other(algorithm, depth)
        return Found(self._found(row), None, False, judged, self._aim)

    def _place(self, given: Object, name: str) -> int:
        names = [offer.name for offer in given.offers]
        if name not in names:
            raise KeyError(f"{given.resource!r} has no offer {name!r}")
        return names.index(name)

    def _found(self, row: tuple[list[int], row_types.JudgedRow] | None) -> Selection | None:
        if row is None:
            return None
        places, (responses, size, response_ppm, tightest_ppm) = row
        chosen = {each.resource: each.offers[at].name for each, at in zip(self._objects, places, strict=True)}
        by_task = dict(zip([task.name for task in self._tasks], responses, strict=True))
        return Selection(chosen, tuple(places), size, by_task, response_ppm, tightest_ppm)

    def _row(self, given: Object) -> row_types.ObjectRow:
        at = self._tasks.index

        def offer(each: Offer) -> row_types.OfferRow:
            added = [(at(task), ns(time)) for task, time in (each.added or {}).items()]
            buffers = None
            if (b := each.buffers) is not None:
                readers = [at(reader) for reader in b.readers]
                buffers = (count(b.each, "bytes"), at(b.writer), readers, b.by_time)
            return each.name, each.guard, added, ns(each.held), count(each.bytes, "bytes"), buffers

        return given.resource, self._tasks.resource(given.resource), [offer(each) for each in given.offers]
