// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The roles of this binary as a client of the running application. A failed assertion decides its exit code.

use std::time::{Duration, Instant};

use taut::{Client, ClientReader, ClientWriter};
use taut_cochlear::{Settings, Stimulation};

use crate::support::Chance;
use crate::tone::{Tone, settings};

/// Changes of the volume to be measured.
const CHANGES: usize = 100;
/// Attempts for that: attempts in which the machine stood still between two of our instructions do not count.
const ATTEMPTS: usize = 1_000;

struct Ends {
    settings: ClientWriter<Settings>,
    levels: ClientReader<Stimulation>,
    tone: Tone,
}

impl Ends {
    fn attach() -> Self {
        let deadline = Instant::now() + Duration::from_secs(10);
        let client = loop {
            match Client::attach("cochlear", "ui") {
                Ok(client) => break client,
                // The listener has not seen yet that the previous client is dead.
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let (settings, levels) = (client.writer("settings").unwrap(), client.reader("levels").unwrap());
        let again = client.writer::<Settings>("settings").unwrap_err();
        assert!(again.to_string().contains("already"), "{again}");
        Self { settings, levels, tone: Tone::new() }
    }

    /// The number and the volume of the newest frame. A torn frame ends the process.
    fn look(&mut self) -> (u64, f32) {
        loop {
            // The writer may have been stopped in the middle of a write; it will continue.
            let Ok(latest) = self.levels.latest() else { continue };
            let (sequence, stimulation) = latest.unwrap();
            assert_eq!(sequence, stimulation.frame + 1, "the number of one frame and the count of another");
            let volume = self.tone.volume(&stimulation.levels);
            return (stimulation.frame, volume.unwrap_or_else(|| panic!("torn: {stimulation:?}")));
        }
    }
}

/// Every frame from the second after the newest one at a write must have the written volume.
pub(crate) fn change_volume() {
    let mut ends = Ends::attach();
    let mut chance = Chance(1);
    let mut found = [0; 3];
    for attempt in 0..ATTEMPTS {
        let wanted = if attempt % 2 == 0 { 0.25 } else { 0.75 };
        // At any phase of the frame.
        std::thread::sleep(Duration::from_millis(1) + chance.below(Duration::from_millis(8)));
        let (before, _) = ends.look();
        let published = ends.settings.publish(settings(wanted));
        let (newest, _) = ends.look();
        assert!(published.is_ok(), "the reader is never inside for long");
        let first = loop {
            let (frame, volume) = ends.look();
            if volume == wanted {
                break frame;
            }
            assert!(frame < newest + 2, "frame {frame} has volume {volume}, {wanted} was set at {newest}");
            std::thread::sleep(Duration::from_micros(200));
        };
        // The newest frame at the write is known only if no frame came in between; and this client must have looked
        // in time.
        if before == newest && first <= newest + 2 {
            found[usize::try_from(first - newest).unwrap()] += 1;
        }
        if found.iter().sum::<usize>() == CHANGES {
            println!("{CHANGES} changes heard after 0, 1, 2 frames: {found:?}; {} attempts", attempt + 1);
            return;
        }
    }
    panic!("the machine let us measure {found:?} only");
}

/// Writes without a pause, and reads the newest frame, until killed.
pub(crate) fn write_for_ever() {
    let mut ends = Ends::attach();
    println!("writing");
    let mut last = 0;
    loop {
        for volume in [0.25, 0.75] {
            // Refused while the reader is inside: a later write succeeds.
            let _ = ends.settings.publish(settings(volume));
        }
        let (frame, _) = ends.look();
        assert!(frame >= last, "frame {frame} after {last}");
        last = frame;
    }
}
