// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A picture of a flight: its map, and its height, attitude and airspeed over time. The colour says who flies.

use std::fmt::Write as _;

use crate::fly_by_wire::Mode;
use crate::route::ROUND_TRIP;
use crate::track::{Point, Track};

/// Size of the picture.
const SIZE: (f64, f64) = (1_180.0, 720.0);
/// At most so many points of a line: as many as a plot is wide.
const POINTS: usize = 500;

/// A plot of one quantity against another.
struct Plot {
    title: &'static str,
    /// Left, top, width, height on the picture.
    place: [f64; 4],
    x: (f64, f64),
    y: (f64, f64),
}

impl Plot {
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let [left, top, width, height] = self.place;
        let part = |value: f64, (low, high): (f64, f64)| (value - low) / (high - low);
        (left + width * part(x, self.x), top + height * (1.0 - part(y, self.y)))
    }

    /// The frame, its title, and five marks on each axis.
    fn frame(&self, svg: &mut String) {
        let [left, top, width, height] = self.place;
        let _ = writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"#ffffff\" stroke=\"#9aa0ac\"/>\n\
             <text x=\"{left}\" y=\"{:.0}\" font-weight=\"bold\">{}</text>",
            top - 8.0,
            self.title
        );
        for mark in 0..=4_u8 {
            let part = f64::from(mark) / 4.0;
            let value = |(low, high): (f64, f64)| low + part * (high - low);
            let (x, y) = self.at(value(self.x), value(self.y));
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{:.0}</text>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{:.0}</text>",
                top + height + 16.0,
                value(self.x),
                left - 6.0,
                y + 4.0,
                value(self.y)
            );
        }
    }

    /// A line through the points, a piece for each mode.
    fn line(&self, svg: &mut String, points: &[Point], of: impl Fn(&Point) -> (f64, f64), dashed: bool) {
        let every = points.len().div_ceil(POINTS).max(1);
        for piece in points.chunk_by(|one, next| one.mode == next.mode) {
            let dash = if dashed { " stroke-dasharray=\"2 3\"" } else { "" };
            let _ = write!(
                svg,
                "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"{dash} points=\"",
                colour(piece[0].mode)
            );
            for point in piece.iter().step_by(every).chain(piece.last()) {
                let (x, y) = of(point);
                let (x, y) = self.at(x, y);
                let _ = write!(svg, "{x:.1},{y:.1} ");
            }
            svg.push_str("\"/>\n");
        }
    }
}

fn colour(mode: Mode) -> &'static str {
    match mode {
        Mode::Auto => "#1f5fa8",
        Mode::Manual => "#d9820a",
        Mode::Failsafe => "#c0242e",
    }
}

/// Draws a flight as SVG; without a point there is none.
pub fn render(track: &Track, title: &str) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" \
         font-family=\"DejaVu Sans, Helvetica, sans-serif\" font-size=\"11\" fill=\"#30343c\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#f4f5f7\"/>\n<text x=\"60\" y=\"30\" font-size=\"17\">{title}</text>\n",
        w = SIZE.0,
        h = SIZE.1
    );
    for (mode, x) in [(Mode::Auto, 760.0), (Mode::Manual, 880.0), (Mode::Failsafe, 960.0)] {
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"30\" fill=\"{}\">— {}</text>", colour(mode), mode.word());
    }
    let end = track.points.last().map_or(1.0, |point| point.state.time);
    map(&mut svg, track);
    over_time(&mut svg, track, end);
    svg.push_str("</svg>\n");
    svg
}

fn map(svg: &mut String, track: &Track) {
    // One scale for both directions.
    let plot = Plot {
        title: "Map: east and north of the start (m); rings of 100 m around the waypoints",
        place: [60.0, 70.0, 520.0, 520.0],
        x: (-5_800.0, 3_800.0),
        y: (-4_800.0, 4_800.0),
    };
    plot.frame(svg);
    for (at, waypoint) in ROUND_TRIP.iter().enumerate() {
        let (x, y) = plot.at(waypoint.east, waypoint.north);
        let radius = 100.0 * 520.0 / 9_600.0;
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"#e4e8ee\" stroke=\"#606672\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{} ({:.0} m)</text>",
            y - 12.0,
            at + 1,
            waypoint.height
        );
    }
    plot.line(svg, &track.points, |point| (point.state.east, point.state.north), false);
}

fn over_time(svg: &mut String, track: &Track, end: f64) {
    let low = track.points.iter().map(|point| point.state.height).fold(1_000.0, f64::min);
    let height = Plot {
        title: "Height (m); dotted: the next waypoint's",
        place: [640.0, 70.0, 500.0, 170.0],
        x: (0.0, end),
        y: ((low / 50.0 - 0.5).floor() * 50.0, 1_150.0),
    };
    height.frame(svg);
    height.line(svg, &track.points, |point| (point.state.time, point.state.height), false);
    let mut begin = 0;
    for leg in track.legs() {
        let points = &track.points[begin..leg.end];
        height.line(svg, points, |point| (point.state.time, leg.to.height), true);
        begin = leg.end;
    }
    let attitude = Plot {
        title: "Roll, and dotted pitch (degrees)",
        place: [640.0, 295.0, 500.0, 150.0],
        x: (0.0, end),
        y: (-40.0, 40.0),
    };
    attitude.frame(svg);
    attitude.line(svg, &track.points, |point| (point.state.time, point.state.roll.to_degrees()), false);
    attitude.line(svg, &track.points, |point| (point.state.time, point.state.pitch.to_degrees()), true);
    let airspeed = Plot {
        title: "Airspeed (m/s), over time (s)",
        place: [640.0, 500.0, 500.0, 90.0],
        x: (0.0, end),
        y: (20.0, 80.0),
    };
    airspeed.frame(svg);
    airspeed.line(svg, &track.points, |point| (point.state.time, point.state.airspeed), false);
    for (line, text) in track.summary().lines().enumerate() {
        let (column, row) = (line / 5, line % 5);
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{}\">{text}</text>", 60 + 580 * column, 628 + 18 * row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aircraft::State;

    #[test]
    fn each_mode_has_its_lines() {
        let modes = [Mode::Auto, Mode::Auto, Mode::Manual, Mode::Failsafe, Mode::Failsafe];
        let point = |(step, mode): (usize, &Mode)| {
            let state = State { time: step as f64, height: 1_000.0, east: step as f64, ..State::default() };
            Point { state, mode: *mode }
        };
        let picture = render(&Track { points: modes.iter().enumerate().map(point).collect() }, "Flight");
        for mode in modes {
            // Map, height, roll, pitch, airspeed.
            let line = format!("stroke=\"{}\"", colour(mode));
            assert_eq!(picture.matches(&line).count(), 5, "{mode:?}");
        }
        assert!(picture.contains(">Flight</text>") && picture.ends_with("</svg>\n"));
        assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
        assert!(!render(&Track::default(), "Nothing").contains("polyline"));
    }
}
