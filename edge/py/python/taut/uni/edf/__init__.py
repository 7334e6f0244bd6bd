# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""One core, earliest deadline first.

| module | answers | verdict |
|---|---|---|
| `demand` | whether deadlines are kept | exact for free arrivals, else sufficient |
| `srp` | the same with local resources and jitter, stack resource policy | sufficient |
| `dfp` | the same, deadline floor protocol | sufficient |
| `response` | response times, with or without such resources | exact for free arrivals, else sufficient |
"""

from . import demand, dfp, response, srp

__all__ = ["demand", "dfp", "response", "srp"]
