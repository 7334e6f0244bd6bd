// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Figures 6 to 13: what calls take together in a timer period, by the number of objects.

use super::campaign::Mode;
use super::gathered::{Gathered, Period};
use super::mechanism::Mechanism;
use super::system::Scheme;
use crate::figure::{Axis, Body, Figure, Line, Marker, Panel, Stroke, Style, line};

fn style(mechanism: Mechanism, scheme: Scheme) -> Style {
    let (colour, mark) = match mechanism {
        Mechanism::Mpcp => (1, Marker::Dot),
        Mechanism::Msrp => (2, Marker::Square),
        Mechanism::Dbp => (0, Marker::Triangle),
        Mechanism::Tccp => (3, Marker::Dot),
        Mechanism::FlowDbp => (4, Marker::Square),
        Mechanism::FlowTccp => (5, Marker::Triangle),
    };
    line(colour, if scheme == Scheme::Heavy { Stroke::Solid } else { Stroke::Dashed }, mark)
}

/// The average and the largest period side by side, for some mechanisms in one mode.
pub(super) fn figure(gathered: &Gathered, mode: Mode, mechanisms: &[Mechanism], title: &str) -> Figure {
    let each = || mechanisms.iter().flat_map(|&mechanism| Scheme::ALL.map(|scheme| (mechanism, scheme)));
    let panel = |title: &str, of: fn(&Period) -> f64| {
        let of = |(mechanism, scheme): (Mechanism, Scheme)| {
            let at = |objects: usize| (objects as f64, gathered.mean((mode, mechanism, scheme, objects), of));
            let points = gathered.numbers().into_iter().map(at).collect();
            Line { style: style(mechanism, scheme), points }
        };
        let lines: Vec<_> = each().map(of).collect();
        let most = lines.iter().flat_map(|line| &line.points).map(|point| point.1).fold(0.0, f64::max);
        Panel {
            title: title.into(),
            x: Axis::linear("shared resources", 0.0, 30.0, 5.0),
            y: Axis::from_zero("us in a timer period", most),
            body: Body::Lines(lines),
        }
    };
    Figure {
        title: title.into(),
        caption: vec![
            "Of all tasks of both cores together; means over systems. Largest: of the timer period with most of it.".into(),
        ],
        panels: vec![
            panel("average", |period| period.average_us),
            panel("largest", |period| period.largest_us),
        ],
        columns: 2,
        legend: each()
            .map(|(mechanism, scheme)| {
                (format!("{}, {}", mechanism.word(), scheme.word()), style(mechanism, scheme))
            })
            .collect(),
    }
}

/// The same as numbers, at some numbers of objects.
pub(super) fn table(gathered: &Gathered, mode: Mode, mechanisms: &[Mechanism]) -> String {
    let numbers: Vec<_> =
        gathered.numbers().into_iter().filter(|objects| [1, 10, 20, 30].contains(objects)).collect();
    let mut rows = vec![vec!["average; largest, us".to_owned()]];
    rows[0].extend(numbers.iter().map(ToString::to_string));
    for &mechanism in mechanisms {
        for scheme in Scheme::ALL {
            let mut row = vec![format!("{}, {}", mechanism.word(), scheme.word())];
            row.extend(numbers.iter().map(|&objects| {
                let of = |of| gathered.mean((mode, mechanism, scheme, objects), of);
                format!("{:.2}; {:.1}", of(|period| period.average_us), of(|period| period.largest_us))
            }));
            rows.push(row);
        }
    }
    crate::page::table(&rows)
}

#[cfg(test)]
mod tests {
    use super::super::gathered::tests::by;
    use super::*;

    #[test]
    fn a_line_for_each_mechanism_and_scheme() {
        let gathered = by(|_, _, _, objects| Period {
            average_us: objects,
            largest_us: 2.0 * objects,
            activations_us: 0.0,
            events_us: 0.0,
        });
        let drawn = figure(&gathered, Mode::Native, &[Mechanism::Dbp, Mechanism::FlowDbp], "title");
        let lines = drawn.panels.iter().map(|panel| match &panel.body {
            Body::Lines(lines) => lines.iter().map(|line| line.points.len()).collect::<Vec<_>>(),
            _ => Vec::new(),
        });
        assert_eq!(lines.collect::<Vec<_>>(), [[4; 4], [4; 4]]);
        let text = table(&gathered, Mode::Native, &[Mechanism::Dbp]);
        assert!(
            text.contains("| WF-DBP, heavy | 1.00; 2.0 | 10.00; 20.0 | 20.00; 40.0 | 30.00; 60.0 |"),
            "{text}"
        );
    }
}
