# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Polling server: looks for requests when its period begins, and gives up the rest of its budget when it finds none."""

from __future__ import annotations

from ...verdict import Verdict
from ..fp.preemptive import Task
from .server import Requests, Response, Server, respond, stand_in

__all__ = ["Requests", "Response", "Server", "interference", "response"]


def interference(server: Server) -> Task:
    """The task that stands for the server where it interferes with less urgent ones."""
    return stand_in("polling", server)


def response(server: Server, requests: Requests) -> Verdict[Response]:
    """Bounds the response time of requests. Raises ``OverflowError``."""
    return respond("polling", server, requests)
