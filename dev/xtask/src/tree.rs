// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The files of the project.

use std::fs;
use std::path::{Path, PathBuf};

/// A checkout of the project.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
}

/// A place in a file that breaks a rule, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// The path, relative to the root.
    pub(crate) path: String,
    /// The line, from 1; 0 for the file as a whole.
    pub(crate) line: usize,
    /// What is wrong, and how to correct it.
    pub(crate) message: String,
}

impl Finding {
    /// A finding at a line.
    pub(crate) fn at(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

impl Tree {
    /// The checkout from which this program was built; if that has moved, the checkout in which it was started.
    ///
    /// # Errors
    /// If it was started outside of a checkout.
    pub fn here() -> Result<Self, String> {
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).map(Path::to_owned);
        let started = std::env::current_dir().ok();
        let started = started.iter().flat_map(|dir| dir.ancestors()).map(Path::to_owned);
        let mut candidates = built.into_iter().chain(started);
        let root = candidates.find(|dir| dir.join("dev/xtask/Cargo.toml").is_file());
        root.map(|root| Self { root }).ok_or_else(|| "not inside a checkout of taut".into())
    }

    /// The root folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path below the root.
    pub fn join(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The target folder of builds.
    pub fn target(&self) -> PathBuf {
        std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| self.join("target"), |target| self.root.join(target))
    }

    /// The text of a file, by its path from the root; empty if it cannot be read as text.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.join(path)).unwrap_or_default()
    }

    /// Every file that `wanted` accepts, as sorted paths from the root. Build results, version control and fetched
    /// packages are left out.
    pub(crate) fn files(&self, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                let name = entry.file_name();
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() {
                    if !["target", ".git", "node_modules"].iter().any(|skipped| name == *skipped) {
                        folders.push(path);
                    }
                } else if let Some(path) = path.strip_prefix(&self.root).ok().and_then(Path::to_str)
                    && wanted(path)
                {
                    found.push(path.to_owned());
                }
            }
        }
        found.sort_unstable();
        found
    }
}

/// Whether a path ends in one of these extensions.
pub(crate) fn has_extension(path: &str, extensions: &[&str]) -> bool {
    Path::new(path).extension().is_some_and(|found| extensions.iter().any(|wanted| found == *wanted))
}
