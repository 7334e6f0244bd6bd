// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fs;
use std::path::PathBuf;

use crate::figure::{self, Figure};

/// Where pages, figures and tables go.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    folder: PathBuf,
}

impl Output {
    /// A folder, which is made if it is not there.
    pub(crate) fn new(folder: PathBuf) -> Result<Self, String> {
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self { folder })
    }

    /// Writes a file.
    pub(crate) fn text(&self, name: &str, text: &str) -> Result<(), String> {
        self.bytes(name, text.as_bytes())
    }

    /// Writes a file that is no text.
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
