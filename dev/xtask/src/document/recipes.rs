// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The recipes of CONTRIBUTING.md for common changes list exactly the files that such a change touches. Each recipe names a
//! neighbour of the new thing, and the files are those that name the neighbour.

use std::collections::BTreeSet;

use crate::absence::source::{Texts, lines_with, shipped};
use crate::tree::Tree;

/// A recipe, by the words that begin it, and what it lists.
struct Recipe {
    begins: &'static str,
    /// The words by which source code names the neighbour.
    neighbour: &'static [&'static str],
    /// The files in which to look for it, by the beginnings of their paths.
    within: &'static [&'static str],
    /// Files that may name the neighbour for reasons of their own, by the beginnings of their paths.
    apart: &'static [&'static str],
}

const RECIPES: &[Recipe] = &[
    Recipe {
        begins: "- **A mechanism**",
        neighbour: &["Nbw", "nbw_temporal", "NbwTemporal"],
        within: &["pure/", "live/", "edge/"],
        // Protocols that are made from others.
        apart: &["live/share/src/state/"],
    },
    Recipe {
        begins: "- **A locking protocol**",
        neighbour: &["Mpcp", "\"mpcp\"", "mpcp_lnr09_sound"],
        within: &["pure/", "live/", "edge/"],
        apart: &[],
    },
    Recipe {
        begins: "- **A key of `taut.toml`**",
        neighbour: &["on_overrun", "on-overrun"],
        within: &["pure/manifest/", "pure/model/", "pure/planner/src/make.rs", "pure/plan/"],
        // What depends on it: servers, aperiodic tasks, cores that need a dispatcher, longer deadlines.
        apart: &[
            "pure/model/src/rules/aperiodic.rs",
            "pure/model/src/rules/mod.rs",
            "pure/model/src/rules/platform.rs",
            "pure/model/src/rules/servers.rs",
            "pure/model/src/what_if.rs",
            "pure/plan/src/core.rs",
        ],
    },
    Recipe {
        begins: "- **An event**",
        neighbour: &["Slept = 32", "Event::Slept", "Recorded::Slept", "Kind::Slept"],
        within: &["pure/", "live/", "edge/"],
        apart: &[],
    },
];

/// The files that a recipe lists, each as the first word of an item.
fn listed(text: &str, recipe: &Recipe) -> Vec<String> {
    let (_, rest) = text.split_once(recipe.begins).expect(recipe.begins);
    let recipe = rest.split_once("\n- ").map_or(rest, |(recipe, _)| recipe);
    let item = |line: &str| {
        let (number, rest) = line.trim_start().split_once(". `")?;
        number.parse::<u8>().ok()?;
        Some(rest.split_once('`')?.0.to_owned())
    };
    recipe.lines().filter_map(item).collect()
}

/// The files of shipped code that name the neighbour, comments and tests aside.
fn naming(tree: &Tree, recipe: &Recipe) -> BTreeSet<String> {
    let begins = |path: &str, with: &[&str]| with.iter().any(|with| path.starts_with(with));
    let is_test = |path: &str| path.split('/').any(|part| part.trim_end_matches(".rs") == "tests");
    let looked_at =
        |path: &str| begins(path, recipe.within) && path.contains("/src/") && path.ends_with(".rs");
    let names = |path: &String| {
        let text = tree.read(path);
        let stands = |code: &str| recipe.neighbour.iter().any(|word| !lines_with(code, word).is_empty());
        stands(&text) && stands(&shipped(&text, Texts::Keep))
    };
    tree.files(|path| looked_at(path) && !is_test(path)).into_iter().filter(names).collect()
}

#[test]
fn a_recipe_lists_the_files_of_its_neighbour() {
    let tree = Tree::here().unwrap();
    let text = tree.read("CONTRIBUTING.md");
    for recipe in RECIPES {
        let (listed, naming) = (listed(&text, recipe), naming(&tree, recipe));
        let unique: BTreeSet<&String> = listed.iter().collect();
        assert!(listed.len() > 3 && unique.len() == listed.len(), "{}: {listed:?}", recipe.begins);
        // A table for people may name it in a comment, and a file about the neighbour alone may name it in its path only.
        let named = |path: &String| {
            recipe.neighbour.iter().any(|word| tree.read(path).contains(word) || path.contains(word))
        };
        let idle: Vec<_> = listed.iter().filter(|path| !named(path)).collect();
        let apart = |path: &&String| recipe.apart.iter().any(|apart| path.starts_with(apart));
        let missing: Vec<_> = naming.iter().filter(|path| !listed.contains(path) && !apart(path)).collect();
        assert!(
            idle.is_empty() && missing.is_empty(),
            "{}: the list has {idle:?} in vain, and lacks {missing:?}",
            recipe.begins
        );
    }
}

#[test]
fn an_item_begins_with_its_file() {
    let text =
        "- **One** thing:\n  1. `a/b.rs`: it, as `c.rs` has it\n  2. `d.rs`\n\n- **Two**\n  1. `e.rs`\n";
    let recipe = Recipe { begins: "- **One**", neighbour: &[], within: &[], apart: &[] };
    assert_eq!(listed(text, &recipe), ["a/b.rs", "d.rs"]);
}
