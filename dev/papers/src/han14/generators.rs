// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The generator files of the figures: each figure's own part, followed by the systems, which are the same for all.

use taut_planner::select::{Equations, Problem};
use taut_sweep::{Generator, System};

const SYSTEMS: &str = include_str!("../../han14/systems.toml");

/// The positions of an object's offers; the file lists all mechanisms in this order.
pub(crate) const MSRP: usize = 0;
pub(crate) const MPCP: usize = 1;
pub(crate) const DBP: usize = 2;
pub(crate) const TCCP: usize = 3;

/// The problem of selecting a mechanism for each object of a given system.
///
/// # Errors
/// The analysis does not apply to the system.
pub(crate) fn problem(system: &System, equations: Equations) -> Result<Problem, String> {
    let generator = Drawn::Fig17.generator(false, equations)?;
    generator.problem(0, system).map_err(|why| why.to_string())
}

/// Figures with drawn systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drawn {
    Fig14,
    Fig15,
    /// Figure 15 with periods of 5 to 100 ms.
    Fig15Narrow,
    Fig16,
    Fig17,
    Fig18,
}

impl Drawn {
    pub(crate) const ALL: [Self; 6] =
        [Self::Fig14, Self::Fig15, Self::Fig15Narrow, Self::Fig16, Self::Fig17, Self::Fig18];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fig14 => "fig14",
            Self::Fig15 => "fig15",
            Self::Fig15Narrow => "fig15-narrow",
            Self::Fig16 => "fig16",
            Self::Fig17 => "fig17",
            Self::Fig18 => "fig18",
        }
    }

    /// The equations to use. Buffers alone do not depend on them.
    pub(crate) fn equations(self) -> &'static [Equations] {
        match self {
            Self::Fig14 => &[Equations::Sound],
            _ => &[Equations::Sound, Equations::Printed],
        }
    }

    fn own(self) -> &'static str {
        match self {
            Self::Fig14 => include_str!("../../han14/fig14.toml"),
            Self::Fig15 | Self::Fig15Narrow => include_str!("../../han14/fig15.toml"),
            Self::Fig16 => include_str!("../../han14/fig16.toml"),
            Self::Fig17 => include_str!("../../han14/fig17.toml"),
            Self::Fig18 => include_str!("../../han14/fig18.toml"),
        }
    }

    /// What the long form replaces: as many systems as the paper, at its loads, and all depths.
    fn long(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Fig14 | Self::Fig17 => &[],
            Self::Fig15 | Self::Fig15Narrow | Self::Fig16 => &[("rows-per-point", "10000")],
            Self::Fig18 => &[
                ("rows-per-point", "303"),
                ("utilisation", r#"{ from = "45%", to = "95%", step = "5%" }"#),
                ("heuristic", "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"),
                ("best", "400000"),
            ],
        }
    }

    /// The text of the whole file.
    ///
    /// # Errors
    /// A line to be replaced is missing.
    pub(crate) fn text(self, long: bool, equations: Equations) -> Result<String, String> {
        let whole = self.own().lines().chain(SYSTEMS.lines());
        let mut lines: Vec<String> = whole.map(str::to_owned).collect();
        let word = match equations {
            Equations::Sound => "\"sound\"",
            Equations::Printed => "\"printed\"",
        };
        let narrow: &[_] = match self {
            Self::Fig15Narrow => &[("periods", r#"["5ms", "10ms", "20ms", "50ms", "100ms"]"#)],
            _ => &[],
        };
        let others = if long { self.long() } else { &[] };
        for (key, value) in others.iter().chain(narrow).chain(&[("equations", word)]) {
            let is_it = |line: &&mut String| line.split('=').next().is_some_and(|found| found.trim() == *key);
            let line = lines.iter_mut().find(is_it);
            *line.ok_or_else(|| format!("{}: no line for {key}", self.name()))? = format!("{key} = {value}");
        }
        Ok(lines.join("\n") + "\n")
    }

    /// Parses the file.
    pub(crate) fn generator(self, long: bool, equations: Equations) -> Result<Generator, String> {
        let reported = |faults: Vec<taut_sweep::GeneratorFault>| {
            let faults: Vec<_> = faults.into_iter().map(|fault| fault.message).collect();
            format!("{}: {}", self.name(), faults.join("; "))
        };
        Generator::parse(&self.text(long, equations)?).map_err(reported)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_read() {
        for drawn in Drawn::ALL {
            for equations in [Equations::Sound, Equations::Printed] {
                let short = drawn.generator(false, equations).expect("it is in order");
                let long = drawn.generator(true, equations).expect("it is in order");
                assert!(short.rows() <= long.rows() && short.equations() == equations, "{drawn:?}");
            }
        }
        let all = Drawn::Fig17.generator(false, Equations::Sound).expect("it is in order").offered();
        assert!([MSRP, MPCP, DBP, TCCP].map(|at| all[at]).into_iter().eq(taut_sweep::offerable()));
        let long = |drawn: Drawn| drawn.generator(true, Equations::Sound).expect("it is in order").rows();
        assert_eq!(Drawn::ALL.map(long), [36 * 42, 360_000, 360_000, 360_000, 9_999, 9_999]);
    }
}
