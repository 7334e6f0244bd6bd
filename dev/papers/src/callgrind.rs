// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Counts instructions with `valgrind --tool=callgrind`. It runs this program again, with a command that does the
//! counted work in functions of its own. After each part the command calls a marker function, and callgrind writes
//! down the counts so far when that function returns.

use std::fs;
use std::path::Path;
use std::process::Command;

/// What to count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted<'c> {
    /// The command of this program that does the work.
    pub(crate) command: &'c str,
    /// The counted functions, by the ends of their paths.
    pub(crate) inside: &'c [&'c str],
    /// The marker function that ends each part.
    pub(crate) behind: &'c str,
    /// The number of parts.
    pub(crate) parts: usize,
}

/// Counts the instructions of each part. Callgrind's files go below `folder`.
///
/// # Errors
/// Valgrind is missing, or the error that it reports.
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

/// The total that a file of callgrind reports.
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
