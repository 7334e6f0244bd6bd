# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""What tests share."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def root() -> Path:
    """The root of the sources: examples and applications are below it."""
    return ROOT


@pytest.fixture
def small() -> str:
    """A generator file of few small systems."""
    return SMALL


SMALL = """
generator = 1
seed = 7
rows-per-point = 6
equations = "sound"
utilisation = { from = "40%", to = "60%", step = "10%" }

[tasks]
cores = 2
per-core = [2, 4]
periods = ["5ms", "10ms", "20ms"]

[schemes.small]
readers = { 1 = 50, 2 = 50 }
sizes = { "4B" = 50, "48B" = 50 }

[sections]
share = ["1%", "5%"]

[mechanisms]
msrp = { time = "1us", bytes = "4B" }
mpcp = { time = "2.5us", bytes = "4B" }
dbp = { write = "500ns", write-per-reader = "150ns", read = "500ns", index = "1B" }
tccp = { write = "300ns", read = "200ns", index = "1B" }

[methods]
msrp = true
mpcp = true
heuristic = 0
"""
