// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Analyses held against what others say of the same task sets.
//!
//! `cases` reads sets with the results of other tools and compares every one that names an analysis that we have.
#![forbid(unsafe_code)]
// A tool for people at a terminal: it prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod case;
mod compare;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::case::Case;
use crate::table::Table;

/// Analyses held against what others say of the same task sets.
#[derive(Debug, Parser)]
#[command(name = "taut-oracle")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Compare with other tools' results; fails if one that must be equal is not, or a bound is exceeded
    Cases {
        /// A folder of files of cases, *.jsonl
        folder: PathBuf,
    },
}

fn main() -> ExitCode {
    let done = match Arguments::parse().task {
        Task::Cases { folder } => cases(&folder),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

/// Prints what was compared; whether all that was judged holds.
fn cases(folder: &Path) -> Result<bool, String> {
    let mut table = Table::default();
    for case in read(folder)? {
        compare::case(&case, &mut table)?;
    }
    print!("{table}");
    let (values, differ) = table.judged();
    if values == 0 {
        return Err(format!("{}: nothing that could be compared", folder.display()));
    }
    Ok(differ == 0)
}

/// All cases of a folder, by file name.
fn read(folder: &Path) -> Result<Vec<Case>, String> {
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| told(&error))? {
        let path = entry.map_err(|error| told(&error))?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(told(&"no file of cases, *.jsonl"));
    }
    let mut all = Vec::new();
    for file in files {
        all.extend(case::read(&file)?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
