# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Aperiodic servers: a budget every T_s for requests whose arrival is bounded, fixed priority, one core. Sufficient.

Source: Shin & Lee 2003 for the supply; Lehoczky et al. 1987, Sprunt et al. 1989, Strosnider et al. 1995 for the
servers.
"""

from . import deferrable, polling, sporadic
from .server import Requests, Response, Server

__all__ = ["Requests", "Response", "Server", "deferrable", "polling", "sporadic"]
