// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `dev/papers`: runs the experiments of the papers again, in release mode because they compute much. Existing rows
//! of han14 are kept, so that an interrupted run goes on. After a change of an analysis, remove `papers` in the
//! target folder first.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use crate::command::{Command, End};
use crate::tree::Tree;

/// The folder of recorded pages and figures.
const RECORD: &str = "docs/measured";

/// What is run.
#[derive(Clone, Debug, Args)]
pub(crate) struct Papers {
    /// Which paper: huang02 (space of state messages), han14 (mechanisms for shared resources), han14-overheads (what those cost in
    /// time) or gutierrez13 (what SRP and DFP cost); or `examples`, the surrogates of han14 as manifests
    #[arg(value_enum)]
    which: Which,
    /// Write pages and figures to docs/measured
    #[arg(long, conflicts_with = "out")]
    record: bool,
    /// Where pages and figures go [default: papers/WHICH in the target folder]
    #[arg(long)]
    out: Option<PathBuf>,
    /// han14: as many systems as the paper, and all depths
    #[arg(long)]
    long: bool,
    /// han14: only the rows of one part, as in 2/4
    #[arg(long)]
    shard: Option<String>,
    /// han14: only these figures, as in fig15,fig16; gutierrez13: only `appendix`
    #[arg(long)]
    only: Option<String>,
    /// han14: other systems
    #[arg(long)]
    seed: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Which {
    #[value(name = "huang02")]
    Space,
    #[value(name = "han14")]
    Mechanisms,
    #[value(name = "han14-overheads")]
    Overheads,
    #[value(name = "gutierrez13")]
    Locks,
    Examples,
}

/// Builds the programs and runs them, with their output on the terminal.
pub(crate) fn run(tree: &Tree, options: &Papers) -> ExitCode {
    // The experiments that sweep run the `taut` command.
    let with =
        if options.which == Which::Mechanisms { " -p taut-cli --features taut-cli/parquet" } else { "" };
    let build = format!("cargo build --release --locked -p taut-papers{with}");
    let build = Command::line(&build).dir(tree.root());
    if build.show() != End::Code(0) {
        return ExitCode::FAILURE;
    }
    let program = Command::new(tree.target().join("release/taut-papers")).args(options.arguments(tree));
    match program.dir(tree.root()).show() {
        End::Code(0) => ExitCode::SUCCESS,
        End::Code(2) => ExitCode::from(2),
        _ => ExitCode::FAILURE,
    }
}

impl Papers {
    fn arguments(&self, tree: &Tree) -> Vec<String> {
        let folder = |name: &str| tree.target().join("papers").join(name);
        let out = |name: &str| match &self.out {
            Some(out) => out.clone(),
            None if self.record => tree.join(RECORD),
            None => folder(name),
        };
        let mut arguments: Vec<String> = Vec::new();
        let mut path =
            |name: &str, path: PathBuf| arguments.extend([name.to_owned(), path.display().to_string()]);
        match self.which {
            Which::Space => path("--out", out("huang02")),
            Which::Overheads => path("--out", out("han14-overheads")),
            Which::Locks => {
                path("--out", out("gutierrez13"));
                arguments.extend(self.only.iter().flat_map(|only| ["--only".to_owned(), only.clone()]));
            }
            Which::Examples => path("--root", tree.root().to_owned()),
            Which::Mechanisms => {
                let rows = if self.long { "han14-long-rows" } else { "han14-rows" };
                path("--out", out("han14"));
                path("--rows", folder(rows));
                path("--taut", tree.target().join("release/taut"));
                let seed = self.seed.map(|seed| seed.to_string());
                for (name, value) in [("--shard", &self.shard), ("--only", &self.only), ("--seed", &seed)] {
                    arguments.extend(value.iter().flat_map(|value| [name.to_owned(), value.clone()]));
                }
                arguments.extend(self.long.then(|| "--long".to_owned()));
            }
        }
        let name = self.which.to_possible_value().map(|value| value.get_name().to_owned());
        name.into_iter().chain(arguments).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_passed_on() {
        let tree = Tree::here().unwrap();
        let mut options = Papers {
            which: Which::Mechanisms,
            record: true,
            out: None,
            long: true,
            shard: Some("2/4".into()),
            only: None,
            seed: Some(7),
        };
        let said = options.arguments(&tree).join(" ");
        assert!(said.starts_with("han14 --out ") && said.contains("docs/measured --rows "), "{said}");
        assert!(said.contains("han14-long-rows") && said.ends_with("--shard 2/4 --seed 7 --long"), "{said}");
        options.which = Which::Locks;
        let said = options.arguments(&tree).join(" ");
        assert!(said.starts_with("gutierrez13 --out ") && said.ends_with("docs/measured"), "{said}");
        options.only = Some("appendix".into());
        assert!(options.arguments(&tree).join(" ").ends_with("docs/measured --only appendix"));
        options.which = Which::Overheads;
        assert_eq!(options.arguments(&tree)[..2], ["han14-overheads", "--out"]);
        options.which = Which::Examples;
        assert_eq!(options.arguments(&tree)[..2], ["examples", "--root"]);
    }
}
