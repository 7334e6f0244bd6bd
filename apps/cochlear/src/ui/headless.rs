// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! For scripts and tests: one line of JSON for every frame that was seen and every change of the connection.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Action, Connection, Failure, Link, Screen};

/// The time of a loop; tests replace it.
pub trait Clock {
    /// Waits a moment, then returns the time since the start.
    fn tick(&mut self) -> Duration;
}

/// The machine's clock; ticks every 2 ms, so that no frame of 8 ms is missed on an idle machine.
#[derive(Debug)]
pub struct RealClock(Instant);

impl RealClock {
    /// Starts now.
    pub fn start() -> Self {
        Self(Instant::now())
    }
}

impl Clock for RealClock {
    fn tick(&mut self) -> Duration {
        std::thread::sleep(Duration::from_millis(2));
        self.0.elapsed()
    }
}

/// Watches `link` for `length` (`None`: until the output closes) and writes lines such as
/// `{"connection":"attached","frame":12,"levels":[0,…22 of them, electrode 1 first],"sensitivity":null,"skipped":0,
/// "t_ms":104,"telemetry":{"frames":12,"lost":0,"newest":13},"torn":0,"v":1,"volume":0.5}`; settings are null until the
/// screen has some; `telemetry` is as in [`Heard`](super::Heard). Returns whether the link ever was attached.
///
/// # Errors
/// An error of the output, except a closed pipe, which ends the watch in order. A refusal of the link, if looking
/// again is of no use.
pub fn headless(
    link: &mut impl Link,
    mut screen: Screen,
    clock: &mut impl Clock,
    length: Option<Duration>,
    output: &mut impl Write,
) -> Result<bool, Failure> {
    let mut attached = false;
    let mut last: Option<(Connection, Option<u64>)> = None;
    loop {
        let now = clock.tick();
        if length.is_some_and(|length| now >= length) {
            return Ok(attached);
        }
        if let Action::Send(settings) = screen.observe(&link.look()?, now) {
            link.send(settings);
        }
        attached |= screen.connection == Connection::Attached;
        let current = (screen.connection, screen.frame);
        if last == Some(current) {
            continue;
        }
        last = Some(current);
        let line = json!({
            "v": 1,
            "t_ms": now.as_millis() as u64,
            "connection": screen.connection.word(),
            "frame": screen.frame,
            "levels": screen.levels,
            "skipped": screen.skipped,
            "telemetry": {
                "frames": screen.heard.frames,
                "lost": screen.heard.lost,
                "newest": screen.heard.newest,
            },
            "torn": screen.torn,
            "volume": screen.chosen.map(|s| s.volume),
            "sensitivity": screen.chosen.map(|s| s.sensitivity),
        });
        match writeln!(output, "{line}").and_then(|()| output.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(attached),
            other => other?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Heard, Observation, Script};
    use super::*;
    use crate::{Map, Settings, Stimulation};

    struct Steps(u64);

    impl Clock for Steps {
        fn tick(&mut self) -> Duration {
            self.0 += 2;
            Duration::from_millis(self.0)
        }
    }

    fn seen(connection: Connection, frame: u64) -> Observation {
        let mut latest = Stimulation::silent(frame);
        latest.levels[0] = 120;
        let heard = Heard { frames: frame, lost: 2, newest: frame + 3, loudest: 1 };
        Observation { connection, latest: Some(latest), torn: 0, heard }
    }

    #[test]
    fn one_line_per_frame_and_per_change() {
        use Connection::{Attached, Died, Waiting};
        let script = [
            (Waiting, 0),
            (Waiting, 0),
            (Attached, 7),
            (Attached, 7),
            (Attached, 9),
            (Died, 9),
            (Attached, 0),
        ];
        let mut link = Script::new(script.map(|(c, f)| seen(c, f)).to_vec());
        let settings = Settings { volume: 0.5, sensitivity: -3.0 };
        let screen = Screen::new(Map::default(), Some(settings));
        let mut out = Vec::new();
        let attached =
            headless(&mut link, screen, &mut Steps(0), Some(Duration::from_millis(21)), &mut out).unwrap();
        assert!(attached);
        assert_eq!(link.sent, [settings, settings], "once per application");
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        let short: Vec<_> =
            lines.iter().map(|l| (l["connection"].as_str().unwrap(), l["frame"].as_u64())).collect();
        assert_eq!(
            short,
            [
                ("waiting", None),
                ("attached", Some(7)),
                ("attached", Some(9)),
                ("died", Some(9)),
                ("attached", Some(0))
            ]
        );
        assert_eq!(lines[1]["levels"].as_array().unwrap().len(), 22);
        assert_eq!((&lines[1]["levels"][0], &lines[3]["levels"][0]), (&json!(120), &json!(0)));
        assert_eq!((&lines[2]["skipped"], &lines[2]["volume"]), (&json!(1), &json!(0.5)));
        assert_eq!(lines[2]["telemetry"], json!({ "frames": 9, "lost": 2, "newest": 12 }));
    }

    #[test]
    fn an_application_that_never_comes_is_reported() {
        let nothing =
            Observation { connection: Connection::Waiting, latest: None, torn: 0, heard: Heard::default() };
        let mut link = Script::new(vec![nothing]);
        let screen = Screen::new(Map::default(), None);
        let mut out = Vec::new();
        let limit = Some(Duration::from_secs(1));
        assert!(!headless(&mut link, screen, &mut Steps(0), limit, &mut out).unwrap());
        assert_eq!(out.iter().filter(|&&b| b == b'\n').count(), 1);
        assert!(link.sent.is_empty());
    }

    #[test]
    fn a_closed_pipe_ends_the_watch() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut link = Script::new(vec![seen(Connection::Attached, 1)]);
        let screen = Screen::new(Map::default(), None);
        assert!(headless(&mut link, screen, &mut Steps(0), None, &mut Closed).unwrap());
    }
}
