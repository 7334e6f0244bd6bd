// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_analysis::multi::Guard;
use taut_model::Mechanism;
use taut_planner::select::Equations;

use crate::method::Method;

/// The content of a generator file. Holding a `Generator` proves that systems can be drawn from it: every range is
/// valid, every list of weights has a weight above 0, and every method has the mechanisms that it needs.
#[derive(Clone, Debug)]
pub struct Generator {
    pub(crate) seed: u64,
    pub(crate) rows_per_point: u64,
    pub(crate) equations: Equations,
    pub(crate) points: Vec<Point>,
    pub(crate) tasks: Tasks,
    pub(crate) schemes: Vec<Scheme>,
    pub(crate) objects: Objects,
    pub(crate) sections: Sections,
    pub(crate) mechanisms: Mechanisms,
    pub(crate) methods: Vec<Method>,
}

/// What several rows have in common: a point of a curve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The scheme's name.
    pub scheme: String,
    /// The load of each core without mechanisms, in millionths of the core.
    pub utilisation: u64,
    /// The position of the scheme.
    pub(crate) at: usize,
}

/// How tasks are drawn. Times are in ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tasks {
    pub(crate) cores: usize,
    pub(crate) per_core: (u64, u64),
    pub(crate) periods: Periods,
    /// In millionths of the period.
    pub(crate) deadlines: (u64, u64),
    pub(crate) cut: Cut,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Periods {
    /// Weights and periods.
    Listed(Vec<(u64, u64)>),
    /// Each octave is equally likely; the periods are multiples of `step`.
    Octaves { range: (u64, u64), step: u64 },
}

/// How the load of a core is divided among its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// All divisions are equally likely.
    Any,
    /// Each task gets the same share.
    Even,
}

/// How many readers an object has, and how large it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scheme {
    pub(crate) name: String,
    /// Weights and numbers of readers.
    pub(crate) readers: Vec<(u64, u64)>,
    /// Weights and sizes in bytes.
    pub(crate) sizes: Vec<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Objects {
    /// The exact number of objects; `None` takes as many as the draw gives.
    pub(crate) count: Option<usize>,
    /// Whether an object whose tasks are all on one core counts.
    pub(crate) same_core: bool,
}

/// How long a section is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sections {
    /// All sections of a task together, in millionths of its execution time.
    Share((u64, u64)),
    /// Each section, in ns.
    Length((u64, u64)),
    /// Each section, in ns, by the bytes that it accesses.
    Access { fixed: u64, per_byte: u64 },
}

/// The mechanisms on offer with their costs, in the order of an object's offers.
pub(crate) type Mechanisms = Vec<(Mechanism, Costs)>;

/// What a mechanism costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Costs {
    Lock(Guard, Lock),
    Buffered(Buffered),
}

/// A lock. Times are in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lock {
    /// The time of a request and its release without contention.
    pub(crate) time: u64,
    /// The time by which the lock lengthens a section, also for the tasks that wait.
    pub(crate) held: u64,
    pub(crate) bytes: u64,
}

/// Buffers with indices: the time of an access in ns, besides the section itself, and the bytes of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffered {
    pub(crate) write: u64,
    /// Additional time of a write for each reader.
    pub(crate) write_per_reader: u64,
    pub(crate) read: u64,
    /// Additional time of a write or read for each byte.
    pub(crate) per_byte: u64,
    pub(crate) index: u64,
}

impl Generator {
    /// The points for which rows are drawn: scheme by scheme in the order of the file, within each by increasing
    /// load.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The number of rows of the sweep; each point has the same number.
    pub fn rows(&self) -> u64 {
        self.rows_per_point.saturating_mul(self.points.len() as u64)
    }

    /// The point of a row, as a position. Successive rows belong to successive points, in turn, so that the first rows
    /// of a sweep are a smaller sweep.
    pub fn point_of(&self, row: u64) -> usize {
        (row % self.points.len().max(1) as u64) as usize
    }

    /// The methods applied to each system, in the order of the columns.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// The equations that judge whether deadlines are met.
    pub fn equations(&self) -> Equations {
        self.equations
    }

    /// The seed of all rows.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The same generator with another seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}
