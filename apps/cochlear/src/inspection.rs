// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Checks every frame that arrives for defects that the implant would refuse.

use crate::{CYCLES, ELECTRODES, Levels, Map, Stimulation};

/// Defects found so far; all zero is a perfect run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Defects {
    /// Frames whose number jumped ahead.
    pub gaps: u64,
    /// Frames that those jumps left out.
    pub missing: u64,
    /// Frames whose number did not advance: repeated or out of order.
    pub stale: u64,
    /// Levels that are neither 0 nor between the electrode's threshold and comfort.
    pub levels: u64,
    /// Cycles with more pulses than maxima.
    pub cycles: u64,
}

impl Defects {
    /// Whether there are no defects.
    pub fn none(&self) -> bool {
        *self == Self::default()
    }
}

/// Checks frames against the sequence and the wearer's map.
///
/// Progress of every operation: 176 comparisons, no allocation, no failure.
#[derive(Clone, Debug)]
pub struct Inspector {
    map: Map,
    maxima: usize,
    expected: u64,
    frames: u64,
    defects: Defects,
}

impl Inspector {
    /// An inspector that expects frame 0 first, at most `maxima` pulses per cycle.
    pub fn new(map: Map, maxima: usize) -> Self {
        Self { map, maxima, expected: 0, frames: 0, defects: Defects::default() }
    }

    /// Checks one frame, adds to the totals, and gives this frame's defects. After a gap the next expected
    /// number follows the one received, so one gap counts once.
    pub fn check(&mut self, stimulation: &Stimulation) -> Defects {
        let mut found = self.levels(&stimulation.levels);
        match stimulation.frame.checked_sub(self.expected) {
            Some(0) => {}
            Some(missing) => (found.gaps, found.missing) = (1, missing),
            None => found.stale = 1,
        }
        if found.stale == 0 {
            self.expected = stimulation.frame.wrapping_add(1);
        }
        self.frames += 1;
        let total = &mut self.defects;
        total.gaps += found.gaps;
        total.missing = total.missing.saturating_add(found.missing);
        total.stale += found.stale;
        total.levels += found.levels;
        total.cycles += found.cycles;
        found
    }

    /// Frames checked.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Everything found since the start.
    pub fn defects(&self) -> Defects {
        self.defects
    }

    fn levels(&self, levels: &Levels) -> Defects {
        let mut found = Defects::default();
        for cycle in levels.chunks_exact(ELECTRODES) {
            let mut pulses = 0;
            let limits = self.map.threshold().iter().zip(self.map.comfort());
            for (&level, (&threshold, &comfort)) in cycle.iter().zip(limits) {
                if level != 0 {
                    pulses += 1;
                    found.levels += u64::from(level < threshold || level > comfort);
                }
            }
            found.cycles += u64::from(pulses > self.maxima);
        }
        debug_assert!(found.cycles <= CYCLES as u64);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inspector() -> Inspector {
        Inspector::new(Map::default(), 8)
    }

    #[test]
    fn a_clean_sequence_has_no_defects() {
        let mut i = inspector();
        for frame in 0..100 {
            let mut s = Stimulation::silent(frame);
            s.levels[..8].fill(100);
            s.levels[30..38].fill(180);
            assert!(i.check(&s).none());
        }
        assert!(i.defects().none() && i.frames() == 100);
    }

    #[test]
    fn gaps_and_stale_frames_are_distinguished() {
        let mut i = inspector();
        let found: Vec<_> = [0, 1, 5, 5, 3, 6, 10]
            .map(|n| i.check(&Stimulation::silent(n)))
            .iter()
            .map(|d| (d.gaps, d.missing, d.stale))
            .collect();
        assert_eq!(found, [(0, 0, 0), (0, 0, 0), (1, 3, 0), (0, 0, 1), (0, 0, 1), (0, 0, 0), (1, 3, 0)]);
        assert_eq!((i.defects().gaps, i.defects().missing, i.defects().stale), (2, 6, 2));
        // Frame numbers at the end of the range cause no panic.
        i.check(&Stimulation::silent(u64::MAX));
        i.check(&Stimulation::silent(0));
    }

    #[test]
    fn levels_outside_the_map_and_crowded_cycles_are_counted() {
        let mut i = inspector();
        let mut s = Stimulation::silent(0);
        (s.levels[0], s.levels[1], s.levels[2]) = (99, 181, 100);
        s.levels[22..31].fill(150);
        let found = i.check(&s);
        assert_eq!((found.levels, found.cycles), (2, 1));
    }
}
