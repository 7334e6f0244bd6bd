// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Rule `circles`: modules that import each other cannot be read one after the other.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Texts, modules_of, shipped};
use crate::tree::{Finding, Tree};

/// The most modules of a crate that may import each other, directly or by way of others.
const MOST: usize = 3;

/// The modules of a crate, and which others each imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// The circles in the crates of `pure/`, `live/` and `edge/` that are too large. A folder of modules counts as one.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let inside = |path: &str| ["pure/", "live/", "edge/"].iter().any(|folder| path.starts_with(folder));
    let mut crates: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for path in tree.files(|path| inside(path) && path.ends_with(".rs")) {
        if let Some((of, module)) = path.split_once("/src/") {
            crates.entry(of.to_owned()).or_default().push((module.to_owned(), tree.read(&path)));
        }
    }
    let found = |(of, files): (&String, &Vec<(String, String)>)| {
        let circles = circles(&imports(files)).into_iter().filter(|circle| circle.len() > MOST);
        let finding = |circle: BTreeSet<String>| {
            let (count, names) = (circle.len(), circle.into_iter().collect::<Vec<_>>().join(", "));
            let message = format!("{count} modules import each other, and the limit is {MOST}: {names}");
            Finding::at(&format!("{of}/src"), 0, message)
        };
        circles.map(finding).collect::<Vec<_>>()
    };
    crates.iter().flat_map(found).collect()
}

/// What the modules of a crate import from each other, by its files below `src`. A name that the root re-exports
/// counts as its module.
fn imports(files: &[(String, String)]) -> Imports {
    let module = |path: &str| path.split('/').next().unwrap_or(path).trim_end_matches(".rs").to_owned();
    let is_root = |name: &str| ["lib", "main"].contains(&name);
    let is_test = |path: &str| path.split('/').any(|part| part.trim_end_matches(".rs") == "tests");
    let files: Vec<(String, String)> = files
        .iter()
        .filter(|(path, _)| !is_test(path))
        .map(|(path, source)| (module(path), shipped(source, Texts::Blank)))
        .collect();
    let mut imports: Imports = files
        .iter()
        .filter(|(name, _)| !is_root(name))
        .map(|(name, _)| (name.clone(), BTreeSet::new()))
        .collect();
    let mut exported: BTreeMap<String, String> = BTreeMap::new();
    for (_, root) in files.iter().filter(|(name, _)| is_root(name)) {
        for name in imports.keys() {
            exported.extend(modules_of(root, name).into_iter().map(|(_, item)| (item, name.clone())));
        }
    }
    for (name, source) in files.iter().filter(|(name, _)| !is_root(name)) {
        for (_, item) in modules_of(source, "crate") {
            let target = if imports.contains_key(&item) { Some(&item) } else { exported.get(&item) };
            if let Some(target) = target.filter(|target| *target != name).cloned()
                && let Some(own) = imports.get_mut(name)
            {
                own.insert(target);
            }
        }
    }
    imports
}

/// All circles: sets of modules each of which imports each other, directly or by way of others.
fn circles(imports: &Imports) -> BTreeSet<BTreeSet<String>> {
    let reach = |from: &String| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(module) = open.pop() {
            for next in imports.get(&module).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&String, BTreeSet<String>> =
        imports.keys().map(|name| (name, reach(name))).collect();
    let circle = |from: &&String| {
        let back = |to: &&String| reached.get(*to).is_some_and(|seen| seen.contains(*from));
        let of = reached.get(*from).into_iter().flatten().filter(back);
        of.cloned().collect::<BTreeSet<String>>()
    };
    imports.keys().map(|name| circle(&name)).filter(|circle| circle.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let files: Vec<_> =
            files.iter().map(|(path, source)| ((*path).to_owned(), (*source).to_owned())).collect();
        let circles = circles(&imports(&files));
        circles.into_iter().map(|circle| circle.into_iter().collect()).collect()
    }

    #[test]
    fn a_circle_is_found_through_folders_and_the_root() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; mod d;\npub use c::{Deep, Other};"),
            ("a.rs", "use crate::b::Thing;"),
            ("b/mod.rs", "use crate::{Deep, d};"),
            ("c.rs", "fn f() { crate::a::g() }"),
            ("d.rs", ""),
        ];
        assert_eq!(found(&files), [["a", "b", "c"]]);
    }

    #[test]
    fn imports_of_tests_make_no_circle() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::Thing;\n// crate::a"),
            ("b.rs", "#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n"),
            ("tests.rs", "use crate::a;"),
        ];
        assert!(found(&files).is_empty());
    }

    #[test]
    fn two_circles_are_two() {
        let files = [
            ("lib.rs", ""),
            ("a.rs", "use crate::b;"),
            ("b.rs", "use crate::{a, c};"),
            ("c.rs", "use crate::d;"),
            ("d.rs", "use crate::c;"),
        ];
        assert_eq!(found(&files), [["a", "b"], ["c", "d"]]);
    }
}
