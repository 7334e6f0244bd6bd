// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The words that users of other tools write, and what to write here instead.

/// What to write in place of a key that a table does not have.
pub(crate) fn key(noun: &str, name: &str) -> Option<&'static str> {
    let arrival = "write `arrival = { periodic = \"10ms\" }`";
    let help = match (noun, name) {
        (
            "real-time task",
            "period" | "periodic" | "interval" | "every" | "cycle" | "cycle-time" | "cycle_time",
        ) => arrival,
        ("real-time task", "rate" | "frequency" | "freq" | "hz" | "fps") => {
            "write the period, as in `arrival = { periodic = \"10ms\" }` for 100 a second"
        }
        ("real-time task", "sporadic" | "trigger" | "event" | "min-gap" | "min_gap") => {
            "write `arrival = { sporadic = \"10ms\", trigger = \"…\" }`: the queue whose values release the task"
        }
        ("real-time task", "offset" | "phase") => {
            "write `arrival = { periodic = \"10ms\", offset = \"2ms\" }`"
        }
        ("real-time task" | "best-effort task", "name") => {
            "remove it: the header gives the name, `[tasks.…]`"
        }
        ("channel", "name") => "remove it: the header gives the name, `[channels.…]`",
        ("client", "path" | "command" | "program" | "exec" | "executable") => {
            "remove it: taut does not start a client; the client attaches by its name"
        }
        ("payload of one array" | "payload of fields", "size" | "bytes") => {
            "write `{ type = \"u8\", len = 24 }` for 24 bytes"
        }
        ("payload of one array", "length" | "count" | "dim") => "write `len = 6`: how many numbers",
        ("real-time task", "cpu" | "affinity") => "write `core = 1`: one of `platform.cores`, or \"auto\"",
        (
            "real-time task",
            "exec" | "execution" | "execution-time" | "execution_time" | "cost" | "runtime" | "C",
        ) => "write `wcet = { value = \"1ms\", source = \"guess\" }`",
        ("periodic arrival" | "sporadic arrival", "event") => {
            "write `{ sporadic = \"10ms\", trigger = \"…\" }`: the least time between two releases, and the queue \
             whose values release the task"
        }
        ("periodic arrival" | "sporadic arrival", "interval" | "every" | "rate" | "frequency") => {
            "write `{ periodic = \"10ms\" }`"
        }
        ("channel", "type" | "data" | "message") => "write `payload = \"…\"`: a name of `[payloads]`",
        ("channel", "writer" | "source" | "producer" | "publisher") => "write `from = \"…\"`",
        ("channel", "reader" | "readers" | "sink" | "consumer" | "subscriber") => "write `to = \"…\"`",
        ("channel", "size" | "depth" | "length") => "write `capacity = 8`: how many values may wait",
        _ => return None,
    };
    Some(help)
}

/// The word of a list that another word means.
pub(crate) fn word(words: &[&str], text: &str) -> Option<&'static str> {
    // Of the possible meanings, the first one in the list counts.
    let meant: &[&str] = match text.to_lowercase().as_str() {
        "hard" | "rt" | "realtime" | "real_time" | "firm" => &["real-time"],
        "soft" | "best_effort" | "besteffort" | "background" | "non-real-time" => &["best-effort"],
        "fifo" | "sched_fifo" => &["fp", "queue"],
        "rm" | "dm" | "rms" | "rate-monotonic" | "deadline-monotonic" | "fixed-priority" => &["fp"],
        "earliest-deadline-first" | "deadline" | "sched_deadline" => &["edf"],
        "linux" | "posix" | "threads" | "kernel" => &["native"],
        "dispatcher" | "user" | "taut" => &["dispatched"],
        "latest" | "topic" | "shared" | "variable" => &["state"],
        "multicast" | "fan-out" | "event" | "signal" => &["broadcast"],
        "fifo-queue" | "events" | "stream" | "buffer" | "message" => &["queue"],
        "estimate" | "estimated" | "guessed" => &["guess"],
        _ => return None,
    };
    meant.iter().find(|meant| words.contains(meant)).copied()
}
