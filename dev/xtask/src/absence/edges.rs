// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Compares the dependencies between crates with the picture in ARCHITECTURE.md.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::command::Command;
use crate::tree::{Finding, Tree};

/// The folder of a crate, our crates that it may use, and the external crates that it may use outside of tests.
///
/// With `others: None`, any external crate is allowed, and `ours` lists crates that are permitted but not required. The
/// crates of `edge/`, which face people and other languages, have such lines, and so have `apps/` and `dev/`.
pub(super) struct CrateEntry {
    pub(super) folder: &'static str,
    pub(super) ours: &'static [&'static str],
    pub(super) others: Option<&'static [&'static str]>,
}

const fn entry(
    folder: &'static str,
    ours: &'static [&'static str],
    others: &'static [&'static str],
) -> CrateEntry {
    CrateEntry { folder, ours, others: Some(others) }
}

const fn edge(folder: &'static str, ours: &'static [&'static str]) -> CrateEntry {
    CrateEntry { folder, ours, others: None }
}

/// The picture, as data. A crate without a line is a finding.
pub(super) const CRATES: &[CrateEntry] = &[
    entry("pure/time", &[], &["serde"]),
    entry("pure/event", &["time"], &[]),
    entry("pure/policy", &["time"], &["serde"]),
    entry("pure/model", &["time", "policy"], &["strsim"]),
    entry("pure/manifest", &["time", "model"], &["toml", "annotate-snippets", "serde_json"]),
    entry("pure/generate", &["model", "manifest"], &[]),
    entry("pure/analysis", &["time", "model"], &["microlp"]),
    entry("pure/plan", &["time", "policy"], &["serde", "toml", "hmac-sha256"]),
    entry("pure/sim", &["time", "event", "model", "policy", "plan"], &[]),
    entry("pure/planner", &["time", "model", "analysis", "plan"], &[]),
    entry(
        "pure/report",
        &["time", "event", "model", "plan", "sim"],
        &["hdrhistogram", "serde", "serde_json"],
    ),
    entry("pure/exchange", &["time", "model"], &["roxmltree"]),
    entry("pure/sweep", &["time", "model", "analysis", "planner"], &["toml"]),
    entry("live/atomic", &[], &["loom", "portable-atomic", "shuttle"]),
    entry("live/share", &["atomic"], &["zerocopy"]),
    entry("live/sys", &[], &["libc"]),
    entry("live/segment", &["share", "sys"], &[]),
    entry("live/gauge", &["sys"], &[]),
    entry("live/scope", &[], &[]),
    entry("live/lock", &["atomic", "share", "sys"], &[]),
    entry("live/trace", &["time", "event", "atomic", "share"], &[]),
    entry("live/exec", &["time", "event", "policy", "sys", "lock", "trace"], &[]),
    entry("live/boot", &["plan", "sys", "segment", "share", "scope"], &[]),
    entry(
        "live/run",
        &[
            "time", "event", "policy", "plan", "sys", "segment", "lock", "exec", "share", "scope", "trace",
            "boot",
        ],
        &["zerocopy"],
    ),
    edge("edge/macros", &["manifest", "generate"]),
    edge("edge/taut", &["time", "event", "plan", "report", "segment", "scope", "boot", "run", "macros"]),
    edge(
        "edge/cli",
        &[
            "time", "event", "model", "manifest", "generate", "plan", "planner", "analysis", "sim", "report",
            "exchange", "sweep", "sys", "gauge", "segment", "boot",
        ],
    ),
    edge(
        "edge/py",
        &["time", "model", "manifest", "plan", "planner", "analysis", "sim", "exchange", "sweep"],
    ),
    edge("apps/cochlear", &["taut"]),
    edge("apps/drive", &["taut"]),
    edge("apps/uav", &["taut"]),
    edge("dev/hazards", &["time", "event", "model", "manifest", "plan", "planner", "sys", "lock", "exec"]),
    edge("dev/applications", &["time", "event", "manifest", "plan", "planner", "report", "boot", "run"]),
    edge("dev/device", &["taut"]),
    edge("dev/jitter", &["taut"]),
    edge("dev/oracle", &["time", "event", "model", "analysis", "sim", "sys", "gauge", "lock", "exec"]),
    edge(
        "dev/papers",
        &[
            "time", "event", "model", "manifest", "policy", "analysis", "plan", "sim", "planner", "report",
            "sweep", "atomic", "share", "sys", "lock", "exec",
        ],
    ),
    edge(PEERS, &["time", "policy", "share", "sys", "lock", "exec"]),
    edge("dev/storm", &["taut", "sys"]),
    edge("dev/xtask", &[]),
    edge("dev/bars", &["event", "sys", "xtask"]),
];

/// A separate workspace: the libraries that it measures have many dependencies that nothing else here needs.
pub(crate) const PEERS: &str = "dev/peers";

/// The crates of `pure/` that `live/` may use: the plan goes there, events come back, and time is on both sides. The
/// dispatcher uses the policies that were analysed and simulated.
pub(super) const KNOWN_ON_BOTH_SIDES: &[&str] = &["time", "event", "policy", "plan"];

/// A dependency as Cargo sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// Folder of the dependent package, such as `pure/time`.
    pub(crate) from: String,
    /// The package that it depends on.
    pub(crate) to: String,
    /// Folder of that package if the package is ours.
    pub(crate) to_folder: Option<String>,
    /// Whether only tests, examples and benches need it.
    pub(crate) development: bool,
}

/// The packages of both workspaces by folder, and all dependencies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    /// Folder to package name.
    pub(crate) packages: BTreeMap<String, String>,
    /// All dependencies.
    pub(crate) edges: Vec<Edge>,
}

impl Graph {
    /// Asks Cargo for the metadata of the workspace and of the workspace of the peers. Needs no network.
    ///
    /// # Errors
    /// If `cargo metadata` fails or its output is not JSON.
    pub(crate) fn read(tree: &Tree) -> Result<Self, String> {
        let mut whole = Self::default();
        for folder in [".", PEERS] {
            let ask = Command::line("cargo metadata --no-deps --format-version 1 --offline --manifest-path");
            let output = ask.args([format!("{folder}/Cargo.toml")]).dir(tree.root()).run();
            if !output.success() {
                return Err(format!("cargo metadata {}: {}", output.reason(), output.text));
            }
            let metadata =
                serde_json::from_str(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
            let graph = Self::of(&metadata, &tree.root().to_string_lossy());
            whole.packages.extend(graph.packages);
            whole.edges.extend(graph.edges);
        }
        Ok(whole)
    }

    fn of(metadata: &Value, root: &str) -> Self {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let folder = |path: &str| path.strip_prefix(root).map(|path| path.trim_matches('/').to_owned());
        let mut graph = Self::default();
        for package in list(&metadata["packages"]) {
            let manifest = text(&package["manifest_path"]);
            let Some(from) = folder(manifest.trim_end_matches("/Cargo.toml")) else { continue };
            for dependency in list(&package["dependencies"]) {
                graph.edges.push(Edge {
                    from: from.clone(),
                    to: text(&dependency["name"]),
                    to_folder: dependency["path"].as_str().and_then(folder),
                    development: dependency["kind"] == "dev",
                });
            }
            graph.packages.insert(from, text(&package["name"]));
        }
        graph
    }
}

fn part(folder: &str) -> &str {
    folder.split('/').next().unwrap_or_default()
}

fn noun(folder: &str) -> &str {
    folder.rsplit('/').next().unwrap_or_default()
}

fn manifest_of(folder: &str) -> String {
    format!("{folder}/Cargo.toml")
}

/// Rule `edges`: the picture has every crate and every dependency outside of tests. In `pure/` and `live/`, the crates
/// must also have every dependency of the picture, so that the picture permits no more than the crates need.
pub(super) fn edges(graph: &Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    for folder in graph.packages.keys().filter(|folder| CRATES.iter().all(|entry| entry.folder != **folder)) {
        let message = "the picture lacks this crate: add its line to CRATES in dev/xtask/src/absence/edges.rs \
                       and to ARCHITECTURE.md";
        findings.push(Finding::at(&manifest_of(folder), 0, message));
    }
    for edge in graph.edges.iter().filter(|edge| !edge.development) {
        let Some(entry) = CRATES.iter().find(|entry| entry.folder == edge.from) else { continue };
        let drawn = match (&edge.to_folder, entry.others) {
            (Some(folder), _) => entry.ours.contains(&noun(folder)),
            (None, Some(others)) => others.contains(&edge.to.as_str()),
            (None, None) => true,
        };
        if !drawn {
            let message = format!("depends on `{}`, but the picture does not draw that dependency", edge.to);
            findings.push(Finding::at(&manifest_of(&edge.from), 0, message));
        }
    }
    for entry in CRATES.iter().filter(|entry| graph.packages.contains_key(entry.folder)) {
        let Some(others) = entry.others else { continue };
        let edges = || graph.edges.iter().filter(|edge| edge.from == entry.folder && !edge.development);
        let ours = entry
            .ours
            .iter()
            .filter(|to| !edges().any(|edge| edge.to_folder.as_deref().map(noun) == Some(**to)));
        let others = others.iter().filter(|to| !edges().any(|edge| edge.to == **to));
        for absent in ours.chain(others) {
            let message = format!(
                "the picture draws `{absent}`, but this crate does not depend on it: remove it from CRATES"
            );
            findings.push(Finding::at(&manifest_of(entry.folder), 0, message));
        }
    }
    findings
}

/// Rule `sides`: `pure/` uses only `pure/`, tests included. `live/` uses only `live/` and, of `pure/`, the crates in
/// [`KNOWN_ON_BOTH_SIDES`]; its tests may use all of `pure/`.
pub(super) fn sides(graph: &Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    for edge in &graph.edges {
        let Some(to) = &edge.to_folder else { continue };
        let wrong = match (part(&edge.from), part(to)) {
            ("pure", "pure") | ("live", "live") => false,
            ("pure", _) => true,
            ("live", "pure") => !edge.development && !KNOWN_ON_BOTH_SIDES.contains(&noun(to)),
            ("live", _) => true,
            _ => false,
        };
        if wrong {
            let message = format!(
                "depends on `{}`: pure/ uses pure/ alone, live/ uses live/ and the crates in \
                 KNOWN_ON_BOTH_SIDES",
                edge.to
            );
            findings.push(Finding::at(&manifest_of(&edge.from), 0, message));
        }
    }
    findings
}

/// Rule `apps`: no crate of `pure/`, `live/` or `edge/` uses a crate of `edge/`, `apps/` or `dev/`. Of our crates, an
/// app uses only `taut`, which exports the macro of `edge/macros`; its tests may use `pure/` to read what the app recorded.
pub(super) fn apps(graph: &Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    for edge in &graph.edges {
        let Some(to) = &edge.to_folder else { continue };
        let message = match (part(&edge.from), part(to)) {
            ("apps", "pure") if edge.development => continue,
            // The macro that `taut` exports: Rust wants it in a crate of its own.
            ("edge", _) if edge.from == "edge/taut" && to == "edge/macros" => continue,
            ("apps", _) if to != "edge/taut" => format!("an app uses `taut` alone, not `{}`", edge.to),
            ("pure" | "live" | "edge", "edge" | "apps" | "dev") => {
                format!(
                    "depends on `{}`: no crate of pure/, live/ or edge/ may use edge/, apps/ or dev/",
                    edge.to
                )
            }
            _ => continue,
        };
        findings.push(Finding::at(&manifest_of(&edge.from), 0, message));
    }
    findings
}

/// Crates that give access to Linux.
const LINUX: &[&str] = &["libc", "rustix", "nix", "linux-raw-sys", "syscalls", "core_affinity", "memmap2"];

/// Rule `linux`: shipped code calls Linux only through `live/sys`. Tests that fork and kill may use `libc`, and so
/// may the peers, some of which are mechanisms of Linux itself.
pub(super) fn linux(graph: &Graph) -> Vec<Finding> {
    let calls = |edge: &&Edge| LINUX.contains(&edge.to.as_str()) && !edge.development;
    let elsewhere =
        graph.edges.iter().filter(calls).filter(|edge| !["live/sys", PEERS].contains(&&*edge.from));
    let finding = |edge: &Edge| {
        let message = format!("depends on `{}`: live/sys is the only crate that calls Linux", edge.to);
        Finding::at(&manifest_of(&edge.from), 0, message)
    };
    elsewhere.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn graph(edges: &[(&str, &str, bool)]) -> Graph {
        let mut packages: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for (from, to, development) in edges {
            let kind = if *development { json!("dev") } else { Value::Null };
            let path = to.contains('/').then(|| format!("/root/{to}"));
            let dependency = json!({ "name": to, "kind": kind, "path": path });
            packages.entry(from).or_default().push(dependency);
        }
        let packages: Vec<_> = packages
            .into_iter()
            .map(|(folder, dependencies)| {
                let manifest = format!("/root/{folder}/Cargo.toml");
                json!({ "name": folder, "manifest_path": manifest, "dependencies": dependencies })
            })
            .collect();
        Graph::of(&json!({ "packages": packages }), "/root")
    }

    fn messages(findings: Vec<Finding>) -> Vec<String> {
        findings.into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn the_picture_itself_obeys_the_rules() {
        for entry in CRATES {
            let all: Vec<_> = CRATES.iter().filter(|to| entry.ours.contains(&noun(to.folder))).collect();
            assert_eq!(all.len(), entry.ours.len(), "{} names a crate that is not drawn", entry.folder);
            let edges: Vec<_> = all.iter().map(|to| (entry.folder, to.folder, false)).collect();
            let graph = graph(&edges);
            assert_eq!(messages(sides(&graph)), [""; 0], "{}", entry.folder);
            assert_eq!(messages(apps(&graph)), [""; 0], "{}", entry.folder);
        }
    }

    #[test]
    fn the_picture_has_no_cycle() {
        for (at, entry) in CRATES.iter().enumerate() {
            // Each crate uses only crates on the lines above it.
            for used in entry.ours {
                let to = CRATES.iter().position(|other| noun(other.folder) == *used).unwrap();
                assert!(to < at, "{} is drawn above {used}, which it uses", entry.folder);
            }
        }
    }

    #[test]
    fn undrawn_dependencies_are_found() {
        let graph = graph(&[
            ("pure/time", "pure/model", false),
            ("pure/time", "serde", false),
            ("pure/analysis", "rand", false),
            ("pure/analysis", "pure/time", false),
            ("pure/analysis", "pure/model", true),
            ("pure/analysis", "microlp", false),
            ("pure/analysis", "proptest", true),
            ("pure/new", "serde", false),
        ]);
        let found = messages(edges(&graph));
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[0].starts_with("pure/new/Cargo.toml: the picture lacks this crate"));
        assert!(found[1].starts_with("pure/analysis/Cargo.toml: depends on `rand`"));
        assert!(found[2].starts_with("pure/time/Cargo.toml: depends on `pure/model`"));
        assert!(found[3].starts_with("pure/analysis/Cargo.toml: the picture draws `model`"));
    }

    #[test]
    fn sides_do_not_meet() {
        let found = sides(&graph(&[
            ("pure/plan", "live/sys", true),
            ("live/boot", "pure/manifest", false),
            ("live/boot", "pure/plan", false),
            ("live/run", "pure/manifest", true),
            ("live/run", "edge/taut", true),
        ]));
        let paths: Vec<_> = found.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!(paths, ["live/boot/Cargo.toml", "live/run/Cargo.toml", "pure/plan/Cargo.toml"]);
    }

    #[test]
    fn apps_stand_at_the_end() {
        let found = apps(&graph(&[
            ("apps/cochlear", "edge/taut", false),
            ("apps/cochlear", "live/run", true),
            ("apps/cochlear", "pure/report", true),
            ("edge/taut", "edge/cli", false),
            ("dev/xtask", "edge/taut", false),
        ]));
        let paths: Vec<_> = found.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!(paths, ["apps/cochlear/Cargo.toml", "edge/taut/Cargo.toml"]);
    }

    #[test]
    fn only_live_sys_calls_linux() {
        let found = linux(&graph(&[
            ("live/sys", "libc", false),
            ("live/share", "libc", true),
            ("live/segment", "libc", false),
            ("edge/cli", "rustix", false),
            ("dev/peers", "libc", false),
        ]));
        let paths: Vec<_> = found.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!(paths, ["edge/cli/Cargo.toml", "live/segment/Cargo.toml"]);
    }
}
