# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""What an analysis says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar, cast

from .errors import NotProven
from .rows import Answer

B = TypeVar("B")
C = TypeVar("C")

Kind: TypeAlias = Literal["schedulable", "not shown", "not applicable", "unschedulable"]
"""What can be said; see `Verdict`."""


@dataclass(frozen=True)
class Verdict(Generic[B]):
    """What an analysis says about a limit. It is true (``if verdict:``) if the limit is proven to hold.

    - ``"schedulable"``: the limit holds in every run that the model allows; ``found`` are the bounds.
    - ``"not shown"``: the analysis could not show it, and nothing is said about real runs. ``reason`` is ``"passes"``
      (the bound exceeds the limit; ``found`` is a value past it), ``"rate"`` (more arrives than is served), ``"steps"``
      (given up), or ``"unsound"`` (published equations, which prove nothing: ``found`` is what they claim).
    - ``"not applicable"``: an assumption of the theorem does not hold; ``reason`` is its name.
    - ``"unschedulable"``: some run that the model allows breaks the limit; exact tests alone say so.
    """

    kind: Kind
    found: B | None
    """What was found: bounds, or values past a limit, as ``kind`` says."""
    reason: str | None
    """Why not, in a word; ``None`` if the limit holds, or is known not to."""
    why: str | None
    """The same in a sentence."""

    @property
    def holds(self) -> bool:
        """Whether the limit is proven to hold."""
        return self.kind == "schedulable"

    def __bool__(self) -> bool:
        return self.holds

    @property
    def bound(self) -> B | None:
        """What was found, if it is a bound; else ``None``."""
        return self.found if self.holds else None

    def proven(self) -> B:
        """The bound. Raises `NotProven` if there is none."""
        if not self.holds:
            raise NotProven(self.kind if self.why is None else f"{self.kind}: {self.why}")
        return cast(B, self.found)


def verdict(answer: Answer[C], make: Callable[[C], B]) -> Verdict[B]:
    """A verdict from an answer of the extension; ``make`` gives names to what it found."""
    kind, found, reason, why = answer
    # The extension says one of the four.
    return Verdict(kind, None if found is None else make(found), reason, why)  # type: ignore[arg-type]


def same(value: C) -> C:
    """The value."""
    return value
