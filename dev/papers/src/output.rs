// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fs;
use std::path::PathBuf;

use crate::figure::{self, Figure};

/// The folder for pages, figures and tables.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    folder: PathBuf,
}

impl Output {
    /// Uses a folder, which is created if it does not exist.
    pub(crate) fn new(folder: PathBuf) -> Result<Self, String> {
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self { folder })
    }

    /// Writes a text file.
    pub(crate) fn text(&self, name: &str, text: &str) -> Result<(), String> {
        self.bytes(name, text.as_bytes())
    }

    /// Writes a binary file.
    pub(crate) fn bytes(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        let path = self.folder.join(name);
        fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("wrote {}", path.display());
        Ok(())
    }

    /// Writes a figure.
    pub(crate) fn figure(&self, name: &str, figure: &Figure) -> Result<(), String> {
        self.text(&format!("{name}.svg"), &figure::svg(figure))
    }
}
