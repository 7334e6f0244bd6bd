// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Instructions, as `valgrind --tool=callgrind` counts them: this program again, with a command that does what is counted
//! in functions of their own, and calls another one after each part, where the counts so far are written down.

use std::fs;
use std::path::Path;
use std::process::Command;

/// What is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted<'c> {
    /// The command of this program.
    pub(crate) command: &'c str,
    /// In which functions: the ends of their paths.
    pub(crate) inside: &'c [&'c str],
    /// After which one a part ends.
    pub(crate) behind: &'c str,
    /// How many parts there are.
    pub(crate) parts: usize,
}

/// The instructions of each part, with files below `folder`.
///
/// # Errors
/// No valgrind, or what it said.
pub(crate) fn totals(folder: &Path, counted: Counted<'_>) -> Result<Vec<u64>, String> {
    let said = |error: std::io::Error| error.to_string();
    let folder = folder.join("counted");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(said)?;
    }
    fs::create_dir_all(&folder).map_err(said)?;
    let out = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}/out", folder.display()))
        .args(counted.inside.iter().map(|function| format!("--toggle-collect=*{function}*")))
        .arg(format!("--dump-after=*{}*", counted.behind))
        .arg(std::env::current_exe().map_err(said)?)
        .arg(counted.command)
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    if !out.status.success() {
        return Err(format!("valgrind {}: {}", out.status, String::from_utf8_lossy(&out.stderr)));
    }
    let mut totals = Vec::new();
    for part in 1..=counted.parts {
        let path = folder.join(format!("out.{part}"));
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        totals.push(total(&text).ok_or_else(|| format!("{} says no total", path.display()))?);
    }
    let _ = fs::remove_dir_all(&folder);
    Ok(totals)
}

/// What a file of callgrind's says that was counted in all.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("totals:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_read() {
        assert_eq!(total("version: 1\nsummary: 12\n\ntotals: 345\n"), Some(345));
        assert_eq!(total("version: 1\n"), None);
    }
}
