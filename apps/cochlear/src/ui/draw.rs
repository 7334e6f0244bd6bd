// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Drawing the screen: header, 22 bars with peak marks, two gauges, the keys. Needs 60 × 20 cells.

use std::time::Duration;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};

use super::{Connection, Heard, Screen};
use crate::chain::band_centre_hz;
use crate::{ELECTRODES, Settings};

/// Smallest terminal (cells).
const SMALLEST: (u16, u16) = (60, 20);
const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const LABEL: u16 = 13;

/// Draws `screen` as it is at `now`.
pub fn draw(frame: &mut Frame<'_>, screen: &Screen, now: Duration) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let text = format!(
            "needs {} x {} characters, has {} x {}   (q quits)",
            SMALLEST.0, SMALLEST.1, area.width, area.height
        );
        frame.render_widget(Paragraph::new(text).wrap(ratatui::widgets::Wrap { trim: true }), area);
        return;
    }
    let rows = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .split(area);
    frame.render_widget(connection(screen), rows[0]);
    frame.render_widget(counters(screen), rows[1]);
    let block = Block::bordered().title(" electrodes, apex to base ").border_style(Color::DarkGray);
    let inner = block.inner(rows[2]);
    frame.render_widget(block, rows[2]);
    bars(frame.buffer_mut(), inner, screen, now);
    let settings = screen.settings();
    let width = usize::from(area.width.saturating_sub(LABEL + 12));
    frame.render_widget(volume(settings, width), rows[3]);
    frame.render_widget(sensitivity(settings, width), rows[4]);
    frame.render_widget(keys(screen), rows[5]);
}

fn connection(screen: &Screen) -> Line<'static> {
    let (mark, text, colour) = match screen.connection {
        Connection::Waiting => ("○", "waiting for the application", Color::Yellow),
        Connection::Taken => ("○", "another screen is attached, waiting", Color::Yellow),
        Connection::Attached => ("●", "attached", Color::Green),
        Connection::Ended => ("○", "application ended, waiting for the next", Color::Yellow),
        Connection::Died => ("✕", "application died, waiting for the next", Color::Red),
    };
    Line::from(vec![
        Span::from(" cochlear  ").bold(),
        Span::styled(format!("{mark} {text}"), Style::from(colour).bold()),
        Span::from(if screen.connection == Connection::Attached {
            input(screen.heard)
        } else {
            String::new()
        }),
    ])
}

/// How loud the sound is, and how many frames this process missed because it was too slow.
fn input(heard: Heard) -> String {
    let full_scale = 32_768.0;
    let level = match heard.loudest {
        0 => "silence".to_owned(),
        loudest => format!("{:.0} dB", 20.0 * (f64::from(loudest) / full_scale).log10()),
    };
    format!("   input {level:<8}lost {}", heard.lost)
}

fn counters(screen: &Screen) -> Line<'static> {
    let number = screen.frame.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let torn = Span::from(format!("torn {}", screen.torn));
    Line::from(vec![
        Span::from(format!(" frame {number:<10} seen {:<8} skipped {:<8} ", screen.seen, screen.skipped)),
        if screen.torn > 0 { torn.red().bold() } else { torn },
    ])
}

/// Bars from the left: electrode 22 (low tones) to 1 (high tones). The bottom line carries the numbers.
fn bars(buffer: &mut Buffer, area: Rect, screen: &Screen, now: Duration) {
    let slot = (area.width / ELECTRODES as u16).max(1);
    let left = area.x + (area.width - slot * ELECTRODES as u16) / 2;
    let height = area.height.saturating_sub(2);
    let every = 3_usize.div_ceil(usize::from(slot));
    for (place, index) in (0..ELECTRODES).rev().enumerate() {
        let x = left + place as u16 * slot;
        let width = if slot > 1 { slot - 1 } else { 1 };
        let (low, high) = (f32::from(screen.map.threshold()[index]), f32::from(screen.map.comfort()[index]));
        // A pulse at threshold still shows: the scale begins a tenth below it.
        let share = |level: f32| ((level - low) / (high - low) * 0.9 + 0.1).clamp(0.0, 1.0);
        let level = screen.levels[index];
        let part = if level == 0 { 0.0 } else { share(f32::from(level)) };
        let eighths = (part * f32::from(height) * 8.0).round() as usize;
        let colour = shade(part);
        for row in 0..height {
            let filled = eighths.saturating_sub(usize::from(row) * 8).min(8);
            let y = area.y + height - 1 - row;
            for column in x..x + width {
                buffer[(column, y)].set_symbol(EIGHTHS[filled]).set_fg(colour);
            }
        }
        let peak = screen.peaks[index].height(now);
        if peak >= low && height > 0 {
            let row = ((share(peak) * f32::from(height)).ceil() as u16).clamp(1, height) - 1;
            let y = area.y + height - 1 - row;
            if usize::from(row) * 8 >= eighths {
                for column in x..x + width {
                    buffer[(column, y)].set_symbol("▔").set_fg(Color::White);
                }
            }
        }
        if place % every == 0 {
            buffer.set_string(x, area.y + height, (index + 1).to_string(), Style::from(Color::White));
        }
    }
    let (low, high) = (band_centre_hz(0), band_centre_hz(ELECTRODES - 1));
    let text = format!("{low:.0} Hz");
    let y = area.y + height + 1;
    buffer.set_string(left, y, text, Style::from(Color::DarkGray));
    let text = format!("{high:.0} Hz");
    let x = (left + slot * ELECTRODES as u16).saturating_sub(text.len() as u16);
    buffer.set_string(x, y, text, Style::from(Color::DarkGray));
}

/// Colour of a bar by its height. The height shows the same, so no information is in the colour alone.
fn shade(part: f32) -> Color {
    match part {
        p if p < 0.45 => Color::Blue,
        p if p < 0.75 => Color::Cyan,
        p if p < 0.95 => Color::Green,
        _ => Color::Yellow,
    }
}

fn volume(settings: Settings, width: usize) -> Line<'static> {
    let full = (settings.volume * width as f32).round() as usize;
    Line::from(vec![
        Span::from(" volume      ").bold(),
        Span::from("█".repeat(full)).green(),
        Span::from("░".repeat(width.saturating_sub(full))).dark_gray(),
        Span::from(format!(" {:>6.0} %", settings.volume * 100.0)),
    ])
}

fn sensitivity(settings: Settings, width: usize) -> Line<'static> {
    let (low, high) = Settings::SENSITIVITY;
    let place =
        ((settings.sensitivity - low) / (high - low) * width.saturating_sub(1) as f32).round() as usize;
    let middle = width / 2;
    let (from, to) = (place.min(middle), place.max(middle));
    let gauge: String = (0..width)
        .map(|n| match n {
            n if n == place => '█',
            n if n == middle => '┼',
            n if (from..to).contains(&n) => '▓',
            _ => '─',
        })
        .collect();
    Line::from(vec![
        Span::from(" sensitivity ").bold(),
        Span::from(gauge).cyan(),
        Span::from(format!(" {:>+6.1} dB", settings.sensitivity)),
    ])
}

fn keys(screen: &Screen) -> Line<'static> {
    let text = " ↑↓ volume  ←→ sensitivity  r reset  q quit";
    let note = if screen.chosen.is_none() { "  (not set here)" } else { "" };
    Line::from(vec![Span::from(text).dark_gray(), Span::from(note).dark_gray()])
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::{Heard, Key, Observation};
    use super::*;
    use crate::{Map, Stimulation};

    fn picture(screen: &Screen, width: u16, height: u16, ms: u64) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, screen, Duration::from_millis(ms))).unwrap();
        terminal.backend().to_string()
    }

    /// Levels rise from electrode 1 to 22; one frame later only every third electrode still sounds.
    fn speaking() -> Screen {
        let mut screen = Screen::new(Map::default(), None);
        for frame in [1233, 1239] {
            let mut latest = Stimulation::silent(frame);
            for electrode in 0..ELECTRODES {
                if frame == 1233 || electrode % 3 == 0 {
                    latest.levels[electrode] = 100 + (electrode * 80 / 21) as u8;
                }
            }
            let heard = Heard { frames: frame, lost: 3, newest: frame + 3, loudest: 8_231 };
            let seen = Observation { connection: Connection::Attached, latest: Some(latest), torn: 0, heard };
            screen.observe(&seen, Duration::from_millis(frame));
        }
        screen
    }

    #[test]
    fn smallest_terminal_while_speaking() {
        let mut screen = speaking();
        for key in [[Key::Down; 4].as_slice(), &[Key::Right; 6]].concat() {
            screen.press(key);
        }
        insta::assert_snapshot!(picture(&screen, 60, 20, 1250));
    }

    #[test]
    fn wide_terminal_while_speaking() {
        insta::assert_snapshot!(picture(&speaking(), 110, 28, 1250));
    }

    #[test]
    fn application_died() {
        let mut screen = speaking();
        let gone =
            Observation { connection: Connection::Died, latest: None, torn: 3, heard: Heard::default() };
        screen.observe(&gone, Duration::from_millis(1300));
        insta::assert_snapshot!(picture(&screen, 60, 20, 9000));
    }

    #[test]
    fn other_connections_are_described_in_words() {
        let mut screen = Screen::new(Map::default(), None);
        assert!(picture(&screen, 60, 20, 0).contains("○ waiting for the application"));
        for (connection, words) in [
            (Connection::Ended, "○ application ended, waiting for the next"),
            (Connection::Taken, "○ another screen is attached, waiting"),
        ] {
            screen.observe(
                &Observation { connection, latest: None, torn: 0, heard: Heard::default() },
                Duration::ZERO,
            );
            assert!(picture(&screen, 60, 20, 0).contains(words));
        }
    }

    #[test]
    fn every_size_can_be_drawn() {
        for (width, height) in [(1, 1), (20, 4), (59, 20), (60, 19), (61, 21), (80, 24), (400, 100)] {
            let text = picture(&speaking(), width, height, 1250);
            let small = width < 60 || height < 20;
            assert_eq!(text.contains("volume"), !small, "{width} x {height}");
        }
    }
}
