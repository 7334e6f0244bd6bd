// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Bytes of one state message, by mechanism and share of fast readers.
//!
//! ```text
//! words       as in the listings: an index is an int of 4 bytes, a claim or flag a char
//! lock        a value and a word
//! NBW         as many values as the slowest reader needs, and an index
//! EMERALDS    as many values as the fast readers need, and an index; each slow reader receives a copy of its own
//! Chen        an index, and a claim for each slow reader
//! Double B.   an index, and a count (int) and a column for each row
//! Peterson    no listing is known: an index, and two flags for each slow reader
//! ```

use taut_analysis::Overflow;
use taut_analysis::wait_free::buffers::{self, Claim};
use taut_analysis::wait_free::partition;

use super::readers;
use crate::draw::Draw;
use crate::page::{Values, table};

/// The shares of fast readers, in percent.
pub(super) const SHARES: [usize; 5] = [0, 20, 40, 60, 80];
/// The cases: the number of readers, and the bytes of a value.
pub(super) const CASES: [(usize, u64); 4] = [(20, 8), (20, 64), (10, 8), (10, 64)];

/// A protocol with a form for fast readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Chen,
    DoubleBuffer,
    Peterson,
}

/// The order of the columns.
const FORMS: [Form; 3] = [Form::Chen, Form::DoubleBuffer, Form::Peterson];

impl Form {
    fn claim(self) -> Claim {
        match self {
            Self::Chen | Self::Peterson => Claim::Buffer,
            Self::DoubleBuffer => Claim::Row,
        }
    }
}

/// The longest read of a fast reader, which the paper does not print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    /// A period of the writer: the least possible N_max.
    Short,
    /// All of its own period.
    Long,
}

/// Bytes at one share: means over the drawn sets.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) readers: usize,
    pub(super) value: u64,
    pub(super) share: usize,
    pub(super) lock: f64,
    pub(super) nbw: f64,
    /// With short reads.
    pub(super) emeralds: f64,
    /// By protocol, in the order of [`FORMS`]: as published, and with fast readers whose reads are short and
    /// long.
    pub(super) original: [f64; 3],
    pub(super) short: [f64; 3],
    pub(super) long: [f64; 3],
}

/// The bytes of a protocol besides its values.
fn words(form: Form, slow: u64, buffers: u64) -> u64 {
    4 + match form {
        Form::Chen => slow,
        Form::DoubleBuffer => buffers / 2 * 5,
        Form::Peterson => 2 * slow,
    }
}

fn bytes(form: Form, slow: u64, fast: Option<u64>, value: u64) -> Result<u64, Overflow> {
    let buffers = buffers::mixed(form.claim(), slow, fast)?;
    Ok(buffers * value + words(form, slow, buffers))
}

/// All points.
pub(super) fn points(sets: u64, seed: u64) -> Result<Vec<Point>, Overflow> {
    let mut points = Vec::new();
    for (readers, value) in CASES {
        for share in SHARES {
            let mut draw = Draw::new(seed);
            points.push(point(readers, value, share, sets, &mut draw)?);
        }
    }
    Ok(points)
}

fn point(readers: usize, value: u64, share: usize, sets: u64, draw: &mut Draw) -> Result<Point, Overflow> {
    let all = readers as u64;
    let fast = (readers * share / 100) as u64;
    let shortest = readers::writes(readers::PERIOD.as_ns())?;
    let mut point = Point {
        readers,
        value,
        share,
        lock: (value + 4) as f64,
        nbw: 0.0,
        emeralds: (buffers::temporal(shortest)? * value + 4) as f64,
        original: [0.0; 3],
        short: [0.0; 3],
        long: [0.0; 3],
    };
    for (at, form) in FORMS.into_iter().enumerate() {
        point.original[at] = bytes(form, all, None, value)? as f64;
        point.short[at] = bytes(form, all - fast, (fast > 0).then_some(shortest), value)? as f64;
    }
    let (mut nbw, mut long) = (0, [0; 3]);
    for _ in 0..sets {
        let periods = readers::draw(readers, share, draw);
        let writes = periods.into_iter().map(readers::writes).collect::<Result<Vec<_>, _>>()?;
        let most = writes.iter().copied().max().unwrap_or(0);
        nbw += buffers::temporal(most)? * value + 4;
        for (sum, form) in long.iter_mut().zip(FORMS) {
            let best = partition::best(form.claim(), &writes)?;
            let slow = best.slow.len() as u64;
            *sum += best.buffers * value + words(form, slow, best.buffers);
        }
    }
    let mean = |sum: u64| sum as f64 / sets.max(1) as f64;
    Ok(Point { nbw: mean(nbw), long: long.map(mean), ..point })
}

/// The saving over the published form, in percent, by protocol.
pub(super) fn saved(point: &Point, reads: Reads) -> [f64; 3] {
    let less = match reads {
        Reads::Short => point.short,
        Reads::Long => point.long,
    };
    [0, 1, 2].map(|at| 100.0 * (1.0 - less[at] / point.original[at]))
}

pub(super) fn csv(points: &[Point]) -> String {
    let mut text = String::from("readers,value_bytes,fast_percent,lock,nbw,emeralds");
    for kind in ["published", "short_reads", "long_reads"] {
        text += &format!(",chen_{kind},double_buffer_{kind},peterson_{kind}");
    }
    text.push('\n');
    for point in points {
        text += &format!(
            "{},{},{},{},{:.1},{}",
            point.readers, point.value, point.share, point.lock, point.nbw, point.emeralds
        );
        for bytes in [point.original, point.short, point.long].as_flattened() {
            text += &format!(",{bytes:.1}");
        }
        text.push('\n');
    }
    text
}

pub(super) fn report(points: &[Point], values: &mut Values) {
    let head = [
        "fast readers",
        "lock",
        "NBW",
        "EMERALDS",
        "Chen",
        "with fast",
        "Double Buffer",
        "with fast",
        "Peterson",
        "with fast",
    ];
    for (name, case) in [("bytes 8", CASES[0]), ("bytes 64", CASES[1])] {
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for point in points.iter().filter(|point| (point.readers, point.value) == case) {
            let mut row = vec![format!("{} %", point.share)];
            row.extend([point.lock, point.nbw, point.emeralds].map(|bytes| format!("{bytes:.0}")));
            for at in 0..3 {
                row.extend([point.original[at], point.short[at]].map(|bytes| format!("{bytes:.0}")));
            }
            rows.push(row);
        }
        values.set(name, table(&rows));
    }
    let mut rows = vec![
        [
            "fast readers",
            "Chen",
            "Double Buffer",
            "Peterson",
            "Chen, long reads",
            "Double Buffer, long reads",
            "Peterson, long reads",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    let of_paper = |point: &&Point| point.readers == 20 && point.value == 8 && point.share > 0;
    for point in points.iter().filter(of_paper) {
        let mut row = vec![format!("{} %", point.share)];
        for percent in [saved(point, Reads::Short), saved(point, Reads::Long)].as_flattened() {
            row.push(format!("{percent:.1} %"));
        }
        rows.push(row);
    }
    values.set("saved", table(&rows));
    let within = |reads: Reads| {
        let all = points.iter().filter(of_paper).flat_map(|point| saved(point, reads));
        let (least, most) =
            all.fold((f64::MAX, f64::MIN), |(least, most), saved| (least.min(saved), most.max(saved)));
        format!("{least:.1} to {most:.1} %")
    };
    values.set("saved short", within(Reads::Short));
    values.set("saved long", within(Reads::Long));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_by_hand() {
        let points = points(20, 1).expect("small");
        let at = |share| {
            points
                .iter()
                .find(|point| (point.readers, point.value, point.share) == (20, 8, share))
                .expect("there")
        };
        // 22, 42 and 22 values, and the words besides.
        assert_eq!(at(0).original, [22.0 * 8.0 + 24.0, 42.0 * 8.0 + 4.0 + 21.0 * 5.0, 22.0 * 8.0 + 44.0]);
        assert_eq!(at(0).short, at(0).original);
        // 4 slow readers, and 3 values, or two rows, for the others.
        assert_eq!(at(80).short, [7.0 * 8.0 + 8.0, 12.0 * 8.0 + 4.0 + 30.0, 7.0 * 8.0 + 12.0]);
        assert_eq!((at(80).lock, at(80).emeralds), (12.0, 28.0));
        assert!(at(80).nbw > at(80).original[1]);
    }

    /// The form with fast readers is never larger than the published one, as the paper says.
    #[test]
    fn fast_readers_never_cost() {
        for point in points(20, 2).expect("small") {
            for at in 0..3 {
                assert!(
                    point.short[at] <= point.original[at] && point.long[at] <= point.original[at],
                    "{point:?}"
                );
            }
        }
    }
}
