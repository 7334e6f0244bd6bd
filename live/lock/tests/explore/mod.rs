// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every execution of a run, by loom, on memory that several parties use.
#![allow(dead_code, reason = "each test binary uses its part of this module")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use taut_lock::{LINE_BYTES, Line, Memory};

/// The time limit of an exploration. Executions that are not explored by then are left out, and the printed line
/// says so.
const LIMIT: Duration = Duration::from_secs(60);

/// Explores `run` on fresh memory of `bytes`, up to `preemptions` preemptions, and prints the number of executions.
pub(crate) fn explore(
    name: &str,
    preemptions: Option<usize>,
    bytes: usize,
    run: impl Fn(Memory<'static>) + Send + Sync + 'static,
) {
    let executions = Arc::new(AtomicUsize::new(0));
    let counted = executions.clone();
    let mut model = loom::model::Builder::new();
    model.preemption_bound = preemptions;
    model.max_duration = Some(LIMIT);
    // Loom checks the time after this number of executions.
    model.checkpoint_interval = 1000;
    let begin = Instant::now();
    model.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        let lines = (0..bytes.div_ceil(LINE_BYTES)).map(|_| Line::new());
        let lines = Box::into_raw(lines.collect::<Box<[Line]>>());
        // SAFETY: the lines were just allocated, and nothing else uses them.
        run(Memory::new(unsafe { &mut *lines }));
        // SAFETY: the pointer is from `into_raw`; `run` has joined its threads and dropped its parties.
        drop(unsafe { Box::from_raw(lines) });
    });
    let (executions, time) = (executions.load(Ordering::Relaxed), begin.elapsed());
    let all = if time < LIMIT { "all" } else { "STOPPED after" };
    println!("{name}: {all} {executions} executions, preemption bound {preemptions:?}, {time:.1?}");
    assert!(executions > 3, "{name} was not explored");
}

/// A test of a wrong design, in which loom must find the fault. It runs this test binary's `test` again in a
/// process of its own, because loom ends the process in which it finds a deadlock.
pub(crate) fn canary(test: &str, run: impl Fn() + Send + Sync + 'static) {
    const CANARY: &str = "TAUT_LOCK_TEST_CANARY";
    if std::env::var_os(CANARY).is_some() {
        return loom::model(run);
    }
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    let reported = again.args([test, "--exact", "--test-threads=1"]).env(CANARY, "1").output().unwrap();
    let said =
        format!("{}{}", String::from_utf8_lossy(&reported.stdout), String::from_utf8_lossy(&reported.stderr));
    assert!(said.contains("running 1 test"), "no such test: {test}");
    assert!(!reported.status.success(), "{test}: nothing was found");
}
