// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! An uncontended lock makes no system call; this is counted on the job's own thread.
//!
//! A job locks and unlocks a million times, and then once with a system call inside the section. If that call is not
//! counted, the counts are not trusted. After a switch to another thread and back, a job reads its thread's clock, so
//! each switch explains one lock with a system call.

use xtask::{Command, Tree};

use crate::row::{Held, Row};

/// The number of locks per rule, as in the program.
const LOCKS: u32 = 1_000_000;
/// The locking rules: the name in the output of the program, and the name in the bar.
const RULES: [(&str, &str); 4] =
    [("Srp", "SRP"), ("Dfp", "DFP"), ("Immediate", "immediate ceilings"), ("Original", "original ceilings")];

/// A row for each rule.
pub(super) fn measure(tree: &Tree) -> Vec<Row> {
    let said = counted(tree);
    let row = |(rule, name): (&str, &str)| {
        let one = said.as_ref().map_err(Clone::clone).and_then(|said| beyond_switches(said, rule));
        let name = format!("locks of {name} that make a system call without a switch, of {LOCKS}");
        Row::at_most(name, 0.0, "", Held::Max, one.map(|count| vec![f64::from(count)]))
    };
    RULES.into_iter().map(row).collect()
}

fn counted(tree: &Tree) -> Result<String, String> {
    let run = Command::line("cargo bench --quiet --locked -p taut-exec --bench exec -- calls")
        .dir(tree.root())
        .run();
    if run.success() { Ok(run.text) } else { Err(format!("the program {}: {}", run.reason(), run.text)) }
}

/// The number of locks of a rule with a system call that no switch explains.
///
/// # Errors
/// If the program did not count the rule, or not the call inside the section.
fn beyond_switches(said: &str, rule: &str) -> Result<u32, String> {
    let head = format!("{LOCKS} {rule}: ");
    let line = said.lines().find_map(|line| line.strip_prefix(&head));
    let line = line.ok_or_else(|| format!("it does not say how many of {rule}: {said}"))?;
    let numbers: Vec<u32> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [locks, switches, inside, 1] = numbers[..] else { return Err(format!("it says `{line}`")) };
    if inside != 1 {
        return Err("no call was counted where a job makes one".into());
    }
    Ok(locks.saturating_sub(switches))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_no_switch_explains_is_one_too_many() {
        let said = |locks: u32, switches: u32, inside: u32| {
            format!(
                "{LOCKS} Dfp: {locks} with a call, {switches} switches; {inside} of 1 with a call inside\n"
            )
        };
        assert_eq!(beyond_switches(&said(0, 0, 1), "Dfp"), Ok(0));
        assert_eq!(beyond_switches(&said(3, 7, 1), "Dfp"), Ok(0));
        assert_eq!(beyond_switches(&said(8, 7, 1), "Dfp"), Ok(1));
        assert!(beyond_switches(&said(0, 0, 0), "Dfp").unwrap_err().contains("makes one"));
        assert!(beyond_switches(&said(0, 0, 1), "Srp").unwrap_err().contains("does not say"));
        let without = format!("{LOCKS} Dfp: nothing");
        assert!(beyond_switches(&without, "Dfp").unwrap_err().contains("it says"));
    }
}
