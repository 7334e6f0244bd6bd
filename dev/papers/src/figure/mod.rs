// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Figures as SVG: panels side by side with lines, stacked bars or timelines. The SVG follows the reader's choice of
//! light or dark.

mod svg;

pub(crate) use svg::svg;

/// A figure.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) title: String,
    /// What the figure shows and how it came about, one line each.
    pub(crate) caption: Vec<String>,
    pub(crate) panels: Vec<Panel>,
    /// The number of panels side by side.
    pub(crate) columns: usize,
    /// The entries of the legend, in order.
    pub(crate) legend: Vec<(String, Style)>,
}

/// One coordinate system.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) body: Body,
}

/// What a panel shows.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Lines(Vec<Line>),
    /// For each bar its name, and its parts from the bottom up.
    Stacks(Vec<Named<f64>>),
    /// Rows from the top down: for each its name, and its spans, each from one x to another.
    Spans(Vec<Named<[f64; 2]>>),
}

/// A name and its values, each with its style.
pub(crate) type Named<V> = (String, Vec<(V, Style)>);

/// The points of one line, in order of x.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) style: Style,
    pub(crate) points: Vec<(f64, f64)>,
}

/// How a line or a part of a bar looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    /// The index into the palette, 0 to 5.
    pub(crate) colour: usize,
    pub(crate) stroke: Stroke,
    pub(crate) marker: Marker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stroke {
    Solid,
    Dashed,
    Dotted,
    /// A part of a bar.
    Filled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    None,
    Dot,
    Square,
    Triangle,
}

/// The style of a line in this colour.
pub(crate) const fn line(colour: usize, stroke: Stroke, marker: Marker) -> Style {
    Style { colour, stroke, marker }
}

/// The style of a part of a bar in this colour.
pub(crate) const fn part(colour: usize) -> Style {
    Style { colour, stroke: Stroke::Filled, marker: Marker::None }
}

/// An axis: its label, its range and its ticks.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) logarithmic: bool,
    pub(crate) ticks: Vec<(f64, String)>,
}

impl Axis {
    /// From one value to another, with a tick every `step`.
    pub(crate) fn linear(label: &str, from: f64, to: f64, step: f64) -> Self {
        let count = ((to - from) / step).round() as u32;
        let ticks = (0..=count).map(|at| from + f64::from(at) * step);
        let ticks = ticks.map(|at| (at, short(at, to))).collect();
        Self { label: label.into(), from, to, logarithmic: false, ticks }
    }

    /// From 0 to a round number at or above `most`.
    pub(crate) fn from_zero(label: &str, most: f64) -> Self {
        let power = 10_f64.powf(most.max(1e-9).log10().floor());
        let step = [0.1, 0.2, 0.25, 0.5, 1.0, 2.0].map(|part| part * power);
        let step = step.into_iter().find(|step| most / step <= 6.0).unwrap_or(2.0 * power);
        Self::linear(label, 0.0, (most / step).ceil().max(1.0) * step, step)
    }

    /// From one power of ten to another, with a tick at each power.
    pub(crate) fn powers(label: &str, from: i32, to: i32) -> Self {
        let ticks = (from..=to).map(|power| 10_f64.powi(power)).map(|at| (at, short(at, at))).collect();
        Self { label: label.into(), from: 10_f64.powi(from), to: 10_f64.powi(to), logarithmic: true, ticks }
    }

    /// Without ticks, for bars that have names.
    pub(crate) fn names(label: &str, bars: usize) -> Self {
        Self { label: label.into(), from: 0.0, to: bars as f64, logarithmic: false, ticks: Vec::new() }
    }

    /// The position of a value on the axis, 0 to 1; a value outside of the range is at the nearer end.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let of = |value: f64| if self.logarithmic { value.max(f64::MIN_POSITIVE).ln() } else { value };
        ((of(value) - of(self.from)) / (of(self.to) - of(self.from))).clamp(0.0, 1.0)
    }
}

/// The label of a tick on an axis that reaches `most`: in millions from 1e6 on, in thousands from 1e4 on.
fn short(value: f64, most: f64) -> String {
    match most {
        _ if value == 0.0 => "0".into(),
        1e6.. => format!("{}M", grouped(value / 1e6)),
        1e4.. => format!("{}k", grouped(value / 1e3)),
        _ => grouped(value),
    }
}

/// A number with commas between thousands and at most two decimals.
pub(crate) fn grouped(value: f64) -> String {
    let mut text = format!("{:.2}", value.abs());
    let decimals = text.split_off(text.len() - 3);
    let digits = text;
    let mut whole = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            whole.push(',');
        }
        whole.push(digit);
    }
    let decimals = decimals.trim_end_matches('0').trim_end_matches('.');
    let sign = if value < 0.0 && (whole != "0" || !decimals.is_empty()) { "-" } else { "" };
    format!("{sign}{whole}{decimals}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let cases =
            [(0.0, "0"), (-0.0, "0"), (12.5, "12.5"), (1234.0, "1,234"), (-1_234_567.25, "-1,234,567.25")];
        for (value, text) in cases {
            assert_eq!(grouped(value), text);
        }
    }

    #[test]
    fn axes_place_values() {
        let axis = Axis::powers("bytes", 1, 5);
        assert_eq!(axis.ticks.len(), 5);
        assert!((axis.place(1_000.0) - 0.5).abs() < 1e-12);
        assert_eq!(axis.place(1.0), 0.0);
        let axis = Axis::from_zero("bytes", 20_722.0);
        assert_eq!((axis.to, axis.ticks.len()), (25_000.0, 6));
        assert_eq!((axis.ticks[0].1.as_str(), axis.ticks[1].1.as_str()), ("0", "5k"));
        assert_eq!(axis.place(12_500.0), 0.5);
        assert_eq!(Axis::from_zero("bytes", 0.0).from, 0.0);
    }
}
