// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The picture: times of a write and a read while the other side runs at full speed, from p50 to p99.9, at 64 B.

use std::fmt::Write;

use crate::figures::median;
use crate::run::{Row, Run};
use crate::trial::Trial;

/// Words of the values in the picture.
const WORDS: usize = 8;
const WIDTH: f64 = 1000.0;
/// Room for names.
const NAMES: f64 = 170.0;
/// Width of a panel.
const PANEL: f64 = 376.0;
const GAP: f64 = 40.0;
const LINE: f64 = 19.0;
/// The range of the axis, in ns; it is logarithmic.
const AXIS: [f64; 2] = [10.0, 1e7];

const OURS: &str = "#0b6e4f";
const OTHERS: &str = "#8a8f98";
const INK: &str = "#24292f";
const FAINT: &str = "#e3e6ea";

/// The position of a time in a panel.
fn place(ns: f64) -> f64 {
    let [least, largest] = AXIS.map(f64::ln);
    (ns.clamp(AXIS[0], AXIS[1]).ln() - least) / (largest - least) * PANEL
}

/// One object's line: p50, p99 and p99.9 of its two operations.
struct Line {
    name: &'static str,
    ours: bool,
    sides: [Option<[f64; 3]>; 2],
}

fn lines(run: &Run, queues: bool) -> Vec<Line> {
    let fits = |row: &&Row| {
        let case = &row.case;
        row.kind.is_queue() == queues && case.words == WORDS && case.readers == 1 && !case.across
    };
    let mut lines: Vec<Line> = Vec::new();
    for row in run.rows.iter().filter(fits) {
        let side = match row.case.trial {
            Trial::Write => 0,
            Trial::Read => 1,
            _ => continue,
        };
        let figures = ["p50", "p99", "p999"].map(|figure| median(&row.usual(run.near, figure)));
        if figures.iter().any(|figure| figure.is_nan()) {
            continue;
        }
        let at = lines.iter().position(|line| line.name == row.name).unwrap_or_else(|| {
            lines.push(Line { name: row.name, ours: row.ours, sides: [None; 2] });
            lines.len() - 1
        });
        lines[at].sides[side] = Some(figures);
    }
    // In the order of the slower side's p99.9.
    let weight = |line: &Line| line.sides.iter().flatten().map(|[.., p999]| *p999).fold(0.0, f64::max);
    lines.sort_by(|one, other| weight(one).total_cmp(&weight(other)));
    lines
}

/// The picture as SVG.
pub(crate) fn svg(run: &Run) -> String {
    let mut body = String::new();
    let mut top = 64.0;
    for (queues, title) in [(true, "Queues"), (false, "The newest value")] {
        let lines = lines(run, queues);
        if lines.is_empty() {
            continue;
        }
        let bottom = top + 14.0 + lines.len() as f64 * LINE;
        text(&mut body, 16.0, top, "start", 14, INK, title, true);
        for (side, name) in
            ["write, while the reader hammers", "read, while the writer hammers"].iter().enumerate()
        {
            axis(&mut body, left(side), (top, bottom), name);
        }
        for (at, line) in lines.iter().enumerate() {
            object(&mut body, top + 20.0 + at as f64 * LINE, line);
        }
        top = bottom + 46.0;
    }
    let mut head = String::new();
    let of =
        |name: &str| run.facts.iter().find(|(fact, _)| fact == name).map_or("", |(_, value)| value.as_str());
    let caption = format!(
        "{} B. Dot p50, tick p99, end p99.9; medians of {} rounds; a look at the timer is in them ({}). {}, {}.",
        8 * WORDS,
        of("rounds"),
        of("timer").split(',').next().unwrap_or_default(),
        of("cpu"),
        of("date")
    );
    text(
        &mut head,
        16.0,
        24.0,
        "start",
        16,
        INK,
        "What an operation takes while the other side hammers",
        true,
    );
    text(&mut head, 16.0, 42.0, "start", 11, OTHERS, &caption, false);
    let height = top - 20.0;
    format!(
        "<!-- SPDX-License-Identifier: Apache-2.0 OR MIT -->\n<!-- SPDX-FileCopyrightText: The taut authors -->\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" \
         font-family=\"system-ui, sans-serif\">\n<rect width=\"{WIDTH}\" height=\"{height:.0}\" fill=\"#fff\"/>\n{head}{body}</svg>\n"
    )
}

/// The left end of a panel.
fn left(side: usize) -> f64 {
    NAMES + side as f64 * (PANEL + GAP)
}

/// Draws the name of a panel, and its axis of times.
fn axis(svg: &mut String, left: f64, (top, bottom): (f64, f64), name: &str) {
    text(svg, left, top, "start", 12, INK, name, false);
    let mut ns = AXIS[0];
    while ns <= AXIS[1] {
        let x = left + place(ns);
        let _ = writeln!(
            svg,
            r#"<line x1="{x:.1}" y1="{:.1}" x2="{x:.1}" y2="{bottom:.1}" stroke="{FAINT}"/>"#,
            top + 8.0
        );
        text(svg, x, bottom + 13.0, "middle", 10, OTHERS, &unit(ns), false);
        ns *= 10.0;
    }
}

/// Draws an object's name and its times in both panels.
fn object(svg: &mut String, y: f64, line: &Line) {
    let colour = if line.ours { OURS } else { OTHERS };
    text(svg, NAMES - 10.0, y + 4.0, "end", 12, colour, line.name, line.ours);
    for (side, figures) in line.sides.iter().enumerate() {
        let Some(figures) = figures else { continue };
        let [p50, p99, p999] = figures.map(|ns| left(side) + place(ns));
        let _ = writeln!(
            svg,
            r#"<line x1="{p50:.1}" y1="{y:.1}" x2="{p999:.1}" y2="{y:.1}" stroke="{colour}" stroke-width="2"/><line x1="{p99:.1}" y1="{:.1}" x2="{p99:.1}" y2="{:.1}" stroke="{colour}" stroke-width="2"/><circle cx="{p50:.1}" cy="{y:.1}" r="4" fill="{colour}"/>"#,
            y - 5.0,
            y + 5.0
        );
    }
}

fn unit(ns: f64) -> String {
    if ns < 1e3 {
        format!("{ns:.0} ns")
    } else if ns < 1e6 {
        format!("{:.0} us", ns / 1e3)
    } else {
        format!("{:.0} ms", ns / 1e6)
    }
}

#[expect(clippy::too_many_arguments, reason = "a text has that many properties")]
fn text(svg: &mut String, x: f64, y: f64, anchor: &str, size: u32, colour: &str, text: &str, bold: bool) {
    let weight = if bold { " font-weight=\"600\"" } else { "" };
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        svg,
        r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" font-size="{size}" fill="{colour}"{weight}>{escaped}</text>"#
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::row;

    #[test]
    fn the_faster_stands_above() {
        let figures = |p50: f64| [("p50", p50), ("p99", 2.0 * p50), ("p999", 4.0 * p50)];
        let run = Run {
            rows: vec![
                row("slow & steady", false, Trial::Write, &figures(300.0)),
                row("quick", true, Trial::Write, &figures(30.0)),
                row("quick", true, Trial::Read, &figures(50.0)),
            ],
            notes: Vec::new(),
            facts: vec![("rounds".into(), "2".into())],
            near: true,
        };
        let svg = svg(&run);
        let at = |text: &str| svg.find(text).unwrap();
        assert!(at(">quick<") < at(">slow &amp; steady<"));
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(svg.ends_with("</svg>\n"));
    }

    #[test]
    fn the_axis_is_logarithmic() {
        assert_eq!(place(10.0), 0.0);
        assert!((place(1e7) - PANEL).abs() < 1e-9);
        assert!((place(100.0) * 6.0 - PANEL).abs() < 1e-9);
        assert_eq!(place(1.0), 0.0);
    }
}
