# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""What the extension offers to this package: plain numbers, texts, lists and tuples.

Private: use the modules above it, which give names to its results. Times are whole ns from 0 to 2⁶⁴ − 1; positions are
indices into lists in the order given. Functions raise ``OverflowError`` for values that do not fit in 64 bits,
``IndexError`` for positions that do not exist, ``ValueError`` for unknown words, and ``InternalError`` for errors of
taut itself.
"""

from collections.abc import Callable
from typing import final

from .rows import (
    AlternativeRow,
    Answer,
    Blocked,
    BoundsRow,
    ClaimRow,
    DemandRow,
    FpResponse,
    FpRow,
    FpSubject,
    HopRow,
    JudgedRow,
    LocalLocksRow,
    ObjectRow,
    ResponseRow,
    TaskRow,
    TermsRow,
    TransactionRow,
    WitnessRow,
)

__all__ = [
    "Generator",
    "InternalError",
    "Made",
    "Problem",
    "Read",
    "Set",
    "Table",
    "__version__",
    "buffers_count",
    "buffers_flow",
    "buffers_instances",
    "buffers_lifetime",
    "buffers_partition",
    "buffers_presence",
    "buffers_smallest",
    "buffers_temporal",
    "chain_data_age",
    "chain_davare07",
    "chain_reaction",
    "edf_core",
    "edf_demand",
    "edf_msrp_cores",
    "edf_msrp_responses",
    "edf_msrp_spinning",
    "edf_response",
    "edf_response_core",
    "fp_assign",
    "fp_audsley",
    "fp_burns94",
    "fp_ceiling_blocking",
    "fp_ceilings",
    "fp_is_exact",
    "fp_local_locks",
    "fp_offsets",
    "fp_offsets_chained",
    "fp_response",
    "fp_sweep",
    "import_text",
    "liu_layland_bound",
    "longest_read",
    "multi_blocking",
    "multi_bounds",
    "multi_claims",
    "multi_fmlp07",
    "multi_mixed",
    "page",
    "parse_time",
    "printed_longest_read",
    "queue_capacity",
    "queue_overflow",
    "queue_time",
    "retries_below",
    "retries_cost",
    "retries_elsewhere",
    "retries_per_write",
    "server_interference",
    "server_response",
    "show_time",
    "simulate",
    "utilisation",
    "utilisation_test",
    "writes_most",
]
__version__: str

class InternalError(RuntimeError):
    """An error of taut itself. Please report it."""

def parse_time(text: str) -> int:
    """A time with its unit, as ``"1.5ms"``, in ns. Raises ``ValueError``."""

def show_time(ns: int) -> str:
    """A time in ns as text with a unit."""

@final
class Set:
    """A task set."""

    def __new__(cls, edf: list[bool], resources: list[str], tasks: list[TaskRow]) -> Set:
        """Checks all rules. Raises ``ValueError`` with a text and every fault."""

    def cost(self, task: int) -> int:
        """C of a task."""

    def requests(self, task: int) -> list[tuple[int, int, int, bool]]:
        """Its sections by resource: how many, how long, whether none is inside another."""

    def users(self, resource: int) -> list[int]:
        """The tasks that use a resource."""

    def is_local(self, resource: int) -> bool:
        """Whether they are on one core."""

    def rows(self) -> tuple[list[bool], list[str], list[TaskRow]]:
        """The rows that it was made from."""

def fp_response(theorem: str, asked: FpSubject, higher: list[FpRow], last: int) -> Answer[FpResponse]:
    """A task below others: ``"preemptive"``, ``"arbitrary"``, ``"non-preemptive"`` or ``"limited"``."""

def fp_is_exact(asked: FpSubject, higher: list[FpRow]) -> bool:
    """Whether the equation's value is attained."""

def fp_burns94(asked: FpSubject, higher: list[FpRow], last: int) -> int | None:
    """Unsound: the first job alone."""

def fp_sweep(tasks: list[tuple[int, int, int, int, int]]) -> tuple[Answer[int], list[int]]:
    """Tasks by urgency, each C, T, D, J, B: the first task that is not shown to keep its deadline, and R of the tasks
    before it."""

def fp_audsley(count: int, passes: Callable[[int, list[int], list[int]], bool]) -> list[int] | None:
    """An order in which every task passes."""

def fp_assign(tasks: list[tuple[int | None, int]]) -> list[int] | None:
    """Priorities by D − J; each task as its fixed number, if any, and D − J."""

def fp_ceilings(set: Set) -> list[int | None]:
    """The ceiling of each local resource."""

def fp_ceiling_blocking(set: Set, task: int) -> Blocked:
    """The longest section that blocks a task."""

def fp_local_locks(set: Set, core: int) -> list[LocalLocksRow]:
    """Response times of a core with local locks."""

def fp_offsets(by: tuple[str, int], rows: list[TransactionRow], of: tuple[int, int]) -> Answer[tuple[int, int]]:
    """An activity, by a method and its limit: R from the event, steps."""

def fp_offsets_chained(by: tuple[str, int], rows: list[TransactionRow]) -> Answer[list[list[int]]]:
    """All activities, each of which waits for the one before it."""

def edf_demand(tasks: list[tuple[int, int, int, int]], exact: bool) -> Answer[DemandRow]:
    """Tasks that share nothing, each C, T, D, J."""

def edf_core(set: Set, core: int, guard: str) -> Answer[DemandRow]:
    """A core of a set."""

def edf_response(
    tasks: list[tuple[int, int, int, int]], which: int, blockers: list[tuple[int, int, int]], exact: bool
) -> Answer[ResponseRow]:
    """One task among others."""

def edf_response_core(set: Set, core: int, guard: str) -> Answer[list[ResponseRow]]:
    """All tasks of a core of a set."""

def server_response(
    kind: str, row: tuple[int, int, int], requests: tuple[int, int, int, int]
) -> Answer[tuple[int, int, int]]:
    """Requests, each C, T, J, D, to a server: R, which request attains it, periods of the server."""

def server_interference(kind: str, row: tuple[int, int, int]) -> tuple[int, int, int]:
    """The task, as C, T, J, that stands for a server where it interferes."""

def utilisation(tasks: list[tuple[int, int]]) -> tuple[int, bool]:
    """U of tasks as (C, T): parts per million, rounded up, and whether U ≤ 1."""

def utilisation_test(theorem: str, tasks: list[tuple[int, int]]) -> Answer[int]:
    """A test of U: ``"hyperbolic"`` or ``"liu-layland"``."""

def liu_layland_bound(tasks: int) -> int:
    """n · (2^(1/n) − 1) in billionths."""

def multi_bounds(theorem: str, set: Set) -> Answer[BoundsRow]:
    """Response times of all tasks by a theorem, by the name of its module."""

def multi_fmlp07(set: Set, long: list[bool]) -> Answer[BoundsRow]:
    """FMLP of 2007; ``long`` says of each resource whether it is long."""

def multi_mixed(set: Set, guards: list[str]) -> Answer[BoundsRow]:
    """MSRP, MPCP and wait-free objects side by side."""

def multi_claims(set: Set, guards: list[str] | None = None) -> Answer[list[ClaimRow]]:
    """What printed equations claim: those of MPCP, or the mixed ones."""

def multi_blocking(theorem: str, set: Set, windows: list[int]) -> Answer[list[TermsRow]]:
    """Spinning and blocking alone."""

def edf_msrp_cores(set: Set) -> Answer[list[DemandRow]]:
    """All cores under EDF."""

def edf_msrp_responses(set: Set) -> Answer[list[ResponseRow]]:
    """Response times of all tasks under EDF."""

def edf_msrp_spinning(set: Set) -> list[tuple[int, WitnessRow]]:
    """For each task, how long a job spins at most, and the resource that it spins longest for."""

def buffers_count(word: str, slow: int, fast: int | None, printed: bool) -> int:
    """Buffers for slow readers and fast ones."""

def buffers_temporal(writes: int) -> int:
    """Buffers by time alone."""

def buffers_presence(readers: int) -> int:
    """Buffers of presence counting."""

def buffers_lifetime(used_for: list[int], row: tuple[int, int], ignoring: bool) -> Answer[int]:
    """Buffers by how long values are used."""

def buffers_partition(word: str, writes: list[int], form: str) -> tuple[list[int], list[int], int, list[int]]:
    """Fast readers, slow readers, buffers, buffers by the number of fast readers."""

def buffers_instances(readers: list[tuple[int, int]], above: bool) -> tuple[Answer[int], Answer[int]]:
    """Jobs of readers, each T and R, under way; and buffers."""

def buffers_smallest(
    readers: list[tuple[int, int, int]], row: tuple[int, int]
) -> Answer[tuple[int, int | None, int, list[int], int]]:
    """Buffers by readers' jobs, by time, by both; the fast readers of the count by both; the least."""

def buffers_flow(form: str, row: tuple[int, int, int], readers: list[tuple[int, int, int, bool]]) -> Answer[int]:
    """Buffers where flows are preserved."""

def writes_most(read: int, row: tuple[int, int], printed: bool) -> Answer[int]:
    """Writes that can touch a read."""

def longest_read(within: int, elsewhere: int) -> int:
    """The longest that a read can last."""

def printed_longest_read(period: int, cost: int, read: int) -> int | None:
    """The same as printed."""

def retries_per_write(row: tuple[int, int], write: int) -> int:
    """Attempts that one write can fail."""

def retries_elsewhere(row: tuple[int, int], writer: tuple[int, int, int, int]) -> Answer[tuple[int, int]]:
    """Retries beside a writer on another core."""

def retries_below(deadline: int, writer: tuple[int, int, int, int]) -> Answer[int]:
    """Retries below the writer on its core."""

def retries_cost(other: int, attempt: int, retries: int) -> int:
    """C of a job that reads once."""

def queue_capacity(writer: tuple[int, int, int], reader: tuple[int, int, int, bool]) -> Answer[int]:
    """Values that can wait."""

def queue_time(what: str, writer: tuple[int, int, int], reader: tuple[int, int, int, bool]) -> Answer[int]:
    """``"wait"`` or ``"latency"`` of a value."""

def queue_overflow(
    what: str, writer: tuple[int, int, int], reader: tuple[int, int, int, bool], values: int
) -> Answer[int | None]:
    """When a queue of so many values is full: ``"not-before"`` or ``"certainly-by"``."""

def chain_data_age(
    first: tuple[bool, int, int, int], rows: list[HopRow]
) -> Answer[tuple[int, int | None, list[int], int]]:
    """Until the last output, until it is replaced, hops, the last response."""

def chain_reaction(first: tuple[bool, int, int, int], rows: list[HopRow]) -> Answer[tuple[int, int, list[int], int]]:
    """Total, sampling, hops, the last response."""

def chain_davare07(tasks: list[tuple[bool, int, int, int]]) -> int:
    """Σ (T + R)."""

@final
class Table:
    """Rows of named columns."""

    def __len__(self) -> int: ...
    def names(self) -> list[str]:
        """The names of all columns."""

    def column(self, name: str) -> tuple[str, bytes, bytes | None, list[str | None] | None]:
        """A column for numpy: its type, its bytes, a byte per element that says whether it is present, and the words to
        which the elements are indices, or the words themselves. Raises ``KeyError``."""

    def __arrow_c_schema__(self) -> object:
        """The schema."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """The schema and all rows."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """All rows as a stream."""

@final
class Problem:
    """The choice of an offer for each object."""

    def __new__(cls, set: Set, objects: list[ObjectRow], others: list[str], printed: bool, aim: str) -> Problem:
        """Lays it out. Raises ``ValueError``."""

    def judge(self, selection: list[int | None]) -> JudgedRow | None:
        """The judgement of an offer per object, if all deadlines are kept."""

    def best(
        self,
        judgements: int,
        budget_ns: int | None,
        progress: Callable[[int, int | None, int], bool | None] | None,
    ) -> tuple[tuple[list[int], JudgedRow] | None, int, bool, int]:
        """The best, a lower bound for every selection, whether the best is proven, judgements."""

    def other(self, algorithm: str, depth: int) -> tuple[tuple[list[int], JudgedRow] | None, int]:
        """The best of another algorithm, and judgements."""

    def why(self, selection: list[int], object: int) -> list[AlternativeRow] | None:
        """Each offer of an object, while the other objects keep theirs."""

@final
class Read:
    """A manifest with its overlays, read."""

    def __new__(cls, texts: list[tuple[str, str, str]]) -> Read:
        """Texts, the manifest first: name, path in the plan's file, text."""

    def is_valid(self) -> bool:
        """Whether it has no faults."""

    def diagnostics(self, made: Made | None = None) -> str:
        """Diagnostics as JSON, with those of a plan."""

    def render(self, made: Made | None, color: bool, width: int) -> str:
        """Diagnostics as the command shows them."""

    def names(self) -> tuple[str, list[list[str]], list[int]]:
        """The application; tasks, channels, chains, resources, clients; CPUs."""

    def set(self) -> Set:
        """Its task set."""

    def plan(self) -> Made:
        """Its plan."""

    def advice(self, task: str) -> str:
        """What each test says of a task, and its room or what would make it fit."""

    def export(self, language: str) -> tuple[str, list[str]]:
        """Its task set in another tool's language, and what was not carried over."""

@final
class Made:
    """A plan."""

    def is_proven(self) -> bool:
        """Whether every deadline and every chain is proven."""

    def has_errors(self) -> bool:
        """Whether a diagnostic is an error."""

    def json(self) -> str:
        """The plan as JSON."""

    def lock(self) -> str:
        """The text of its file."""

    def explain(self, what: str, name: str) -> str | None:
        """Explains the bound of a task, a channel or a chain."""

def import_text(
    text: str, language: str | None, unit: int | None, name: str
) -> tuple[tuple[str, str] | None, list[tuple[tuple[int, int] | None, str]]]:
    """The language that was read and the manifest, and what was lost; or where and why nothing was read."""

def page(code: str) -> str | None:
    """What a code means, at length."""

def simulate(
    set: Set,
    cores: list[str],
    resources: list[str],
    seed: int,
    horizon: int,
    steps_max: int,
    row: tuple[str, list[int], int, str, str, int, str],
    events: bool,
) -> tuple[str, int, int, list[tuple[int, int, int, int, int, int]], Table | None]:
    """How the run ended, the instant of its last event, steps, what happened to each task, events."""

@final
class Generator:
    """A generator file, read."""

    def __new__(cls, name: str, text: str) -> Generator:
        """Reads a text. Raises ``ValueError`` with the diagnostics as the command shows them, and as JSON."""

    def with_seed(self, seed: int) -> Generator:
        """The same with another seed."""

    def seed(self) -> int:
        """The seed."""

    def rows(self) -> int:
        """How many rows there are."""

    def points(self) -> list[tuple[str, int]]:
        """For each point, its scheme and its utilisation in parts per million."""

    def columns(self) -> list[tuple[str, str]]:
        """The columns of a table of rows, with what they mean."""

    def methods(self) -> list[str]:
        """The names of the methods."""

    def shard(self, index: int, of: int) -> tuple[int, int]:
        """The rows of a part, counted from 0."""

    def set(self, row: int) -> Set:
        """The system of a row."""

    def run(self, start: int, end: int, jobs: int, progress: Callable[[int], bool | None] | None) -> Table:
        """The rows from one on up to another."""
