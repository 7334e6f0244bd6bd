# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Buffers of a state channel with one writer, by protocol. Exact.

Source: Huang et al. 2002; Peterson 1983 as revised by Vidyasankar 1990.
"""

from __future__ import annotations

from typing import Literal, SupportsIndex, TypeAlias

from .. import _taut
from ..time import count

Protocol: TypeAlias = Literal["chen", "double-buffer", "peterson"]
"""How a slow reader is protected: it claims a buffer; rows of two buffers with a count of readers; the writer copies
for it."""


def temporal(writes: SupportsIndex) -> int:
    """Buffers by time alone (NBW), if at most ``writes`` writes can touch a read. Raises ``OverflowError``."""
    return _taut.buffers_temporal(count(writes, "writes"))


def presence(readers: SupportsIndex) -> int:
    """Buffers of presence counting. Raises ``OverflowError``."""
    return _taut.buffers_presence(count(readers, "readers"))


def mixed(protocol: Protocol, slow: SupportsIndex, fast: SupportsIndex | None = None) -> int:
    """Buffers for ``slow`` slow readers, and for fast readers whose reads ``fast`` writes can touch; ``None`` if there
    are no fast readers. Raises ``ValueError`` and ``OverflowError``."""
    writes = None if fast is None else count(fast, "writes")
    return _taut.buffers_count(protocol, count(slow, "slow readers"), writes, False)


def printed(protocol: Protocol, slow: SupportsIndex, fast: SupportsIndex | None = None) -> int:
    """The printed count, **unsound**, for comparison. Raises ``ValueError`` and ``OverflowError``."""
    writes = None if fast is None else count(fast, "writes")
    return _taut.buffers_count(protocol, count(slow, "slow readers"), writes, True)
