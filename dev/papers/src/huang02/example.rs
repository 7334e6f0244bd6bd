// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The example of [Huang02, Fig. 10], divided as in Fig. 9.

use taut_analysis::Overflow;
use taut_analysis::wait_free::buffers::Claim;
use taut_analysis::wait_free::partition::{self, Partition};
use taut_analysis::wait_free::writes_during_read::{self, WriterTiming};
use taut_time::Duration;

use crate::figure::{Axis, Body, Figure, Line, Marker, Panel, Stroke, line};
use crate::page::{Values, table};

/// R_max of each reader as printed, and N_max as printed.
const READS: [u64; 7] = [4, 5, 9, 14, 20, 125, 475];
const PRINTED_WRITES: [u64; 7] = [2, 2, 2, 3, 3, 14, 49];
const WRITER: WriterTiming = WriterTiming { period: Duration::from_ns(10), within: Duration::from_ns(7) };

/// The writes during each read, and the division that each way to count finds.
pub(super) struct Counts {
    writes: Vec<u64>,
    ways: Vec<(&'static str, Partition)>,
}

pub(super) fn counts() -> Result<Counts, Overflow> {
    let writes = READS.iter().map(|&read| {
        let verdict = writes_during_read::printed(Duration::from_ns(read), &WRITER)?;
        verdict.bound().copied().ok_or(Overflow)
    });
    let writes = writes.collect::<Result<Vec<_>, _>>()?;
    let ways = vec![
        ("Chen, Peterson", partition::best(Claim::Buffer, &writes)?),
        ("Double Buffer", partition::best(Claim::Row, &writes)?),
        ("Double Buffer as in Fig. 9", partition::printed(Claim::Row, &writes)?),
        ("Double Buffer as in the text", partition::printed_prose(&writes)?),
    ];
    Ok(Counts { writes, ways })
}

pub(super) fn figure(counts: &Counts) -> Figure {
    let styles = [
        line(0, Stroke::Solid, Marker::Dot),
        line(1, Stroke::Solid, Marker::Square),
        line(1, Stroke::Dotted, Marker::None),
        line(1, Stroke::Dashed, Marker::None),
    ];
    let lines = counts.ways.iter().zip(styles).map(|((_, found), style)| {
        let points = found.by_fast.iter().enumerate().map(|(fast, count)| (fast as f64, *count as f64));
        Line { style, points: points.collect() }
    });
    Figure {
        title: "Buffers of the example, by how many readers are fast".into(),
        caption: vec![
            "One writer, seven readers of [Huang02, Fig. 10], taken as fast in order of N_max.".into(),
        ],
        panels: vec![Panel {
            title: String::new(),
            x: Axis::linear("fast readers", 0.0, 7.0, 1.0),
            y: Axis::linear("buffers", 0.0, 60.0, 10.0),
            body: Body::Lines(lines.collect()),
        }],
        columns: 1,
        legend: counts
            .ways
            .iter()
            .zip(styles)
            .map(|((name, _), style)| ((*name).to_owned(), style))
            .collect(),
    }
}

pub(super) fn csv(counts: &Counts) -> String {
    let mut text =
        String::from("fast_readers,chen,double_buffer,double_buffer_figure_9,double_buffer_text\n");
    for fast in 0..=READS.len() {
        let row: Vec<_> = counts.ways.iter().map(|(_, found)| found.by_fast[fast].to_string()).collect();
        text += &format!("{fast},{}\n", row.join(","));
    }
    text
}

pub(super) fn report(counts: &Counts, values: &mut Values) {
    let mut rows =
        vec![vec!["reader".to_owned(), "R_max".into(), "N_max, printed".into(), "N_max, ours".into()]];
    for (at, (read, printed)) in READS.iter().zip(PRINTED_WRITES).enumerate() {
        rows.push(vec![at.to_string(), read.to_string(), printed.to_string(), counts.writes[at].to_string()]);
    }
    values.set("writes", table(&rows));
    let mut head = vec!["fast readers".to_owned()];
    head.extend((0..=READS.len()).map(|fast| fast.to_string()));
    head.push("least".into());
    let mut rows = vec![head];
    for (name, found) in &counts.ways {
        let mut row = vec![(*name).to_owned()];
        row.extend(found.by_fast.iter().map(u64::to_string));
        row.push(format!("{} with {} fast", found.buffers, found.fast.len()));
        rows.push(row);
    }
    values.set("divisions", table(&rows));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huang02_figure_10() {
        let counts = counts().expect("small");
        assert_eq!(counts.writes, PRINTED_WRITES);
        let least: Vec<_> = counts.ways.iter().map(|(_, found)| (found.buffers, found.fast.len())).collect();
        assert_eq!(least, [(6, 5), (8, 5), (8, 5), (10, 5)]);
    }
}
