// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every execution of a run, by loom.
#![allow(dead_code, reason = "each test binary uses its part of this module")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use taut_share::{LINE_BYTES, Line, Memory};

/// The longest time of an exploration; a few seconds are usual. An exploration that takes longer stops, and the
/// printed line says so.
const LIMIT: Duration = Duration::from_secs(120);

/// Explores `run` up to `preemptions` preemptions, and prints the number of executions.
pub(crate) fn explore(name: &str, preemptions: Option<usize>, run: impl Fn() + Send + Sync + 'static) {
    let executions = Arc::new(AtomicUsize::new(0));
    let counted = executions.clone();
    let mut model = loom::model::Builder::new();
    model.preemption_bound = preemptions;
    model.max_duration = Some(LIMIT);
    // Checks the time after this many executions.
    model.checkpoint_interval = 1000;
    let begin = Instant::now();
    model.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        run();
    });
    let (executions, time) = (executions.load(Ordering::Relaxed), begin.elapsed());
    let all = if time < LIMIT { "all" } else { "STOPPED after" };
    println!("{name}: {all} {executions} executions, preemption bound {preemptions:?}, {time:.1?}");
    assert!(executions > 10, "{name} was not explored");
}

/// The same for a `run` on fresh memory of `bytes`.
pub(crate) fn explore_on(
    bytes: usize,
    name: &str,
    preemptions: Option<usize>,
    run: impl Fn(Memory<'static>) + Send + Sync + 'static,
) {
    explore(name, preemptions, move || {
        let lines = (0..bytes.div_ceil(LINE_BYTES)).map(|_| Line::new());
        let lines = Box::into_raw(lines.collect::<Box<[Line]>>());
        // SAFETY: just allocated, and nothing else uses it.
        run(Memory::new(unsafe { &mut *lines }));
        // SAFETY: from `into_raw`; `run` has joined its threads and dropped its ends.
        drop(unsafe { Box::from_raw(lines) });
    });
}
