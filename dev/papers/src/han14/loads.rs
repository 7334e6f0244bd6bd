// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Memory against load: Figures 19 and 20.

use super::cases::Found;
use super::scaled::Needed;
use crate::figure::{Axis, Body, Figure, Line, Marker, Panel, Stroke, Style, grouped, line};
use crate::page::{Values, table};
use crate::surrogate::PRINTED;

/// A curve: its name, its style and its value. The most expensive comes first.
type Curve = (&'static str, Style, fn(&Needed) -> Option<u64>);
const CURVES: [Curve; 5] = [
    ("WF-DBP for all", line(5, Stroke::Dashed, Marker::None), |needed| needed.alone[2]),
    ("the cheaper of WF-DBP and WF-TCCP for each", line(0, Stroke::Dashed, Marker::None), |needed| {
        needed.wait_free
    }),
    ("Algorithm 6, depth 5", line(1, Stroke::Solid, Marker::Square), |needed| needed.heuristic),
    ("ours", line(2, Stroke::Solid, Marker::Dot), |needed| needed.ours),
    ("the values alone", line(5, Stroke::Dotted, Marker::None), |needed| Some(needed.data)),
];

/// The results of a case by one set of equations, by load.
type Rows<'f> = Vec<(u64, &'f Needed)>;

fn of<'f>(found: &'f Found, case: &str, equations: &str) -> Rows<'f> {
    let own = found.iter().filter(|((name, by, _), _)| name == case && by == equations);
    own.map(|((.., load), needed)| (*load, needed)).collect()
}

pub(super) fn figure(found: &Found, cases: &[(&str, &str)], title: &str, caption: Vec<String>) -> Figure {
    let mut panels = Vec::new();
    for (case, name) in cases {
        for (equations, words) in [("sound", "sound equations"), ("printed", "printed equations")] {
            let rows = of(found, case, equations);
            let points = |bytes: fn(&Needed) -> Option<u64>| {
                let point =
                    |(load, needed): &(u64, &Needed)| Some((*load as f64 / 10.0, bytes(needed)? as f64));
                rows.iter().filter_map(point).collect()
            };
            let lines: Vec<Line> =
                CURVES.into_iter().map(|(_, style, bytes)| Line { style, points: points(bytes) }).collect();
            let most =
                lines.iter().flat_map(|line| &line.points).fold(0.0, |most: f64, point| most.max(point.1));
            panels.push(Panel {
                title: format!("{name}{words}"),
                x: Axis::linear("load of a core [%]", 50.0, 95.0, 5.0),
                y: Axis::from_zero("bytes", most),
                body: Body::Lines(lines),
            });
        }
    }
    Figure {
        title: title.into(),
        caption,
        panels,
        columns: 2,
        legend: CURVES.into_iter().map(|(name, style, _)| (name.to_owned(), style)).collect(),
    }
}

/// A number of bytes, or a dash if a deadline is missed.
fn bytes(bytes: Option<u64>) -> String {
    bytes.map_or("–".into(), |bytes| grouped(bytes as f64))
}

pub(super) fn report(found: &Found, case: &str, values: &mut Values) {
    let head = [
        "load",
        "WF-TCCP",
        "WF-DBP",
        "cheaper",
        "Algorithm 6",
        "ours",
        "Algorithm 6, printed",
        "ours, printed",
    ];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    let (sound, printed) = (of(found, case, "sound"), of(found, case, "printed"));
    for ((load, sound), (_, printed)) in sound.iter().zip(&printed).filter(|((load, _), _)| load % 50 == 0) {
        let mut line = vec![format!("{} %", *load as f64 / 10.0)];
        line.extend([sound.alone[3], sound.alone[2], sound.wait_free].map(bytes));
        for needed in [sound, printed] {
            line.push(bytes(needed.heuristic));
            line.push(
                bytes(needed.ours) + if needed.is_proven() || needed.ours.is_none() { "" } else { "\\*" },
            );
        }
        lines.push(line);
    }
    values.set(case, table(&lines));
    let reported = |rows: &[(u64, &Needed)]| {
        let slowest =
            |time: fn(&Needed) -> f64| rows.iter().map(|(_, needed)| time(needed)).fold(0.0, f64::max);
        let [ours, heuristic] = [slowest(|needed| needed.ours_ms), slowest(|needed| needed.heuristic_ms)];
        format!("{ours:.0} ms for ours and {heuristic:.0} ms for Algorithm 6")
    };
    values.set(
        &format!("{case} times"),
        format!("{} by the sound equations, {} by the printed ones", reported(&sound), reported(&printed)),
    );
    let all = || sound.iter().chain(&printed).map(|(_, needed)| needed);
    let worse =
        all().filter(|needed| needed.ours.unwrap_or(u64::MAX) > needed.heuristic.unwrap_or(u64::MAX)).count();
    values.set(&format!("{case} worse"), format!("{worse} of {}", all().count()));
}

/// The printed figures of the fuel injection beside ours.
pub(super) fn tell_printed(found: &Found, values: &mut Values) {
    let head = ["", "printed", "surrogate, sound", "surrogate, printed equations"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    let both = ["sound", "printed"].map(|equations| of(found, "fuel-injection", equations));
    let mut add = |name: &str, printed: &str, of: &dyn Fn(&Rows<'_>) -> String| {
        let [sound, by_printed] = [of(&both[0]), of(&both[1])];
        lines.push(vec![name.to_owned(), printed.to_owned(), sound, by_printed]);
    };
    let at = |rows: &[(u64, &Needed)], load: u64, of: fn(&Needed) -> Option<u64>| {
        rows.iter().find(|(at, _)| *at == load).map_or("–".into(), |(_, needed)| bytes(of(needed)))
    };
    add("Algorithm 6 at 50 %", "6,773 B", &|rows| at(rows, 500, |needed| needed.heuristic));
    add("Algorithm 6 at 95 %", "17,330 B", &|rows| at(rows, 950, |needed| needed.heuristic));
    add("ours at 50 %", "", &|rows| at(rows, 500, |needed| needed.ours));
    add("ours at 95 %", "", &|rows| at(rows, 950, |needed| needed.ours));
    add("saved of WF-DBP by Algorithm 6 up to 75 %", "more than 50 %", &|rows| {
        let saved = |(_, needed): &(u64, &Needed)| {
            Some(100.0 * (1.0 - needed.heuristic? as f64 / needed.alone[2]? as f64))
        };
        let least = rows.iter().filter(|(load, _)| *load <= 750).filter_map(saved).fold(100.0, f64::min);
        format!("{least:.1} % or more")
    });
    add("from which load on nothing is locked", "89 %", &|rows| {
        let locked = |needed: &Needed| {
            needed.heuristic.zip(needed.wait_free).is_some_and(|(found, free)| found < free)
        };
        match rows.iter().rev().take_while(|(_, needed)| !locked(needed)).last() {
            Some((load, _)) => format!("{} %", *load as f64 / 10.0),
            None => "something is at every load".into(),
        }
    });
    values.set("fig19 printed", table(&lines));
    values.set("goal tccp", grouped(PRINTED.tccp as f64));
    values.set("goal dbp", grouped(PRINTED.dbp as f64));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_those_of_their_case() {
        let needed = |ours| Needed {
            data: 5,
            alone: [None, None, Some(40), Some(90)],
            wait_free: Some(30),
            heuristic: Some(20),
            ours: Some(ours),
            at_least: 10,
            heuristic_ms: 1.0,
            ours_ms: 2.0,
        };
        let key = |case: &str, equations: &str, load| (case.to_owned(), equations.to_owned(), load);
        let found = Found::from([
            (key("a", "sound", 500), needed(10)),
            (key("a", "sound", 550), needed(21)),
            (key("a", "printed", 500), needed(12)),
            (key("b", "sound", 500), needed(11)),
        ]);
        let figure = figure(&found, &[("a", "")], "", Vec::new());
        let Body::Lines(lines) = &figure.panels[0].body else { panic!("lines are shown") };
        assert_eq!(lines[3].points, [(50.0, 10.0), (55.0, 21.0)]);
        let mut values = Values::default();
        report(&found, "a", &mut values);
        let page = values.fill("{{a}}|{{a times}}|{{a worse}}").expect("both are there");
        assert!(page.ends_with("|1 of 3") && page.contains("12\\*"), "{page}");
    }
}
