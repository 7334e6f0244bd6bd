# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Several cores, tasks bound to them, global resources: a module per theorem.

| module | resources | verdict |
|---|---|---|
| `msrp_gai01`, `msrp_holistic`, `msrp_joint` | by spinning, first come first served | sufficient |
| `mpcp_lnr09_sound` | by suspension, by priority | sufficient |
| `mpcp_lnr09_paper` | the same as published | **unsound**, no verdict |
| `fmlp_plus`, `fmlp07` | first come, first served | sufficient |
| `edf_msrp` | by spinning, EDF on every core | sufficient |
| `mixed` | some spinning, some suspending, some wait-free | sufficient |
| `mixed_han14` | the same as published | **unsound**, no verdict |

A bound of one task assumes the deadline of another only if ``status`` says so: see `TaskBound`.
"""

from . import (
    edf_msrp,
    fmlp07,
    fmlp_plus,
    mixed,
    mixed_han14,
    mpcp_lnr09_paper,
    mpcp_lnr09_sound,
    msrp_gai01,
    msrp_holistic,
    msrp_joint,
)
from .bounds import Bounds, Claim, TaskBound, Terms, Witness, Witnesses

__all__ = [
    "Bounds",
    "Claim",
    "TaskBound",
    "Terms",
    "Witness",
    "Witnesses",
    "edf_msrp",
    "fmlp07",
    "fmlp_plus",
    "mixed",
    "mixed_han14",
    "mpcp_lnr09_paper",
    "mpcp_lnr09_sound",
    "msrp_gai01",
    "msrp_holistic",
    "msrp_joint",
]
