// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The outcome of a run according to its report, in one word.

use std::fmt;

use serde_json::Value;

/// The signal by which a process ends itself.
const SIGABRT: i32 = 6;

/// What a verdict names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Finding {
    /// Every bound was kept.
    Kept,
    /// Every bound was kept but for delays by the machine, which the probes saw.
    Machine,
    /// This signal asked for an orderly end, and every bound was kept.
    Asked(i32),
    /// This signal ended the process.
    Killed(i32),
    /// The process ended before its run did, with an exit code.
    Exited,
    /// The recording ends before the run does.
    CutShort,
    /// A task overran, and the manifest says that an overrun ends the run.
    Overrun,
    /// A job panicked.
    Panicked,
    /// A job did not end, and the runtime ended the application at that point.
    Stuck,
    /// A job slept while it held a resource.
    Slept,
    /// A real-time job used the heap.
    Allocated,
    /// All threads were stopped from outside.
    Stopped,
    /// A debugger was attached.
    Traced,
    /// Threads lost their priority or their CPU.
    Moved,
    /// A real-time thread of another process computed on a core.
    ForeignThread,
    /// A bound was broken, and the application is to blame.
    Ours,
    /// The records end without a stated reason.
    Unrecorded,
    /// There is no report.
    NoReport,
    /// The run did not end in its time.
    DidNotEnd,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self {
            Self::Asked(signal) => return write!(f, "asked-by-{signal}"),
            Self::Killed(signal) => return write!(f, "killed-by-{signal}"),
            Self::Kept => "kept",
            Self::Machine => "machine",
            Self::Exited => "exited",
            Self::CutShort => "cut-short",
            Self::Overrun => "overrun",
            Self::Panicked => "panicked",
            Self::Stuck => "stuck",
            Self::Slept => "slept",
            Self::Allocated => "allocated",
            Self::Stopped => "stopped",
            Self::Traced => "traced",
            Self::Moved => "moved",
            Self::ForeignThread => "foreign-thread",
            Self::Ours => "ours",
            Self::Unrecorded => "unrecorded",
            Self::NoReport => "no-report",
            Self::DidNotEnd => "did-not-end",
        };
        f.pad(word)
    }
}

impl Finding {
    /// The finding that `report.json` states.
    pub(crate) fn of(report: &Value) -> Self {
        let signal = report["signal"].as_i64().and_then(|number| i32::try_from(number).ok());
        let said = |list: &str, key: &str, words: &[&str]| {
            let items = report[list].as_array().map(Vec::as_slice).unwrap_or_default();
            items.iter().any(|item| item[key].as_str().is_some_and(|word| words.contains(&word)))
        };
        let named = |words: &[&str]| {
            said("breaches", "cause", words)
                || said("breaches", "breach", words)
                || said("warnings", "warning", words)
                || said("warnings", "what", words)
        };
        // A dispatched application ends itself when another process has interfered with its threads.
        let outside: [(Self, &[&str]); 4] = [
            (Self::Traced, &["traced"]),
            (Self::Moved, &["moved"]),
            (Self::Stopped, &["stopped"]),
            (Self::ForeignThread, &["foreign-thread"]),
        ];
        let by = outside.into_iter().find(|(_, words)| named(words)).map(|(cause, _)| cause);
        match (report["ending"].as_str(), by, signal) {
            (Some("killed"), Some(by @ (Self::Traced | Self::Moved | Self::Stopped)), Some(SIGABRT)) => {
                return by;
            }
            (Some("killed"), ..) => return signal.map_or(Self::Unrecorded, Self::Killed),
            (Some("exited" | "left"), ..) => return Self::Exited,
            (Some("unwritten"), ..) => return Self::CutShort,
            (Some("limit" | "jobs" | "finish" | "start" | "again" | "best-effort"), ..) => {
                return Self::Stuck;
            }
            (Some("overrun"), ..) => return Self::Overrun,
            (Some("panic"), ..) => return Self::Panicked,
            _ => {}
        }
        let own: [(Self, &[&str]); 3] = [
            (Self::CutShort, &["damaged", "unwritten"]),
            (Self::Slept, &["slept"]),
            (Self::Allocated, &["heap use"]),
        ];
        let causes = own.into_iter().chain(outside);
        if let Some((cause, _)) = causes.into_iter().find(|(_, words)| named(words)) {
            return cause;
        }
        match (report["verdict"].as_str(), report["ending"].as_str(), signal) {
            (Some("kept"), Some("signal"), Some(signal)) => Self::Asked(signal),
            (Some("kept"), ..) => Self::Kept,
            (Some("kept-but-machine"), ..) => Self::Machine,
            (Some("broken"), ..) => Self::Ours,
            _ => Self::NoReport,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_word_of_a_report() {
        for (report, finding) in [
            (json!({"verdict": "kept", "ending": "done"}), Finding::Kept),
            (json!({"verdict": "kept-but-machine", "ending": "done"}), Finding::Machine),
            (json!({"verdict": "kept", "ending": "signal", "signal": 15}), Finding::Asked(15)),
            (json!({"verdict": "broken", "ending": "killed", "signal": 11}), Finding::Killed(11)),
            (json!({"verdict": "broken", "ending": "killed"}), Finding::Unrecorded),
            (json!({"verdict": "broken", "ending": "exited", "exit_code": 0}), Finding::Exited),
            (json!({"verdict": "broken", "ending": "left"}), Finding::Exited),
            (json!({"verdict": "broken", "ending": "unwritten", "exit_code": null}), Finding::CutShort),
            (json!({"verdict": "broken", "ending": "limit", "ended_by": "control"}), Finding::Stuck),
            (json!({"verdict": "broken", "ending": "jobs"}), Finding::Stuck),
            (
                json!({"verdict": "broken", "ending": "done", "breaches": [{"breach": "response", "cause": "unknown"}]}),
                Finding::Ours,
            ),
            (
                json!({"verdict": "broken", "ending": "done", "breaches": [{"breach": "moved", "task": "control"}]}),
                Finding::Moved,
            ),
            (
                json!({"verdict": "broken", "ending": "done", "breaches": [{"breach": "unwritten"}]}),
                Finding::CutShort,
            ),
            (
                json!({"verdict": "kept-but-machine", "ending": "done", "warnings": [{"warning": "stopped"}]}),
                Finding::Stopped,
            ),
            (
                json!({"verdict": "broken", "ending": "killed", "signal": 6, "breaches": [{"breach": "moved"}]}),
                Finding::Moved,
            ),
            (
                json!({"verdict": "broken", "ending": "killed", "signal": 11, "breaches": [{"breach": "moved"}]}),
                Finding::Killed(11),
            ),
            (
                json!({"verdict": "broken", "ending": "killed", "signal": 6, "breaches": [{"breach": "foreign-thread"}]}),
                Finding::Killed(6),
            ),
            (
                json!({"verdict": "broken", "ending": "done", "breaches": [{"breach": "response", "cause": "foreign-thread"}]}),
                Finding::ForeignThread,
            ),
            (
                json!({"verdict": "broken", "ending": "done", "breaches": [{"breach": "traced"}]}),
                Finding::Traced,
            ),
            (json!({}), Finding::NoReport),
        ] {
            assert_eq!(Finding::of(&report), finding, "{report}");
        }
    }
}
