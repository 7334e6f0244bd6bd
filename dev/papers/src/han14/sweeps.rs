// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Makes rows with `taut sweep`, which resumes where it was stopped, distributes its work, and shows its progress.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use taut_planner::select::Equations;

use super::generators::Drawn;
use super::rows::Rows;

/// How to make rows.
#[derive(Clone, Debug)]
pub(crate) struct Sweeps {
    /// The program `taut`.
    pub(crate) taut: PathBuf,
    /// The folder of generator files and rows.
    pub(crate) folder: PathBuf,
    pub(crate) long: bool,
    /// The part to make, from 1, and the number of parts.
    pub(crate) shard: Option<(u64, u64)>,
    /// Replaces the seeds of the files.
    pub(crate) seed: Option<u64>,
}

/// The name of the equations in file names and tables.
pub(crate) fn word(equations: Equations) -> &'static str {
    match equations {
        Equations::Sound => "sound",
        Equations::Printed => "printed",
    }
}

impl Sweeps {
    /// The rows of a figure; `None` if only a part was requested, which this makes.
    pub(crate) fn rows(&self, drawn: Drawn, equations: Equations) -> Result<Option<Rows>, String> {
        let name = format!("{}-{}", drawn.name(), word(equations));
        let file = self.folder.join(format!("{name}.toml"));
        let mut text = drawn.text(self.long, equations)?;
        if let Some(seed) = self.seed {
            text += &format!("\n# `--seed {seed}`\n");
        }
        if fs::read_to_string(&file).ok().as_deref() != Some(&text) {
            self.forget(&name)?;
            fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        if let Some((part, of)) = self.shard {
            self.sweep(&file, &self.folder.join(format!("{name}.{part}-of-{of}.parquet")), Some((part, of)))?;
            return Ok(None);
        }
        let whole = self.folder.join(format!("{name}.parquet"));
        let parts = self.parts(&name)?;
        if !parts.is_empty() && !whole.exists() {
            self.merge(&file, &parts, &whole)?;
        }
        self.sweep(&file, &whole, None)?;
        let csv = self.folder.join(format!("{name}.csv"));
        self.merge(&file, &[whole], &csv)?;
        let text = fs::read_to_string(&csv).map_err(|error| format!("{}: {error}", csv.display()))?;
        Rows::parse(&text).map(Some).map_err(|why| format!("{}: {why}", csv.display()))
    }

    /// Makes rows unless the file exists.
    fn sweep(&self, file: &Path, out: &Path, shard: Option<(u64, u64)>) -> Result<(), String> {
        if out.exists() {
            return Ok(());
        }
        eprintln!("{}", out.display());
        let mut command = Command::new(&self.taut);
        command.arg("sweep").arg(file).arg("--out").arg(out).arg("--resume");
        if let Some((part, of)) = shard {
            command.arg("--shard").arg(format!("{part}/{of}"));
        }
        self.run(command)
    }

    fn merge(&self, file: &Path, from: &[PathBuf], to: &Path) -> Result<(), String> {
        let mut command = Command::new(&self.taut);
        command.arg("sweep").arg(file).arg("--out").arg(to).arg("--force").arg("--merge").args(from);
        self.run(command)
    }

    fn run(&self, mut command: Command) -> Result<(), String> {
        if let Some(seed) = self.seed {
            command.arg("--seed").arg(seed.to_string());
        }
        let status = command.stdout(Stdio::null()).status();
        let status = status.map_err(|error| format!("{}: {error}", self.taut.display()))?;
        if status.success() { Ok(()) } else { Err(format!("taut sweep ended with {status}")) }
    }

    /// The files of all parts; none unless all exist.
    fn parts(&self, name: &str) -> Result<Vec<PathBuf>, String> {
        let found = self.files(name)?;
        let of = |path: &PathBuf| -> Option<(u64, u64)> {
            let middle = path
                .file_name()?
                .to_str()?
                .strip_prefix(name)?
                .strip_prefix('.')?
                .strip_suffix(".parquet")?;
            let (part, of) = middle.split_once("-of-")?;
            Some((part.parse().ok()?, of.parse().ok()?))
        };
        let mut parts: Vec<_> = found.into_iter().filter_map(|path| Some((of(&path)?, path))).collect();
        parts.sort();
        let whole = parts.last().is_some_and(|((last, of), _)| last == of && parts.len() as u64 == *of);
        Ok(if whole { parts.into_iter().map(|(_, path)| path).collect() } else { Vec::new() })
    }

    /// Removes what was made from an earlier generator file.
    fn forget(&self, name: &str) -> Result<(), String> {
        for path in self.files(name)? {
            fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(())
    }

    fn files(&self, name: &str) -> Result<Vec<PathBuf>, String> {
        let entries =
            fs::read_dir(&self.folder).map_err(|error| format!("{}: {error}", self.folder.display()))?;
        let ours = |path: &PathBuf| {
            path.file_name()
                .and_then(|found| found.to_str())
                .is_some_and(|found| found.starts_with(&format!("{name}.")))
        };
        Ok(entries.flatten().map(|entry| entry.path()).filter(ours).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_count_when_all_are_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let sweeps = Sweeps {
            taut: PathBuf::new(),
            folder: folder.path().to_owned(),
            long: false,
            shard: None,
            seed: None,
        };
        let write = |name: &str| fs::write(folder.path().join(name), "").expect("written");
        for name in ["a.2-of-3.parquet", "a.3-of-3.parquet", "a.toml", "a-narrow.1-of-3.parquet"] {
            write(name);
        }
        assert_eq!(sweeps.parts("a"), Ok(Vec::new()));
        write("a.1-of-3.parquet");
        let parts = sweeps.parts("a").expect("read");
        let ends = parts.iter().map(|path| path.extension().is_some_and(|end| end == "parquet"));
        assert!(parts.len() == 3 && ends.min() == Some(true) && parts.is_sorted());
        sweeps.forget("a").expect("removed");
        assert!(sweeps.files("a").is_ok_and(|left| left.is_empty()));
        assert_eq!(sweeps.files("a-narrow").map(|left| left.len()), Ok(1));
    }
}
