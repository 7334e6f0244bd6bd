// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! That a lock which nobody else wants makes no system call, counted by `strace`.
//!
//! A job looks at its thread's clock, which is a system call that nothing else makes, locks and unlocks a million times, and
//! looks again. Between two more looks it makes a call inside of a lock: where none is counted there, the trace is not
//! believed.

use std::fs;

use super::row::{Held, Row};
use crate::command::Command;
use crate::toolchain;
use crate::tree::Tree;

/// Locks between two looks, as the program has it.
const LOCKS: u32 = 1_000_000;
/// What the program runs, in this order.
const RULES: [&str; 4] = ["SRP", "DFP", "immediate ceilings", "original ceilings"];
/// What a look at the thread's clock is in a trace.
const LOOK: &str = "clock_gettime(CLOCK_THREAD_CPUTIME_ID";

/// A row for each rule.
pub(super) fn measure(tree: &Tree) -> Vec<Row> {
    let counted = traced(tree).and_then(|trace| counts(&trace));
    let row = |(at, rule): (usize, &&str)| {
        let one = counted.as_ref().map(|counts| vec![f64::from(counts[at])]).map_err(Clone::clone);
        Row::at_most(format!("system calls in {LOCKS} locks of {rule}"), 0.0, "", Held::Max, one)
    };
    RULES.iter().enumerate().map(row).collect()
}

fn traced(tree: &Tree) -> Result<String, String> {
    toolchain::STRACE.ensure()?;
    let folder = tree.target().join("bars");
    let path = folder.join("calls.trace");
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    fs::create_dir_all(&folder).map_err(|error| told(&error))?;
    // What cargo starts is run by it.
    let host = toolchain::host()?.to_uppercase().replace('-', "_");
    let runner = format!("strace -f -o {}", path.display());
    let run = Command::line("cargo bench --quiet --locked -p taut-exec --bench exec -- calls")
        .env(&format!("CARGO_TARGET_{host}_RUNNER"), runner)
        .dir(tree.root())
        .run();
    if !run.success() {
        return Err(format!("the program that is traced {}: {}", run.reason(), run.text));
    }
    fs::read_to_string(&path).map_err(|error| told(&error))
}

/// Of each rule, the calls between the first two looks.
fn counts(trace: &str) -> Result<Vec<u32>, String> {
    // Of each thread that looks, how many looks so far, and the calls since.
    let mut threads: Vec<(&str, u32, u32)> = Vec::new();
    let mut spans = Vec::new();
    for line in trace.lines() {
        let Some((thread, call)) = line.split_once(char::is_whitespace) else { continue };
        let known = threads.iter_mut().find(|(known, ..)| *known == thread);
        // The second line of a call that others came in between of.
        if call.trim_start().starts_with("<... ") {
            continue;
        }
        let looks = call.trim_start().starts_with(LOOK);
        match known {
            Some((_, count, calls)) if looks => {
                *count += 1;
                if *count % 2 == 0 {
                    spans.push(*calls);
                }
                *calls = 0;
            }
            Some((_, _, calls)) => *calls += 1,
            None if looks => threads.push((thread, 1, 0)),
            None => {}
        }
    }
    if spans.len() != 2 * RULES.len() {
        return Err(format!("{} spans in the trace, and {} were made", spans.len(), 2 * RULES.len()));
    }
    if spans.chunks(2).any(|pair| pair[1] == 0) {
        return Err("no call was counted where a job makes one".into());
    }
    Ok(spans.chunks(2).map(|pair| pair[0]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule's part of a trace.
    fn part(thread: u32, between: &str, made: &str) -> String {
        let look = format!("{thread} {LOOK}, {{tv_sec=0, tv_nsec=1}}) = 0\n");
        let before = format!("{thread} futex(0x1, FUTEX_WAIT) = 0\n9 write(1, \"x\", 1) = 1\n");
        format!("{before}{look}9 futex(0x2) = 0\n{between}{look}{look}{made}{look}{thread} exit(0) = ?\n")
    }

    #[test]
    fn calls_of_the_thread_between_looks() {
        let call = "77 sched_getaffinity(0, 128, [0]) = 8\n";
        let whole = |between: &str, made: &str| part(77, between, made).repeat(RULES.len());
        assert_eq!(counts(&whole("", call)), Ok(vec![0; 4]));
        assert_eq!(counts(&whole(call, call)), Ok(vec![1; 4]));
        assert!(counts(&whole("", "")).unwrap_err().contains("makes one"));
        assert!(counts(&part(77, "", call)).unwrap_err().contains("2 spans"));
    }
}
