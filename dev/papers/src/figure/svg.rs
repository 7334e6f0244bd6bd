// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fmt::Write;

use super::{Axis, Body, Figure, Line, Marker, Named, Panel, Stroke, Style};

const WIDTH: f64 = 1000.0;
const EDGE: f64 = 16.0;
/// Room for the labels of an axis.
const LEFT: f64 = 56.0;
const BELOW: f64 = 44.0;
const GAP: f64 = 18.0;
const HEIGHT: f64 = 250.0;
/// Room between two rows of panels.
const BETWEEN: f64 = 26.0;
/// The room for a character at 12 pixels, enough for most.
const CHARACTER: f64 = 6.6;

/// Colours that people with any colour vision tell apart: each for a light and for a dark background.
const PALETTE: [[&str; 2]; 6] = [
    ["#0b6e4f", "#3fb68b"],
    ["#c2410c", "#fb8b4c"],
    ["#1d5fa8", "#6cb0f5"],
    ["#8a3ffc", "#be95ff"],
    ["#9a7400", "#e3b341"],
    ["#6e7681", "#9198a1"],
];

/// The figure as SVG.
pub(crate) fn svg(figure: &Figure) -> String {
    let mut body = String::new();
    text(&mut body, [EDGE, 26.0], "start", "t h", &figure.title);
    let mut top = 44.0;
    for line in &figure.caption {
        text(&mut body, [EDGE, top], "start", "s q", line);
        top += 15.0;
    }
    top = legend(&mut body, figure, top + 8.0);
    let columns = figure.columns.max(1);
    let width = (WIDTH - 2.0 * EDGE - (columns - 1) as f64 * GAP) / columns as f64;
    let mut bottom = top;
    for (row, shown) in figure.panels.chunks(columns).enumerate() {
        let above = if row == 0 { top } else { bottom + BETWEEN };
        for (at, shown) in shown.iter().enumerate() {
            let left = EDGE + at as f64 * (width + GAP);
            bottom = bottom.max(panel(&mut body, shown, left, above, width));
        }
    }
    let height = bottom + 8.0;
    format!(
        "<!-- SPDX-License-Identifier: Apache-2.0 OR MIT -->\n<!-- SPDX-FileCopyrightText: The taut authors -->\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" \
         height=\"{height:.0}\" font-family=\"system-ui, sans-serif\">\n{}\
         <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height:.0}\"/>\n{body}</svg>\n",
        style()
    )
}

fn style() -> String {
    let of = |dark: usize, paper: &str, ink: &str, quiet: &str, faint: &str| {
        let mut rules = format!(
            ".paper{{fill:{paper}}} text{{fill:{ink}}} .q{{fill:{quiet}}} .g{{stroke:{faint}}} .a{{stroke:{quiet}}} "
        );
        for (at, colours) in PALETTE.iter().enumerate() {
            let colour = colours[dark];
            let _ = write!(rules, ".l{at}{{stroke:{colour};fill:none}} .f{at}{{fill:{colour}}} ");
        }
        rules
    };
    format!(
        "<style>\n{}\n.t{{font-size:16px}} .m{{font-size:13px}} .n{{font-size:12px}} .s{{font-size:11px}} .h{{font-weight:600}}\n\
         @media (prefers-color-scheme: dark) {{ {} }}\n</style>\n",
        of(0, "#ffffff", "#24292f", "#59636e", "#e3e6ea"),
        of(1, "#0d1117", "#e6edf3", "#9198a1", "#30363d")
    )
}

/// Draws the legend's entries from left to right, in as many rows as they need. Returns where the rows end.
fn legend(svg: &mut String, figure: &Figure, top: f64) -> f64 {
    let (mut x, mut y) = (EDGE, top);
    for (name, style) in &figure.legend {
        let width = 36.0 + name.chars().count() as f64 * CHARACTER + 16.0;
        if x + width > WIDTH - EDGE && x > EDGE {
            (x, y) = (EDGE, y + 19.0);
        }
        if style.stroke == Stroke::Filled {
            let colour = style.colour;
            let _ = writeln!(
                svg,
                r#"<rect class="f{colour}" x="{x:.1}" y="{:.1}" width="26" height="11"/>"#,
                y - 9.0
            );
        } else {
            stroke(svg, &[(x, y - 4.0), (x + 26.0, y - 4.0)], *style);
            marker(svg, x + 13.0, y - 4.0, *style);
        }
        text(svg, [x + 33.0, y], "start", "n", name);
        x += width;
    }
    y + 26.0
}

/// Draws one panel. Returns where it ends.
fn panel(svg: &mut String, panel: &Panel, left: f64, top: f64, width: f64) -> f64 {
    text(svg, [left, top], "start", "m h", &panel.title);
    let (x0, x1) = (left + LEFT, left + width - 8.0);
    let (y0, y1) = (top + 14.0 + HEIGHT, top + 14.0);
    let across = |value: f64| x0 + panel.x.place(value) * (x1 - x0);
    let up = |value: f64| y0 - panel.y.place(value) * (y0 - y1);
    let (y0, y1) =
        if let Body::Spans(rows) = &panel.body { (y1 + 30.0 * rows.len() as f64, y1) } else { (y0, y1) };
    for (value, name) in &panel.y.ticks {
        let y = up(*value);
        rule(svg, "g", [x0, y], [x1, y]);
        text(svg, [x0 - 7.0, y + 4.0], "end", "s q", name);
    }
    rule(svg, "a", [x0, y0], [x1, y0]);
    for (value, name) in &panel.x.ticks {
        let x = across(*value);
        rule(svg, "a", [x, y0], [x, y0 + 4.0]);
        text(svg, [x, y0 + 16.0], "middle", "s q", name);
    }
    text(svg, [(x0 + x1) / 2.0, y0 + 34.0], "middle", "n", &panel.x.label);
    let (x, y) = (left + 11.0, (y0 + y1) / 2.0);
    let _ = writeln!(
        svg,
        r#"<text class="n" x="{x:.1}" y="{y:.1}" text-anchor="middle" transform="rotate(-90 {x:.1} {y:.1})">{}</text>"#,
        escaped(&panel.y.label)
    );
    match &panel.body {
        Body::Lines(lines) => {
            for Line { style, points } in lines {
                let points: Vec<_> = points.iter().map(|(x, y)| (across(*x), up(*y))).collect();
                stroke(svg, &points, *style);
                for (x, y) in points {
                    marker(svg, x, y, *style);
                }
            }
        }
        Body::Stacks(bars) => stacks(svg, bars, &panel.y, [x0, x1, y0], up),
        Body::Spans(rows) => spans(svg, rows, [x0, y0, y1], across),
    }
    y0 + BELOW
}

fn stacks(
    svg: &mut String,
    bars: &[Named<f64>],
    axis: &Axis,
    [x0, x1, y0]: [f64; 3],
    up: impl Fn(f64) -> f64,
) {
    let room = (x1 - x0) / bars.len().max(1) as f64;
    for (at, (name, parts)) in bars.iter().enumerate() {
        let (x, width) = (x0 + (at as f64 + 0.14) * room, 0.72 * room);
        let mut below = axis.from;
        for (value, style) in parts {
            let (low, high) = (up(below), up(below + value));
            if low - high > 0.05 {
                let _ = writeln!(
                    svg,
                    r#"<rect class="f{}" x="{x:.1}" y="{high:.1}" width="{width:.1}" height="{:.1}"/>"#,
                    style.colour,
                    low - high
                );
            }
            below += value;
        }
        text(svg, [x + width / 2.0, y0 + 16.0], "middle", "s q", name);
    }
}

fn spans(svg: &mut String, rows: &[Named<[f64; 2]>], [x0, y0, y1]: [f64; 3], across: impl Fn(f64) -> f64) {
    let room = (y0 - y1) / rows.len().max(1) as f64;
    for (at, (name, spans)) in rows.iter().enumerate() {
        let below = y1 + (at + 1) as f64 * room;
        rule(svg, "g", [x0, below], [across(f64::MAX), below]);
        text(svg, [x0 - 7.0, below - 0.35 * room], "end", "n", name);
        for ([from, to], style) in spans {
            let (x, width) = (across(*from), across(*to) - across(*from));
            let _ = writeln!(
                svg,
                r#"<rect class="f{}" x="{x:.1}" y="{:.1}" width="{width:.1}" height="{:.1}"/>"#,
                style.colour,
                below - 0.8 * room,
                0.8 * room
            );
        }
    }
}

fn rule(svg: &mut String, class: &str, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) {
    let _ = writeln!(svg, r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#);
}

fn stroke(svg: &mut String, points: &[(f64, f64)], style: Style) {
    let dash = match style.stroke {
        Stroke::Solid | Stroke::Filled => "",
        Stroke::Dashed => r#" stroke-dasharray="6 4""#,
        Stroke::Dotted => r#" stroke-dasharray="1.5 3.5""#,
    };
    let points: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(
        svg,
        r#"<polyline class="l{}" stroke-width="1.8" stroke-linejoin="round"{dash} points="{}"/>"#,
        style.colour,
        points.join(" ")
    );
}

fn marker(svg: &mut String, x: f64, y: f64, style: Style) {
    let class = style.colour;
    let _ = match style.marker {
        Marker::None => Ok(()),
        Marker::Dot => writeln!(svg, r#"<circle class="f{class}" cx="{x:.1}" cy="{y:.1}" r="3"/>"#),
        Marker::Square => writeln!(
            svg,
            r#"<rect class="f{class}" x="{:.1}" y="{:.1}" width="5.6" height="5.6"/>"#,
            x - 2.8,
            y - 2.8
        ),
        Marker::Triangle => {
            writeln!(svg, r#"<path class="f{class}" d="M{x:.1} {:.1}l3.4 6h-6.8z"/>"#, y - 3.8)
        }
    };
}

fn text(svg: &mut String, [x, y]: [f64; 2], anchor: &str, class: &str, content: &str) {
    let _ = writeln!(
        svg,
        r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{}</text>"#,
        escaped(content)
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{line, part};

    fn figure(body: Body) -> Figure {
        Figure {
            title: "Bytes & < buffers".into(),
            caption: vec!["one".into(), "two".into()],
            panels: vec![Panel {
                title: "light".into(),
                x: Axis::linear("load", 40.0, 95.0, 5.0),
                y: Axis::from_zero("%", 100.0),
                body,
            }],
            columns: 1,
            legend: vec![("MSRP".into(), line(1, Stroke::Dashed, Marker::Dot))],
        }
    }

    #[test]
    fn lines_have_their_marks_where_their_values_are() {
        let style = line(1, Stroke::Dashed, Marker::Dot);
        let svg = svg(&figure(Body::Lines(vec![Line { style, points: vec![(40.0, 0.0), (95.0, 100.0)] }])));
        // Two points, and the marker in the legend.
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(svg.contains("Bytes &amp; &lt; buffers") && svg.contains("prefers-color-scheme: dark"));
        // The first point is where both axes begin, the last where they end.
        let (x0, x1) = (EDGE + LEFT, WIDTH - EDGE - 8.0);
        assert!(svg.contains(&format!(r#"cx="{x0:.1}""#)) && svg.contains(&format!(r#"cx="{x1:.1}""#)));
    }

    #[test]
    fn spans_last_as_long_as_they_say() {
        let rows =
            vec![("TA".into(), vec![([40.0, 95.0], part(0))]), ("TB".into(), vec![([40.0, 67.5], part(1))])];
        let svg = svg(&figure(Body::Spans(rows)));
        let width = WIDTH - 2.0 * EDGE - LEFT - 8.0;
        for width in [width, width / 2.0] {
            assert!(svg.contains(&format!(r#"width="{width:.1}" height="24.0""#)), "{svg}");
        }
    }

    #[test]
    fn stacked_parts_add_up() {
        let svg = svg(&figure(Body::Stacks(vec![(
            "0".into(),
            vec![(40.0, part(0)), (60.0, part(2)), (0.0, part(3))],
        )])));
        let heights: f64 = [100.0, 150.0].iter().sum();
        assert_eq!(heights, HEIGHT);
        assert!(svg.contains(r#"height="100.0""#) && svg.contains(r#"height="150.0""#));
        // A part of zero draws no rectangle.
        assert_eq!(svg.matches("<rect class=\"f").count(), 2);
    }

    #[test]
    fn rows_of_panels_are_as_high_as_what_is_in_them() {
        let high = |body: Body| {
            let mut figure = figure(body);
            let one = svg(&figure);
            figure.panels.push(figure.panels[0].clone());
            let height = |svg: &str| -> f64 {
                let (_, rest) = svg.split_once("class=\"paper\"").expect("there is one");
                let height = rest.split("height=\"").nth(1).and_then(|rest| rest.split('"').next());
                height.and_then(|height| height.parse().ok()).expect("a number")
            };
            height(&svg(&figure)) - height(&one)
        };
        assert_eq!(high(Body::Lines(Vec::new())), 14.0 + HEIGHT + BELOW + BETWEEN);
        assert_eq!(high(Body::Spans(vec![("TA".into(), Vec::new())])), 14.0 + 30.0 + BELOW + BETWEEN);
    }
}
