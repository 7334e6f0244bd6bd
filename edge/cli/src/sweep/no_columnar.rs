// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Stands for the module `columnar` in a build without the feature `parquet`: refuses Parquet files.

use std::fs::File;
use std::path::Path;

use taut_sweep::{Generator, Row};

use crate::outcome::Failure;
use crate::sweep::partial::Origin;

fn refused() -> Failure {
    Failure::Usage(
        "this `taut` was built without Parquet: build it with `--features parquet`, or write .csv or .jsonl"
            .into(),
    )
}

/// Fails, because this build neither reads nor writes Parquet.
pub(super) fn check() -> Result<(), Failure> {
    Err(refused())
}

pub(super) fn write(
    _: File,
    _: &Path,
    _: &Generator,
    _: &Origin,
    _: impl Iterator<Item = Result<Row, Failure>>,
) -> Result<File, Failure> {
    Err(refused())
}

pub(super) fn read(
    _: &Path,
    _: &Generator,
    _: &Origin,
) -> Result<std::iter::Empty<Result<Row, Failure>>, Failure> {
    Err(refused())
}
