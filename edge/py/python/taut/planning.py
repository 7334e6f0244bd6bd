# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Plans: what `taut plan` decides for a manifest, with the proof in figures."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from . import _taut
from .errors import ManifestError
from .manifest import WIDTH, Diagnostic, Manifest, StrPath, diagnostics
from .time import ns


@dataclass(frozen=True)
class PlannedTerm:
    """A part of a bound: its ``kind`` (``"own"``, ``"spin"``, ``"blocking"``, ``"remote"``, ``"interference"``, ..),
    the task or resource that causes it and how often, where these are known, and its time in ns."""

    kind: str
    of: str | None
    count: int | None
    time: int


@dataclass(frozen=True)
class PlannedTask:
    """A real-time task of a plan. Times in ns, from the arrival; ``response`` is ``None`` if the analysis shows no
    bound."""

    name: str
    cpu: int
    priority: int
    """1 to 98; 0 under EDF, where it means nothing."""
    wcet: int
    deadline: int
    response: int | None
    test: str
    """The analysis that gave the response."""
    terms: tuple[PlannedTerm, ...]
    """The response in parts, which sum to it."""


@dataclass(frozen=True)
class PlannedChannel:
    """A channel of a plan."""

    name: str
    kind: str
    mechanism: str
    reason: str
    """Why this mechanism."""
    size: int
    """Bytes of a value."""
    capacity: int
    """Values that can wait; 1 for a state."""
    buffers: int | None
    """Copies that a state holds, where its mechanism counts them."""
    bytes: int
    """Bytes of memory in all."""
    latency: int | None
    """Bound in ns from send to receive, if all parties are real-time."""


class Plan:
    """The decisions for a manifest, and whether every deadline and every chain is proven. `taut.plan` makes a plan; the
    plan is true (``if plan:``) if it is proven."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._made = manifest._read.plan()
        self._content: dict[str, Any] = json.loads(self._made.json())

    @property
    def manifest(self) -> Manifest:
        """The manifest that it was made from."""
        return self._manifest

    @property
    def proven(self) -> bool:
        """Whether every deadline and every chain is proven."""
        return self._made.is_proven()

    def __bool__(self) -> bool:
        return self.proven

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The diagnostics of the manifest, then those of its plan."""
        return diagnostics(self._manifest._read.diagnostics(self._made))

    def render(self, *, color: bool = False, width: int = WIDTH) -> str:
        """The diagnostics as the command shows them."""
        return self._manifest._read.render(self._made, color, max(20, min(width, 1_000)))

    @property
    def tasks(self) -> tuple[PlannedTask, ...]:
        """The real-time tasks, in the manifest's order."""
        return tuple(task(each) for each in self._content.get("tasks", ()) if each["class"] == "real-time")

    @property
    def channels(self) -> tuple[PlannedChannel, ...]:
        """The channels, in the manifest's order."""
        return tuple(map(channel, self._content.get("channels", ())))

    def task(self, name: str) -> PlannedTask:
        """The real-time task of this name. Raises ``KeyError``."""
        for each in self.tasks:
            if each.name == name:
                return each
        raise KeyError(name)

    def channel(self, name: str) -> PlannedChannel:
        """The channel of this name. Raises ``KeyError``."""
        for each in self.channels:
            if each.name == name:
                return each
        raise KeyError(name)

    def as_dict(self) -> dict[str, Any]:
        """Everything, in the words of ``taut.lock``; times and sizes are texts with units."""
        return dict(json.loads(self._made.json()))

    def to_lock(self) -> str:
        """The text of ``taut.lock``. The same manifest gives the same text."""
        return self._made.lock()

    def __repr__(self) -> str:
        state = "proven" if self.proven else "not proven"
        return f"<taut.Plan: {self._manifest.app}, {state}>"


def plan(manifest: Manifest | StrPath) -> Plan:
    """Plans a manifest, or the one at a path, proven or not.

    Raises what `Manifest.read` raises.
    """
    return Plan(manifest if isinstance(manifest, Manifest) else Manifest.read(manifest))


def check(manifest: Manifest | StrPath) -> Plan:
    """As `plan`, but raises `ManifestError` with all diagnostics unless every deadline and every chain is proven."""
    made = plan(manifest)
    if not made.proven:
        raise ManifestError(made.render(), made.diagnostics)
    return made


def explain(what: str | Plan, *, task: str | None = None, channel: str | None = None, chain: str | None = None) -> str:
    """Explains what a code, such as ``"TAUT0201"``, means; or how a plan arrives at the bound of a task, a channel or a
    chain.

    Raises ``KeyError`` for a code or name that does not exist, and ``ValueError`` unless the caller asks for exactly
    one thing.
    """
    asked = [(word, name) for word, name in (("task", task), ("channel", channel), ("chain", chain)) if name]
    if isinstance(what, str):
        if asked:
            raise ValueError("a code has no tasks, channels or chains")
        page = _taut.page(what)
        if page is None:
            raise KeyError(f"there is no code {what}; codes look like TAUT0201")
        return page
    if len(asked) != 1:
        raise ValueError("ask for one task, channel or chain")
    word, name = asked[0]
    text = what._made.explain(word, name)
    if text is None:
        raise KeyError(f"the manifest has no {word} {name!r}")
    more = what.manifest._read.advice(name) if word == "task" else ""
    return f"{text}\n{more}" if more else text


def task(given: dict[str, Any]) -> PlannedTask:
    """A task in the words of the file."""
    terms = [PlannedTerm(t["kind"], t.get("of"), t.get("count"), ns(t["time"])) for t in given["terms"]]
    response = given.get("response")
    return PlannedTask(
        name=given["name"],
        cpu=given["cpu"],
        priority=given.get("priority", 0),
        wcet=ns(given["wcet"]),
        deadline=ns(given["deadline"]),
        response=None if response is None else ns(response),
        test=given["test"],
        terms=tuple(terms),
    )


def channel(given: dict[str, Any]) -> PlannedChannel:
    """A channel in the words of the file."""
    latency = given.get("latency")
    return PlannedChannel(
        name=given["name"],
        kind=given["kind"],
        mechanism=given["mechanism"],
        reason=given["reason"],
        size=given["size"],
        capacity=given["capacity"],
        buffers=given.get("buffers"),
        bytes=given["region"]["size"],
        latency=None if latency is None else ns(latency),
    )
