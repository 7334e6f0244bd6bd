// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The electrodogram: which electrode was driven when, and how strongly. One self-contained SVG.
//!
//! Time runs right, electrode 1 (base, high tones) is on top, electrode 22 (apex) at the bottom, so the picture reads
//! like a spectrogram. Colour is the level's place between threshold and comfort. Long recordings are drawn in
//! at most [`COLUMNS`] columns, each showing the largest level of its time; equal neighbours share one
//! rectangle, so ten seconds of speech take about 200 KB.

use std::fmt::Write as _;

use crate::chain::band_centre_hz;
use crate::{CYCLES, ELECTRODES, FRAME_SAMPLES, Map, SAMPLE_RATE, Stimulation};

/// The most columns that are drawn.
pub const COLUMNS: usize = 1000;

const LEFT: usize = 104;
const TOP: usize = 64;
const ROW: usize = 22;
const WIDTH: usize = 1240;
const PLOT: usize = 1000;
const FLOOR: usize = TOP + ROW * ELECTRODES;
/// Steps of the colour scale.
const SHADES: usize = 16;
/// Colour scale, from threshold to comfort: rising lightness, so it survives grey printing.
const RAMP: [[u8; 3]; 7] = [
    [59, 15, 112],
    [114, 31, 129],
    [171, 51, 124],
    [221, 74, 105],
    [248, 118, 92],
    [254, 176, 120],
    [252, 253, 191],
];

/// Draws the frames, one after the other as they come. A missing frame is not drawn as a pause; the
/// [inspection](crate::inspection) counts missing frames. `title` may hold any text.
pub fn render(frames: &[Stimulation], map: &Map, title: &str) -> String {
    let seconds = frames.len() as f64 * FRAME_SAMPLES as f64 / f64::from(SAMPLE_RATE);
    let mut svg = String::with_capacity(1 << 18);
    header(&mut svg, title, frames.len(), seconds);
    pulses(&mut svg, frames, map);
    electrode_axis(&mut svg);
    time_axis(&mut svg, seconds);
    legend(&mut svg);
    svg.push_str("</svg>\n");
    svg
}

// Writing to a String cannot fail, so the results of `write!` are dropped throughout.

fn header(svg: &mut String, title: &str, frames: usize, seconds: f64) {
    let escaped = title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let height = FLOOR + 62;
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"DejaVu Sans, Segoe UI, Helvetica, sans-serif\" font-size=\"12\" fill=\"#c9cbd6\">\n\
         <title>{escaped}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#12121c\"/>\n\
         <text x=\"{LEFT}\" y=\"30\" font-size=\"19\" fill=\"#ffffff\">{escaped}</text>\n\
         <text x=\"{LEFT}\" y=\"50\">{frames} frames, {seconds:.2} s, {ELECTRODES} electrodes, 1000 cycles per second</text>\n\
         <rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{PLOT}\" height=\"{}\" fill=\"#1a1a28\"/>\n",
        FLOOR - TOP
    );
}

fn pulses(svg: &mut String, frames: &[Stimulation], map: &Map) {
    let cycles = frames.len() * CYCLES;
    let columns = cycles.min(COLUMNS);
    if columns == 0 {
        return;
    }
    let mut paths: [String; SHADES] = std::array::from_fn(|_| String::new());
    for electrode in 0..ELECTRODES {
        let (low, high) = (f32::from(map.threshold()[electrode]), f32::from(map.comfort()[electrode]));
        let shade = |column: usize| -> Option<usize> {
            let level = (column * cycles / columns..(column + 1) * cycles / columns)
                .map(|c| frames[c / CYCLES].levels[c % CYCLES * ELECTRODES + electrode])
                .max()?;
            let part = ((f32::from(level) - low) / (high - low)).clamp(0.0, 1.0);
            (level > 0).then_some((part * (SHADES - 1) as f32).round() as usize)
        };
        let y = ROW * electrode + 1;
        let mut start = 0;
        while start < columns {
            let current = shade(start);
            let end = (start + 1..columns).find(|&c| shade(c) != current).unwrap_or(columns);
            if let Some(index) = current {
                let width = end - start;
                let _ = write!(paths[index], "M{start},{y}h{width}v{}h-{width}z", ROW - 2);
            }
            start = end;
        }
    }
    let scale = PLOT as f64 / columns as f64;
    let _ = writeln!(
        svg,
        "<g transform=\"translate({LEFT},{TOP}) scale({scale:.6},1)\" shape-rendering=\"crispEdges\">"
    );
    for (index, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
        let _ = writeln!(svg, "<path fill=\"{}\" d=\"{path}\"/>", colour(index));
    }
    svg.push_str("</g>\n");
}

fn electrode_axis(svg: &mut String) {
    let _ = writeln!(
        svg,
        "<text x=\"26\" y=\"{}\" text-anchor=\"end\" font-size=\"11\">E</text>\
         <text x=\"{}\" y=\"{}\" text-anchor=\"end\" font-size=\"11\">Hz</text>",
        TOP - 6,
        LEFT - 10,
        TOP - 6
    );
    for electrode in 1..=ELECTRODES {
        let y = TOP + ROW * (electrode - 1) + ROW / 2 + 4;
        let hz = band_centre_hz(ELECTRODES - electrode);
        let _ = writeln!(
            svg,
            "<text x=\"26\" y=\"{y}\" text-anchor=\"end\" fill=\"#ffffff\">{electrode}</text>\
             <text x=\"{}\" y=\"{y}\" text-anchor=\"end\">{hz:.0}</text>",
            LEFT - 10
        );
    }
    let middle = TOP + 34;
    let _ = writeln!(
        svg,
        "<text transform=\"translate(46,{middle}) rotate(-90)\" text-anchor=\"middle\" font-size=\"11\" fill=\"#8a8da0\">base</text>\
         <text transform=\"translate(46,{}) rotate(-90)\" text-anchor=\"middle\" font-size=\"11\" fill=\"#8a8da0\">apex</text>",
        FLOOR - 34
    );
}

fn time_axis(svg: &mut String, seconds: f64) {
    // The finest of 1, 2, 5 · 10^k that gives at most twelve ticks.
    let mut step = 0.001;
    for factor in [2.0, 2.5, 2.0].iter().cycle() {
        if seconds / step <= 12.0 {
            break;
        }
        step *= factor;
    }
    let decimals = if step >= 0.999 { 0 } else { (-(step * 1.001_f64).log10()).ceil() as usize };
    let mut tick = 0;
    while seconds > 0.0 && f64::from(tick) * step <= seconds * 1.000_001 {
        let at = f64::from(tick) * step;
        let x = LEFT as f64 + at / seconds * PLOT as f64;
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1},{FLOOR}v5\" stroke=\"#8a8da0\"/>\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{at:.decimals$}</text>",
            FLOOR + 20
        );
        tick += 1;
    }
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">time [s]</text>",
        LEFT + PLOT / 2,
        FLOOR + 44
    );
}

fn legend(svg: &mut String) {
    let x = LEFT + PLOT + 24;
    let height = 12;
    let top = TOP + 18;
    let _ = writeln!(svg, "<text x=\"{x}\" y=\"{}\">level</text>", TOP + 4);
    for index in 0..SHADES {
        let y = top + (SHADES - 1 - index) * height;
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"16\" height=\"{height}\" fill=\"{}\"/>",
            colour(index)
        );
    }
    let bottom = top + SHADES * height;
    let label = x + 24;
    let _ = writeln!(
        svg,
        "<text x=\"{label}\" y=\"{}\">comfort</text><text x=\"{label}\" y=\"{}\">threshold</text>\
         <rect x=\"{x}\" y=\"{}\" width=\"16\" height=\"{height}\" fill=\"#1a1a28\" stroke=\"#8a8da0\"/>\
         <text x=\"{label}\" y=\"{}\">no pulse</text>",
        top + 10,
        bottom - 2,
        bottom + 10,
        bottom + 20
    );
}

/// Colour of a shade, 0 = threshold.
fn colour(index: usize) -> String {
    let place = index as f32 / (SHADES - 1) as f32 * (RAMP.len() - 1) as f32;
    let low = (place as usize).min(RAMP.len() - 2);
    let part = place - low as f32;
    let mix = |c: usize| {
        let (a, b) = (f32::from(RAMP[low][c]), f32::from(RAMP[low + 1][c]));
        (a + (b - a) * part).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rectangles(svg: &str) -> Vec<&str> {
        svg.lines()
            .filter_map(|l| l.strip_prefix("<path fill=")?.split("d=\"").nth(1)?.strip_suffix("\"/>"))
            .flat_map(|d| d.split('M').skip(1))
            .collect()
    }

    #[test]
    fn a_pulse_is_drawn_at_its_time_and_electrode() {
        let mut frames = vec![Stimulation::silent(0), Stimulation::silent(1)];
        // Cycle 3 of frame 1, electrode 22, threshold; and electrode 1 in both neighbours, comfort.
        frames[1].levels[3 * ELECTRODES + 21] = 100;
        frames[0].levels[7 * ELECTRODES] = 180;
        frames[1].levels[0] = 180;
        let svg = render(&frames, &Map::default(), "two");
        assert_eq!(rectangles(&svg), ["11,463h1v20h-1z", "7,1h2v20h-2z"]);
        assert!(svg.contains("scale(62.5"));
    }

    #[test]
    fn long_recordings_keep_short_pulses_and_stay_small() {
        let mut frames: Vec<_> = (0..2000).map(Stimulation::silent).collect();
        frames[1234].levels[5 * ELECTRODES + 9] = 140;
        let svg = render(&frames, &Map::default(), "long");
        assert_eq!(rectangles(&svg), ["617,199h1v20h-1z"]);
    }

    #[test]
    fn all_labels_are_there_and_text_is_escaped() {
        let svg = render(&[Stimulation::silent(0)], &Map::default(), "a <b> & c");
        assert!(svg.contains("a &lt;b&gt; &amp; c") && !svg.contains("<b>"));
        for label in [">22<", ">1<", ">250<", ">7438<", "time [s]", "comfort", "threshold", "no pulse"] {
            assert!(svg.contains(label), "{label}");
        }
        assert_eq!(svg.matches("<svg").count(), svg.matches("</svg>").count());
    }

    #[test]
    fn nothing_to_draw_is_still_a_picture() {
        let svg = render(&[], &Map::default(), "empty");
        assert!(svg.ends_with("</svg>\n") && rectangles(&svg).is_empty());
    }

    #[test]
    fn ticks_are_round_numbers() {
        let ticks = |seconds| {
            let mut svg = String::new();
            time_axis(&mut svg, seconds);
            svg.lines()
                .filter_map(|l| Some(l.split("middle\">").nth(1)?.split('<').next()?.to_owned()))
                .collect::<Vec<_>>()
        };
        assert_eq!(ticks(10.0)[..3], ["0", "1", "2"]);
        assert_eq!(ticks(5.65)[..3], ["0.0", "0.5", "1.0"]);
        assert_eq!(ticks(0.08)[..3], ["0.00", "0.01", "0.02"]);
        assert_eq!(ticks(600.0)[..3], ["0", "50", "100"]);
    }
}
