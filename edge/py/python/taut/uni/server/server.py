# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""What all servers have in common."""

from __future__ import annotations

from dataclasses import dataclass

from ... import _taut
from ...time import Time, ns
from ...verdict import Verdict, verdict
from ..fp.preemptive import Task


@dataclass(frozen=True)
class Server:
    """A server: its budget, its period, and the response time, from `taut.uni.fp`, of a periodic task in its place with
    the budget as cost and the same period."""

    budget: Time
    period: Time
    response: Time

    def _row(self) -> tuple[int, int, int]:
        return ns(self.budget), ns(self.period), ns(self.response)


@dataclass(frozen=True)
class Requests:
    """Requests: at most ⌈(t + J) / T⌉ arrive in any time t, each of cost C and to be served within D. A burst of n at
    once is J = (n − 1)·T."""

    cost: Time
    period: Time
    deadline: Time
    jitter: Time = 0


@dataclass(frozen=True)
class Response:
    """How long a request takes at most."""

    time: int
    """From the request until it is served, in ns."""
    request: int
    """Which request of a backlog attains this time, from 1."""
    budgets: int
    """How many periods of the server that request takes from the start of the backlog."""


def respond(kind: str, server: Server, requests: Requests) -> Verdict[Response]:
    """R of requests to a server of a kind."""
    row = ns(requests.cost), ns(requests.period), ns(requests.jitter), ns(requests.deadline)
    return verdict(_taut.server_response(kind, server._row(), row), lambda found: Response(*found))


def stand_in(kind: str, server: Server) -> Task:
    """The task that stands for a server where it interferes."""
    cost, period, jitter = _taut.server_interference(kind, server._row())
    return Task(cost, period, jitter)
