# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Buffers of state channels whose reader and writer never wait for each other.

| module | computes | verdict |
|---|---|---|
| `writes_during_read` | writes that can touch one read | exact |
| `buffers` | buffers by protocol, number of readers and their speed | exact |
| `partition` | which readers to treat as fast | exact |
| `reader_instances` | buffers by the number of readers' jobs | sufficient |
| `lifetime` | buffers by how long values are used | exact |
| `smallest` | the least of these | sufficient |
| `flow` | buffers where flows are preserved | exact |
| `retries` | how often a read of one buffer is repeated | sufficient |
"""

from . import buffers, flow, lifetime, partition, reader_instances, retries, smallest, writes_during_read

__all__ = [
    "buffers",
    "flow",
    "lifetime",
    "partition",
    "reader_instances",
    "retries",
    "smallest",
    "writes_during_read",
]
