// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! MAST: its bounds of an exported system equal those of the plan.

use std::process::Command;

use taut_analysis::Verdict;
use taut_analysis::uni::fp::local_locks;
use taut_exchange::{ExportOptions, Target};

use crate::draw::{Requirements, manifest};
use crate::{exported, program, ran, system};

const SEEDS: u64 = 12;

/// Blocking is exact in both: the ceiling protocol, on one core.
#[test]
#[ignore = "needs MAST: `cargo xtask exchange`"]
fn mast_finds_the_same_bounds() {
    let mast = program("TAUT_MAST");
    let folder = tempfile::tempdir().unwrap();
    let (mut count, mut systems) = (0, 0);
    for seed in 0..4 * SEEDS {
        let resources = seed % 2 == 0;
        let requirements = Requirements {
            edf: false,
            cores: 1,
            offsets: false,
            constrained: seed % 4 < 2,
            resources,
            percent: 70,
        };
        let system = system(&manifest(requirements, seed));
        let (text, result) = (folder.path().join("set.txt"), folder.path().join("result.txt"));
        exported(&system, &ExportOptions::new(Target::Mast), &text);
        let reported = ran(Command::new(&mast)
            .args(["classic_rm", "-v"])
            .args([&text, &result])
            .current_dir(folder.path()));
        let done = ["DONE", "NOT-SCHEDULABLE"]
            .iter()
            .any(|end| reported.contains(&format!("Final analysis status: {end}")));
        assert!(done, "{seed}: {reported}");
        let ours = local_locks::responses(&system.set, 0).unwrap();
        let found = responses(&std::fs::read_to_string(&result).unwrap());
        systems += 1;
        for (task, ours) in system.set.tasks().iter().zip(ours) {
            let name = task.name.replace('-', "_");
            let theirs = found.iter().find(|(event, _)| *event == format!("{name}_is_done"));
            let theirs = theirs.unwrap_or_else(|| panic!("{seed}: {name}")).1;
            let Verdict::Schedulable(ours) = ours.verdict else { continue };
            // A whole number of microseconds, like everything that was drawn.
            assert_eq!(ours.from_arrival.as_ns() as f64, theirs * 1_000.0, "{seed}: {name}");
            count += 1;
        }
    }
    println!("{systems} systems, {count} bounds: the same");
    assert!(count > 100, "{count}");
}

/// The events with their worst response times, in us.
fn responses(text: &str) -> Vec<(String, f64)> {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let word = |text: &str| text.split([' ', ',', ')']).next().unwrap_or_default().to_owned();
    let of = |part: &str| {
        let value = part.split_once("Worst_Global_Response_Times")?.1.split_once("Time_Value => ")?.1;
        Some((word(part), word(value).parse().ok()?))
    };
    flat.split("Event_Name => ").skip(1).filter_map(of).collect()
}
