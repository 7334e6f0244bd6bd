// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The terminal: switches raw mode on, reads keys, draws pictures, and restores everything however it ends.

use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::{Action, Failure, Key, Link, Screen, draw};

/// Longest wait for a key before the link is looked at again: one frame of sound.
const LOOK_EVERY: Duration = Duration::from_millis(8);
/// Pictures are drawn 30 times a second.
const DRAW_EVERY: Duration = Duration::from_millis(33);

/// Restores the terminal when dropped; `ratatui::try_init` does the same in a panic.
struct Restore;

impl Drop for Restore {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Runs the screen until `q`, or for `length`.
///
/// # Errors
/// The terminal is missing or went away. The link refuses, and looking again is of no use.
pub fn interactive(
    link: &mut impl Link,
    mut screen: Screen,
    length: Option<Duration>,
) -> Result<(), Failure> {
    let mut terminal = ratatui::try_init()?;
    let _restore = Restore;
    let start = Instant::now();
    let mut drawn: Option<Duration> = None;
    loop {
        let now = start.elapsed();
        if length.is_some_and(|length| now >= length) {
            return Ok(());
        }
        if let Action::Send(settings) = screen.observe(&link.look()?, now) {
            link.send(settings);
        }
        if drawn.is_none_or(|last| now - last >= DRAW_EVERY) {
            terminal.draw(|frame| draw(frame, &screen, now))?;
            drawn = Some(now);
        }
        if event::poll(LOOK_EVERY)?
            && let Event::Key(pressed) = event::read()?
            && let Some(key) = meaning(pressed)
        {
            match screen.press(key) {
                Action::Send(settings) => link.send(settings),
                Action::Quit => return Ok(()),
                Action::None => {}
            }
        }
    }
}

/// The meaning of a key, if it has one. In raw mode Ctrl-C is a key too.
fn meaning(pressed: KeyEvent) -> Option<Key> {
    if pressed.kind == KeyEventKind::Release {
        return None;
    }
    match pressed.code {
        KeyCode::Up => Some(Key::Up),
        KeyCode::Down => Some(Key::Down),
        KeyCode::Left => Some(Key::Left),
        KeyCode::Right => Some(Key::Right),
        KeyCode::Char('c') if pressed.modifiers.contains(KeyModifiers::CONTROL) => Some(Key::Quit),
        KeyCode::Char('r') => Some(Key::Reset),
        KeyCode::Char('q') | KeyCode::Esc => Some(Key::Quit),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_mean_what_the_bottom_line_says() {
        let plain = |code| meaning(KeyEvent::new(code, KeyModifiers::NONE));
        assert_eq!(plain(KeyCode::Up), Some(Key::Up));
        assert_eq!(plain(KeyCode::Down), Some(Key::Down));
        assert_eq!(plain(KeyCode::Left), Some(Key::Left));
        assert_eq!(plain(KeyCode::Right), Some(Key::Right));
        assert_eq!(plain(KeyCode::Char('r')), Some(Key::Reset));
        assert_eq!(plain(KeyCode::Char('q')), Some(Key::Quit));
        assert_eq!(plain(KeyCode::Char('c')), None);
        assert_eq!(meaning(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Some(Key::Quit));
        let released = KeyEvent::new_with_kind(KeyCode::Up, KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(meaning(released), None);
    }
}
