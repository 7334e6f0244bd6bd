// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use super::space::{CASES, Point, Reads, saved};
use crate::figure::{Axis, Body, Figure, Line, Marker, Panel, Stroke, Style, line};

/// Name, colour and marker of each protocol, in order.
const MARKS: [(&str, usize, Marker); 3] =
    [("Chen", 0, Marker::Dot), ("Double Buffer", 1, Marker::Square), ("Peterson", 2, Marker::Triangle)];
const LOCK: Style = line(5, Stroke::Solid, Marker::None);
const NBW: Style = line(4, Stroke::Solid, Marker::None);
const EMERALDS: Style = line(4, Stroke::Dashed, Marker::None);

fn original(at: usize) -> Style {
    line(MARKS[at].1, Stroke::Dashed, Marker::None)
}

fn with_fast(at: usize) -> Style {
    line(MARKS[at].1, Stroke::Solid, MARKS[at].2)
}

/// Fig. 14 for two sizes of a value, and Fig. 15 (c).
pub(super) fn figure(points: &[Point]) -> Figure {
    let x = || Axis::linear("fast readers [%]", 0.0, 80.0, 20.0);
    let mut panels = Vec::new();
    for (readers, value) in &CASES[..2] {
        let of = |of: &dyn Fn(&Point) -> f64, style: Style| {
            let points = points.iter().filter(|point| (point.readers, point.value) == (*readers, *value));
            Line { style, points: points.map(|point| (point.share as f64, of(point))).collect() }
        };
        let mut lines = vec![
            of(&|point| point.lock, LOCK),
            of(&|point| point.nbw, NBW),
            of(&|point| point.emeralds, EMERALDS),
        ];
        for at in 0..3 {
            lines.push(of(&|point| point.original[at], original(at)));
            lines.push(of(&|point| point.short[at], with_fast(at)));
        }
        let most = lines.iter().flat_map(|line| &line.points).fold(0.0, |most: f64, point| most.max(point.1));
        panels.push(Panel {
            title: format!("{readers} readers, {value} B (Fig. 14)"),
            x: x(),
            y: Axis::from_zero("bytes", most),
            body: Body::Lines(lines),
        });
    }
    panels.push(Panel {
        title: "less than as published (Fig. 15 c)".into(),
        x: x(),
        y: Axis::linear("saved [%]", 0.0, 100.0, 20.0),
        body: Body::Lines(lines_of_saved(points)),
    });
    Figure {
        title: "Space of one state message, by how many of its readers are fast".into(),
        caption: vec![
            "One writer; readers as in [Huang02, Fig. 11]. Fast readers read for at most a period of the writer, but for dotted lines.".into(),
            "Control words as in the listings: 4 B an index or count, 1 B a claim or flag.".into(),
        ],
        panels,
        columns: 3,
        legend: legend(),
    }
}

/// How much less space each protocol with fast readers takes than as published.
fn lines_of_saved(points: &[Point]) -> Vec<Line> {
    let mut lines = Vec::new();
    for (reads, stroke) in [(Reads::Short, Stroke::Solid), (Reads::Long, Stroke::Dotted)] {
        for (at, (_, colour, mark)) in MARKS.into_iter().enumerate() {
            let mark = if reads == Reads::Short { mark } else { Marker::None };
            let shown = points.iter().filter(|point| (point.readers, point.value) == CASES[0]);
            let points = shown.map(|point| (point.share as f64, saved(point, reads)[at])).collect();
            lines.push(Line { style: line(colour, stroke, mark), points });
        }
    }
    lines
}

fn legend() -> Vec<(String, Style)> {
    let mut legend = Vec::new();
    for (at, (name, ..)) in MARKS.into_iter().enumerate() {
        legend.push((name.to_owned(), original(at)));
        legend.push((format!("{name} with fast readers"), with_fast(at)));
    }
    legend.extend([("NBW".to_owned(), NBW), ("EMERALDS".to_owned(), EMERALDS), ("lock".to_owned(), LOCK)]);
    let reads_long = "reads as long as a reader's period (right)".to_owned();
    legend.push((reads_long, line(5, Stroke::Dotted, Marker::None)));
    legend
}
