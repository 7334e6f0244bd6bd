// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the packages have in common that this command writes: where Cargo finds the crate `taut`.

use std::path::Path;

/// The crate that an application imports, in the checkout from which this command was built.
pub(crate) const LIBRARY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../taut");
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// Where Cargo finds the crate `taut`, as a key of TOML: in the checkout at `library`, if that is still there and is not one
/// of Cargo's own, else in the repository.
pub(crate) fn dependency(library: &Path) -> String {
    let there = library.join("Cargo.toml").is_file();
    let path = if there { library.canonicalize().ok() } else { None };
    match path.as_deref().and_then(Path::to_str) {
        // A string of JSON is one of TOML.
        Some(path) if !path.contains("/git/checkouts/") => {
            format!("path = {}", serde_json::Value::from(path))
        }
        _ => format!("git = \"{REPOSITORY}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crate_is_in_the_checkout_or_in_the_repository() {
        assert!(dependency(Path::new(LIBRARY)).starts_with("path = \"/"));
        let folder = tempfile::tempdir().unwrap();
        let repository = format!("git = \"{REPOSITORY}\"");
        assert_eq!(dependency(folder.path()), repository);
        for (name, is_path) in [("a \"b\"", true), (".cargo/git/checkouts/taut", false)] {
            let library = folder.path().join(name);
            std::fs::create_dir_all(&library).unwrap();
            std::fs::write(library.join("Cargo.toml"), "").unwrap();
            let text = dependency(&library);
            assert_eq!(text.ends_with(r#"/a \"b\"""#), is_path, "{text}");
            assert_eq!(text == repository, !is_path, "{text}");
        }
    }
}
