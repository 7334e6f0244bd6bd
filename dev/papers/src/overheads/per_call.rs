// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tables I, II and III and Figure 5: the time of one access, and of one call.

use super::campaign::Mode;
use super::counts::{Counts, NAMES};
use super::gathered::{Gathered, at};
use super::mechanism::Mechanism;
use super::meter::Call;
use crate::figure::{Axis, Body, Figure, Line, Marker, Panel, Stroke, line};
use crate::page::table;

/// The upper ends of the intervals of Table III, in ns.
const ENDS: [f64; 8] = [50.0, 100.0, 200.0, 400.0, 800.0, 1_600.0, 3_200.0, f64::INFINITY];

fn range(sorted: &[f64]) -> String {
    if sorted.is_empty() {
        return "-".into();
    }
    format!("{:.0} [{:.0}, {:.0}]", at(sorted, 0.5), at(sorted, 0.05), at(sorted, 0.95))
}

/// Table I.
pub(super) fn accesses(gathered: &Gathered, mode: Mode) -> String {
    let mut sizes: Vec<u16> = gathered.accesses.keys().map(|(_, (bytes, ..))| *bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let heads = ["bytes", "write, own core", "write, both cores", "read, own core", "read, other core"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for bytes in sizes {
        let mut row = vec![bytes.to_string()];
        for (write, across) in [(true, false), (true, true), (false, false), (false, true)] {
            let times = gathered.accesses.get(&(mode, (bytes, write, across)));
            row.push(range(times.map_or(&[][..], Vec::as_slice)));
        }
        rows.push(row);
    }
    table(&rows)
}

/// Table II.
pub(super) fn calls(gathered: &Gathered) -> String {
    let mut rows = vec![["call", "dispatched", "native", "calls"].map(str::to_owned).to_vec()];
    for mechanism in Mechanism::ALL {
        for call in Call::ALL {
            let of = |mode| gathered.calls.get(&(mode, mechanism, call)).map_or(&[][..], Vec::as_slice);
            let times = Mode::ALL.map(of);
            let count: usize = times.iter().map(|times| times.len()).sum();
            if count > 0 {
                let [dispatched, native] = times.map(range);
                rows.push(vec![
                    format!("{}, {}", mechanism.word(), call.word()),
                    dispatched,
                    native,
                    count.to_string(),
                ]);
            }
        }
    }
    table(&rows)
}

/// Table II in instructions.
pub(super) fn counted(counts: &Counts) -> String {
    let mut rows = vec![["call", "instructions"].map(str::to_owned).to_vec()];
    rows.extend(
        NAMES.iter().filter_map(|name| Some(vec![(*name).to_owned(), format!("{:.0}", counts.get(name)?)])),
    );
    table(&rows)
}

/// Table III: for each call of a lock, the shares of calls in intervals of time.
pub(super) fn likely(gathered: &Gathered, mode: Mode) -> String {
    let locks = [Mechanism::Msrp, Mechanism::Mpcp];
    let all = [Call::GetLocal, Call::GetGlobal, Call::GiveLocal, Call::GiveGlobal];
    let columns: Vec<_> = locks.iter().flat_map(|lock| all.map(|call| (*lock, call))).collect();
    let mut rows = vec![vec!["ns".to_owned()]];
    rows[0].extend(columns.iter().map(|(lock, call)| format!("{} {}", lock.word(), call.word())));
    let mut from = f64::NEG_INFINITY;
    for end in ENDS {
        let name = match from {
            f64::NEG_INFINITY => format!("under {end:.0}"),
            _ if end.is_infinite() => format!("{from:.0} or more"),
            _ => format!("{from:.0} to {end:.0}"),
        };
        let mut row = vec![name];
        for (lock, call) in &columns {
            let times = gathered.calls.get(&(mode, *lock, *call)).map_or(&[][..], Vec::as_slice);
            let inside = times.iter().filter(|ns| (from..end).contains(*ns)).count();
            let part = 100.0 * inside as f64 / times.len().max(1) as f64;
            row.push(if inside == 0 { "-".into() } else { format!("{part:.1}%") });
        }
        rows.push(row);
        from = end;
    }
    table(&rows)
}

/// Figure 5: for the calls without locks, the share that takes at most a given time.
pub(super) fn figure(gathered: &Gathered, mode: Mode) -> Figure {
    let styles = [
        (Mechanism::Dbp, 0, Stroke::Solid),
        (Mechanism::Tccp, 3, Stroke::Solid),
        (Mechanism::FlowDbp, 4, Stroke::Dashed),
        (Mechanism::FlowTccp, 5, Stroke::Dashed),
    ];
    let panel = |title: &str, now: Call, at_release: Call| {
        let of = |(mechanism, colour, stroke): (Mechanism, usize, Stroke)| {
            let call = if mechanism.preserves() { at_release } else { now };
            let times = gathered.calls.get(&(mode, mechanism, call)).map_or(&[][..], Vec::as_slice);
            let parts = (0..=100_u8).map(|percent| f64::from(percent) / 100.0);
            let points = parts.map(|part| (at(times, part), part)).filter(|point| point.0.is_finite());
            Line { style: line(colour, stroke, Marker::None), points: points.collect() }
        };
        Panel {
            title: title.into(),
            x: Axis::powers("ns", 0, 4),
            y: Axis::linear("part of all calls", 0.0, 1.0, 0.25),
            body: Body::Lines(styles.map(of).into()),
        }
    };
    Figure {
        title: "How long calls without locks take (Fig. 5)".into(),
        caption: vec![
            "Part of all calls that take so long or less. Of flows that are preserved: the activations."
                .into(),
        ],
        panels: vec![
            panel("of a writer", Call::Write, Call::ActivateWriter),
            panel("of a reader", Call::Read, Call::ActivateReader),
        ],
        columns: 2,
        legend: styles
            .map(|(mechanism, colour, stroke)| {
                (mechanism.word().to_owned(), line(colour, stroke, Marker::None))
            })
            .into(),
    }
}

/// A row for each kind of call.
pub(super) fn csv(gathered: &Gathered) -> String {
    let mut text = String::from("mode,mechanism,call,calls,ns_p5,ns_p50,ns_p95,ns_p99\n");
    for ((mode, mechanism, call), times) in &gathered.calls {
        let [p5, p50, p95, p99] = [0.05, 0.5, 0.95, 0.99].map(|part| at(times, part));
        let (mode, mechanism, call) = (mode.word(), mechanism.word(), call.word());
        text +=
            &format!("{mode},{mechanism},\"{call}\",{},{p5:.0},{p50:.0},{p95:.0},{p99:.0}\n", times.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_all_calls() {
        let mut gathered = Gathered::default();
        let times = vec![-5.0, 49.0, 50.0, 5_000.0];
        gathered.calls.insert((Mode::Native, Mechanism::Msrp, Call::GetLocal), times);
        let text = likely(&gathered, Mode::Native);
        assert!(text.contains("\n| under 50 | 50.0% | - |"), "{text}");
        assert!(
            text.contains("\n| 50 to 100 | 25.0% |") && text.contains("\n| 3200 or more | 25.0% |"),
            "{text}"
        );
        assert!(
            calls(&gathered).contains("| MSRP, get, local | - | 50 [-5, 5000] | 4 |"),
            "{}",
            calls(&gathered)
        );
    }
}
