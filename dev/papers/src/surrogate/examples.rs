// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The surrogates as manifests, in `examples/`.

use std::fs;
use std::path::{Path, PathBuf};

use super::manifest::{Head, manifest};
use super::{allocation, fuel_injection};

/// The load of each core, in permille.
const LOAD: u64 = 870;

/// Paths from the root of the repository, and the text of each file.
fn all() -> [(PathBuf, String); 2] {
    let fuel = Head {
        name: "fuel-injection",
        comment: &[
            "A surrogate of the fuel injection system of Han et al. (IEEE TII 2014), whose data are not published: drawn from a",
            "fixed seed so that it has in common with it what is printed. 16 tasks with these periods, 46 shared values of 1 to",
            "512 bytes, 5032 in all; with a buffer more for each reader and each value's writer 20722 bytes are needed.",
            "",
            "Made by `cargo xtask papers examples`; execution times are those of cores loaded to 87 %.",
        ],
        description: "Fuel injection, a surrogate: 16 tasks and 46 shared values on two cores",
        load: LOAD,
    };
    let allocation_42 = Head {
        name: "allocation-42",
        comment: &[
            "A surrogate of the second system of Han et al. (IEEE TII 2014), made to show how tasks are allocated to cores: drawn",
            "from a fixed seed so that it has in common with it what is printed. 42 tasks with these periods, 36 messages of 20 to",
            "150 bytes, 2240 in all.",
            "",
            "Made by `cargo xtask papers examples`; execution times are those of cores loaded to 87 %.",
        ],
        description: "A surrogate of an example for allocation: 42 tasks and 36 messages on two cores",
        load: LOAD,
    };
    [(fuel, fuel_injection()), (allocation_42, allocation())]
        .map(|(head, case)| (Path::new("examples").join(head.name).join("taut.toml"), manifest(&case, &head)))
}

/// Writes the manifests below a folder.
pub(crate) fn write(root: &Path) -> Result<(), String> {
    for (path, text) in all() {
        let path = root.join(path);
        let folder = path.parent().unwrap_or(root);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use taut_manifest::{SourceText, load};
    use taut_planner::Planned;

    use super::*;

    #[test]
    fn examples_are_what_is_made() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (path, made) in all() {
            let found = fs::read_to_string(root.join(&path)).expect("the example is there");
            assert!(found == made, "{}: `cargo xtask papers examples` writes it anew", path.display());
        }
    }

    #[test]
    fn examples_are_proven() {
        for (path, text) in all() {
            let source = SourceText { name: path.display().to_string(), text };
            let loaded = load(&source, &[]);
            assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
            let planned = Planned::make(&loaded.model.expect("nothing is wrong"), Vec::new());
            assert!(planned.faults.is_empty(), "{}: {:?}", path.display(), planned.faults);
        }
    }
}
