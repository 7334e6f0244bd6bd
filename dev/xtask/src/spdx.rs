// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every source file names its licence and its authors in its first lines.

use crate::tree::{Finding, Tree, has_extension};

/// The two lines must stand within so many first lines: a script may begin with `#!`.
const HEAD: usize = 4;

const EXTENSIONS: &[&str] = &["rs", "py", "sh", "js", "c", "h"];

/// The rule over all sources.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let sources = tree.files(|path| has_extension(path, EXTENSIONS) || path.starts_with(".ci/"));
    sources.iter().flat_map(|path| check_source(path, &tree.read(path))).collect()
}

fn check_source(path: &str, source: &str) -> Vec<Finding> {
    let wanted = ["SPDX-License-Identifier: Apache-2.0 OR MIT", "SPDX-FileCopyrightText: The taut authors"];
    let has = |text: &str| source.lines().take(HEAD).any(|line| line.trim_end().ends_with(text));
    let missing = wanted.into_iter().filter(|text| !has(text));
    missing.map(|text| Finding::at(path, 1, format!("the head lacks `{text}`"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lines() {
        let good = "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0 OR MIT\n# SPDX-FileCopyrightText: The taut authors\n";
        assert_eq!(check_source("a.sh", good), []);
        assert_eq!(check_source("a.sh", &good.replace("MIT", "BSD")).len(), 1);
        assert_eq!(check_source("a.sh", &format!("\n\n\n\n{good}")).len(), 2);
    }
}
