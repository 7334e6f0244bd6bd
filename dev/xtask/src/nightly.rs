// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The nightly toolchain, which Miri, the sanitizers and the fuzzer need.
//!
//! It is pinned by date, because from one day to the next Miri finds other errors, and flags change their meaning. A machine
//! that does not reach the archive of releases cannot install it. There a toolchain that is called `nightly` stands in for
//! it, if its compiler is no older.

use crate::command::Command;

/// The pinned toolchain. To move it, set this date and [`LEAST`], and run `cargo xtask ci`.
pub(crate) const PINNED: &str = "nightly-2026-05-20";

/// The date in `rustc --version` of the pinned toolchain: that of its last commit, the day before its release.
const LEAST: &str = "2026-05-19";

/// The toolchain without a date that stands in for the pinned one.
const SUBSTITUTE: &str = "nightly";

/// A command of the nightly toolchain.
pub(crate) fn command(line: &str) -> Command {
    with(Command::line(line))
}

/// The same command with the nightly toolchain.
pub(crate) fn with(command: Command) -> Command {
    let uses_substitute = !is_installed() && has_substitute();
    command.env("RUSTUP_TOOLCHAIN", if uses_substitute { SUBSTITUTE } else { PINNED })
}

/// Whether the pinned toolchain is installed.
pub(crate) fn is_installed() -> bool {
    version(PINNED).is_some()
}

/// Whether a toolchain is installed that can stand in for the pinned one.
pub(crate) fn has_substitute() -> bool {
    version(SUBSTITUTE).is_some_and(|version| is_recent(&version))
}

fn version(toolchain: &str) -> Option<String> {
    let output = Command::line("rustup run").args([toolchain, "rustc", "--version"]).run();
    output.success().then_some(output.stdout)
}

/// Whether a compiler is no older than the pinned one, by the text in which it gives its version.
fn is_recent(version: &str) -> bool {
    date(version).is_some_and(|date| date >= LEAST)
}

/// The date in the version of a compiler: that in `rustc 1.97.0-nightly (e50aa6fba 2026-05-19)`.
fn date(version: &str) -> Option<&str> {
    let (_, date) = version.trim().strip_suffix(')')?.rsplit_once(' ')?;
    let is_date = |at: usize, c: char| if [4, 7].contains(&at) { c == '-' } else { c.is_ascii_digit() };
    (date.len() == 10 && date.char_indices().all(|(at, c)| is_date(at, c))).then_some(date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_substitute_is_no_older() {
        assert!(is_recent("rustc 1.97.0-nightly (e50aa6fba 2026-05-19)\n"));
        assert!(is_recent("rustc 1.98.0-nightly (e50aa6fba 2026-10-01)"));
        assert!(!is_recent("rustc 1.97.0-nightly (e50aa6fba 2026-05-18)"));
        for unknown in ["", "rustc 1.97.0-nightly", "rustc 1.97.0-nightly (unknown date)"] {
            assert!(!is_recent(unknown), "{unknown}");
        }
    }

    #[test]
    fn the_least_date_is_that_of_the_pinned_toolchain() {
        let pinned = PINNED.strip_prefix("nightly-").unwrap();
        assert_eq!(date(&format!("({pinned} {LEAST})")), Some(LEAST));
        assert!(LEAST < pinned);
    }

    #[test]
    fn a_command_names_its_toolchain() {
        let shown = command("cargo miri test").shown();
        assert!(shown.starts_with("RUSTUP_TOOLCHAIN=nightly"), "{shown}");
        assert!(shown.ends_with("cargo miri test"), "{shown}");
    }
}
