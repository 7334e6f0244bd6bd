// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! SimSo: every job of every task has the same response time as in our simulator.

use std::path::Path;
use std::process::Command;

use taut_exchange::{ExportOptions, Target};
use taut_time::Duration;

use crate::draw::{Requirements, manifest};
use crate::{Job, exported, program, ran, simulated, system};

/// How many systems of each kind.
const SEEDS: u64 = 6;
const RUN: Duration = Duration::from_ms(400);

#[test]
#[ignore = "needs SimSo: `cargo xtask exchange`"]
fn simso_runs_the_same_jobs() {
    let python = program("TAUT_SIMSO_PYTHON");
    let folder = tempfile::tempdir().unwrap();
    let mut systems = Vec::new();
    for (kind, (edf, cores, offsets, constrained)) in [
        (false, 1, false, false),
        (false, 1, true, true),
        (false, 2, true, false),
        (true, 1, false, false),
        (true, 1, true, true),
        (true, 2, true, true),
    ]
    .into_iter()
    .enumerate()
    {
        for seed in 0..SEEDS {
            let requirements =
                Requirements { edf, cores, offsets, constrained, resources: false, percent: 90 };
            let seed = 100 * u64::try_from(kind).unwrap() + seed;
            systems.push((format!("{requirements:?} {seed}"), system(&manifest(requirements, seed))));
        }
    }
    let mut files = Vec::new();
    for (at, (_, system)) in systems.iter().enumerate() {
        for core in 0..system.set.cores().len() {
            let path = folder.path().join(format!("{at}-{core}.xml"));
            let options =
                ExportOptions { core: Some(core), duration: Some(RUN), ..ExportOptions::new(Target::SimSo) };
            exported(system, &options, &path);
            files.push((at, core, path));
        }
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/others/run_simso.py");
    ran(Command::new(python).arg(script).args(files.iter().map(|(.., path)| path)));
    let mut count = 0;
    for (at, core, path) in files {
        let (shown, system) = &systems[at];
        let text = std::fs::read_to_string(path.with_extension("xml.jobs")).unwrap();
        let jobs: Vec<(String, u64, u64)> = serde_json::from_str(&text).unwrap();
        let ours = simulated(&system.set, RUN);
        for task in system.set.on_core(core) {
            let name = &system.set.tasks()[task].name;
            let theirs = jobs.iter().filter(|(of, ..)| of == name);
            let theirs: Vec<Job> =
                theirs.map(|(_, arrival, end)| Job { arrival: *arrival, response: end - arrival }).collect();
            // SimSo does not report jobs that have not ended at the end of the run.
            let all = theirs.len() + 2 >= ours[task].len() && theirs.len() <= ours[task].len();
            assert!(all && !theirs.is_empty(), "{shown}: {name}: {} of {}", theirs.len(), ours[task].len());
            assert_eq!(ours[task][..theirs.len()], theirs, "{shown}: {name}");
            count += theirs.len();
        }
    }
    println!("{} systems, {count} jobs: every response is the same to the nanosecond", systems.len());
    assert!(count > 1_000, "{count}");
}
