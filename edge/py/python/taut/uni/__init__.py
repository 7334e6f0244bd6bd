# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""One core: fixed priority, earliest deadline first, servers, and shares."""

from . import edf, fp, server, utilisation

__all__ = ["edf", "fp", "server", "utilisation"]
