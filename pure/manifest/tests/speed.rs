// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Loading is fast, and its time grows with the length of the text, not with its square.

use std::fmt::Write;
use std::time::{Duration, Instant};

use taut_manifest::{SourceText, load};

/// A manifest of `n` real-time tasks in a row, with a queue from each to the next, 20 to a core.
fn long(n: usize) -> SourceText {
    let cores = (0..n.div_ceil(20)).map(|core| core.to_string()).collect::<Vec<_>>().join(", ");
    let mut text = format!(
        "manifest = 1\n[app]\nname = \"long\"\n[platform]\ncores = [{cores}]\n[payloads]\nP = {{ type = \"f32\", len = 8 }}\n"
    );
    for i in 0..n {
        let (core, priority) = (i / 20, i % 20 + 1);
        let _ = writeln!(
            text,
            "[tasks.task-{i}]\narrival = {{ periodic = \"10ms\", offset = \"1ms\" }}\ndeadline = \"9ms\"\n\
             wcet = {{ value = \"100us\", source = \"measured\", margin = \"20%\" }}\ncore = {core}\npriority = {priority}\n\
             memory = {{ persistent = \"1KiB\", release = \"4KiB\" }}\non-overrun = \"run-on\""
        );
        let _ = writeln!(
            text,
            "[channels.channel-{i}]\nkind = \"queue\"\nfrom = \"task-{i}\"\nto = \"task-{}\"\npayload = \"P\"\ncapacity = \"auto\"",
            (i + 1) % n
        );
    }
    SourceText { name: "taut.toml".into(), text }
}

fn fastest(n: usize) -> Duration {
    let source = long(n);
    let runs = (0..5).map(|_| {
        let start = Instant::now();
        let loaded = load(&source, &[]);
        let took = start.elapsed();
        assert!(loaded.model.is_some(), "{:?}", loaded.diagnostics.first());
        took
    });
    runs.min().unwrap_or_default()
}

#[test]
fn grows_with_the_length() {
    let (few, many) = (fastest(200), fastest(1_600));
    println!("200 tasks and channels: {few:?}; 1600: {many:?}");
    // 8 times as long; quadratic time would be 64 times. The margin is for caches and a busy machine.
    assert!(many < few * 32, "200: {few:?}, 1600: {many:?}");
}

/// The limit for a release build on a busy machine; a debug build may take longer.
#[test]
fn a_hundred_tasks_take_a_few_milliseconds() {
    let took = fastest(100);
    println!("100 tasks and channels: {took:?}");
    let limit = Duration::from_millis(if cfg!(debug_assertions) { 200 } else { 10 });
    assert!(took < limit, "{took:?}");
}
