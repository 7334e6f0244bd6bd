// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_plan::select::Equations;

use crate::method::Method;

/// What a generator file says. Holding one proves that it can be drawn from: every range is one, every list of weights
/// has one that is not 0, and every method has the mechanisms that it needs.
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

/// What is the same for some of the rows: where a curve has a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The scheme's name.
    pub scheme: String,
    /// The load of each core without mechanisms, in millionths of it.
    pub utilisation: u64,
    /// The scheme's position.
    pub(crate) at: usize,
}

/// How tasks are drawn. Times in ns.
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
    /// Each octave is as likely; whole multiples of a step.
    Octaves { range: (u64, u64), step: u64 },
}

/// How a core's load becomes its tasks'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// All ways are as likely.
    Any,
    /// Each task has as much.
    Even,
}

/// How much is shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scheme {
    pub(crate) name: String,
    /// Weights and numbers.
    pub(crate) readers: Vec<(u64, u64)>,
    /// Weights and bytes.
    pub(crate) sizes: Vec<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Objects {
    /// As many; as many as come if nothing is said.
    pub(crate) count: Option<usize>,
    /// Whether an object whose tasks are all on one core is one.
    pub(crate) same_core: bool,
}

/// How long a section is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sections {
    /// All of a task together, in millionths of its execution time.
    Share((u64, u64)),
    /// Each, in ns.
    Length((u64, u64)),
    /// Each, in ns, by what is accessed.
    Access { fixed: u64, per_byte: u64 },
}

/// What there is for an object, in the order of an object's offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mechanisms {
    pub(crate) msrp: Option<Lock>,
    pub(crate) mpcp: Option<Lock>,
    pub(crate) dbp: Option<Buffered>,
    pub(crate) tccp: Option<Buffered>,
}

/// A lock. Times in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lock {
    /// Of a request with its release, while nobody waits for it.
    pub(crate) time: u64,
    /// By which a section is longer, for those who wait as well.
    pub(crate) held: u64,
    pub(crate) bytes: u64,
}

/// Buffers with indices: ns of an access besides the section itself, and bytes of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffered {
    pub(crate) write: u64,
    /// More of a write, for each reader.
    pub(crate) write_per_reader: u64,
    pub(crate) read: u64,
    /// More of either, for each byte.
    pub(crate) per_byte: u64,
    pub(crate) index: u64,
}

impl Generator {
    /// What rows are drawn for, scheme by scheme in the order of the file, and in each the least load first.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// How many rows there are: as many for each point.
    pub fn rows(&self) -> u64 {
        self.rows_per_point.saturating_mul(self.points.len() as u64)
    }

    /// The point of a row, a position. Rows go round the points, so that the first rows of a sweep are a smaller sweep.
    pub fn point_of(&self, row: u64) -> usize {
        (row % self.points.len().max(1) as u64) as usize
    }

    /// What is asked of each system, in the order of the columns.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// By which equations deadlines are judged.
    pub fn equations(&self) -> Equations {
        self.equations
    }

    /// The seed of all rows.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The same with another seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}
