// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every code has a page; its wrong example yields exactly its code, as the snapshot shows it, and its right example
//! yields nothing at all.

use taut_manifest::{LoadedManifest, SourceText, explain, load, render};
use taut_model::{Code, codes};

/// Codes that the analysis or the plan reports, or that need more entries than a page can show.
const WITHOUT_EXAMPLE: [Code; 17] = [
    codes::DEADLINE_MISSED,
    codes::CORE_OVERLOADED,
    codes::CHAIN_TOO_SLOW,
    codes::NOT_SHOWN,
    codes::MEMORY_EXCEEDED,
    codes::LOCKING_MISFIT,
    codes::NESTED_GLOBAL,
    codes::SERVER_LATE,
    codes::GUESSED,
    codes::TOO_MANY,
    codes::CORE_FULL,
    codes::DEVICES_EXCEEDED,
    codes::LOCK_STALE,
    codes::LOCK_EDITED,
    codes::NOT_ADMITTED,
    codes::SET_UP_EXCEEDED,
    codes::NOT_CARRIED_OVER,
];

fn block(page: &str, kind: &str) -> Option<String> {
    let (_, rest) = page.split_once(&format!("```toml {kind}\n"))?;
    Some(rest.split_once("```")?.0.to_owned())
}

fn example(page: &str, kind: &str) -> Option<(LoadedManifest, Vec<SourceText>)> {
    let manifest = SourceText { name: "taut.toml".into(), text: block(page, kind)? };
    let overlay =
        block(page, &format!("{kind}-overlay")).map(|text| SourceText { name: "board.toml".into(), text });
    let overlays = overlay.into_iter().collect::<Vec<_>>();
    let loaded = load(&manifest, &overlays);
    Some((loaded, std::iter::once(manifest).chain(overlays).collect()))
}

#[test]
fn pages_tell_the_truth() {
    let mut untrue = String::new();
    for (code, title) in codes::ALL {
        let page = explain(*code).unwrap_or_else(|| panic!("{code} has no page"));
        assert!(page.starts_with(&format!("# {code}: {title}\n")), "{code}");
        if WITHOUT_EXAMPLE.contains(code) {
            assert!(block(page, "wrong").is_none(), "{code}: check its example");
            continue;
        }
        let (wrong, sources) = example(page, "wrong").unwrap();
        let shown = render(&wrong.diagnostics, &sources.iter().collect::<Vec<_>>(), false, 100);
        let found = wrong.diagnostics.iter().map(|d| d.code).collect::<Vec<_>>();
        if found != [*code] {
            untrue.push_str(&format!("{code} wrong\n{shown}"));
        }
        insta::assert_snapshot!(code.to_string(), shown);

        let (right, sources) = example(page, "right").unwrap();
        let shown = render(&right.diagnostics, &sources.iter().collect::<Vec<_>>(), false, 100);
        if !right.diagnostics.is_empty() || right.model.is_none() {
            untrue.push_str(&format!("{code} right\n{shown}"));
        }
    }
    assert!(untrue.is_empty(), "{untrue}");
}

#[test]
fn no_page_without_a_code() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let number = name.strip_prefix("TAUT").and_then(|n| n.strip_suffix(".md")).unwrap();
        assert!(codes::title(Code(number.parse().unwrap())).is_some(), "{name}");
    }
}
