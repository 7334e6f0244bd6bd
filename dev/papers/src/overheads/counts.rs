// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The calls in instructions, undisturbed: the cost of the protocols alone, without the executor.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;

use taut_atomic::{LINE_BYTES, Line, Memory};
use taut_lock::{queued, spin};
use taut_share::state::flow::Shape;
use taut_share::state::{chen, dbp, tccp};

use crate::callgrind;

/// The command of this program that callgrind runs.
pub(crate) const COMMAND: &str = "counted-han14";
/// How often each call is made.
pub(super) const TIMES: u32 = 500;
/// Numbers of readers.
const READERS: [u32; 2] = [1, 5];

type Value = [u8; 4];

/// The counted calls, in this order.
pub(super) const NAMES: [&str; 26] = [
    "MSRP, get",
    "MSRP, release",
    "MPCP, get",
    "MPCP, release",
    "MPCP, get behind one that waits",
    "MPCP, release to the first of two",
    "WF-DBP, write, 1 reader",
    "WF-DBP, read",
    "WF-TCCP, write, 1 reader",
    "WF-TCCP, read",
    "WFFP-DBP, activation of the writer, 1 reader",
    "WFFP-DBP, write",
    "WFFP-DBP, activation of a reader",
    "WFFP-DBP, read",
    "WFFP-TCCP, activation of the writer, 1 reader",
    "WFFP-TCCP, write",
    "WFFP-TCCP, activation of a reader",
    "WFFP-TCCP, read",
    "WF-DBP, write, 5 readers",
    "WF-DBP, read, one of 5",
    "WF-TCCP, write, 5 readers",
    "WF-TCCP, read, one of 5",
    "WFFP-DBP, activation of the writer, 5 readers",
    "WFFP-DBP, activation of a reader of 5",
    "WFFP-TCCP, activation of the writer, 5 readers",
    "WFFP-TCCP, activation of a reader of 5",
];

/// Instructions of a call, by name.
pub(super) type Counts = BTreeMap<&'static str, f64>;

/// Callgrind counts what runs inside of this function.
#[inline(never)]
fn counted<R>(work: impl FnOnce() -> R) -> R {
    black_box(work())
}

/// When this returns, callgrind writes down the counts so far.
#[inline(never)]
fn part_is_over(part: u32) -> u32 {
    black_box(part)
}

/// Counts each of some calls in turn. Each round makes all of the calls, so that the counted one finds the state that
/// it finds in use.
macro_rules! each_in_turn {
    ($($call:expr),+ $(,)?) => {{
        let count = [$(stringify!($call)),+].len();
        for which in 0..count {
            for _ in 0..TIMES {
                let mut at = 0;
                $(
                    if at == which { counted(|| $call) } else { $call }
                    at += 1;
                )+
                black_box(at);
            }
            part_is_over(which as u32);
        }
    }};
}

fn lines(bytes: usize) -> Vec<Line> {
    (0..bytes.div_ceil(LINE_BYTES)).map(|_| Line::new()).collect()
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Makes all calls that callgrind counts: the work of [`COMMAND`].
///
/// # Errors
/// An object reports an error.
pub(crate) fn everything() -> Result<(), String> {
    locks()?;
    newest(READERS[0])?;
    flow_dbp::<true>(READERS[0])?;
    flow_tccp::<true>(READERS[0])?;
    newest(READERS[1])?;
    flow_dbp::<false>(READERS[1])?;
    flow_tccp::<false>(READERS[1])
}

fn locks() -> Result<(), String> {
    let mut room = lines(spin::bytes(2));
    let mut party = spin::group(Memory::new(&mut room), 2).map_err(said)?.next().ok_or("no party")?;
    each_in_turn!(
        {
            party.request();
            black_box(party.granted());
        },
        party.leave(),
    );
    let mut room = lines(queued::bytes(4));
    let mut parties = queued::group(Memory::new(&mut room), 4).map_err(said)?;
    let mut next = || parties.next().ok_or("no party");
    let (mut one, mut two, mut three) = (next()?, next()?, next()?);
    each_in_turn!(
        {
            black_box(one.request(3));
        },
        {
            black_box(one.release());
        },
    );
    // `one` holds the lock and `two` waits for it. Then `three` requests it, and `one` releases it.
    for which in 0..2 {
        for _ in 0..TIMES {
            one.request(3);
            two.request(2);
            if which == 0 {
                black_box(counted(|| three.request(1)));
                black_box(one.release());
            } else {
                black_box(three.request(1));
                black_box(counted(|| one.release()));
            }
            let _ = (two.granted(), two.release(), three.granted(), three.release());
        }
        part_is_over(which);
    }
    Ok(())
}

fn newest(readers: u32) -> Result<(), String> {
    let value: Value = black_box([1; 4]);
    let mut room = lines(chen::bytes::<Value>(readers));
    let (mut writer, all) = chen::group::<Value>(Memory::new(&mut room), readers).map_err(said)?;
    let mut all: Vec<_> = all.collect();
    each_in_turn!(writer.write(black_box(&value)), {
        black_box(all[0].read());
    });
    let shape = Shape { lower: readers, higher: 0, buffers: 4 };
    let mut room = lines(tccp::bytes::<Value>(shape).unwrap_or(0));
    let (mut writer, all) = tccp::newest::<Value>(Memory::new(&mut room), shape).map_err(said)?;
    let mut all: Vec<_> = all.collect();
    each_in_turn!(writer.write(black_box(&value)), {
        let _ = black_box(all[0].read_newest());
    });
    Ok(())
}

/// Runs a flow, job by job. With `JOBS`, the calls of the jobs are counted as well as the activations.
macro_rules! flow {
    ($name:ident, $protocol:ident, $shape:expr) => {
        fn $name<const JOBS: bool>(readers: u32) -> Result<(), String> {
            let value: Value = black_box([1; 4]);
            let shape: Shape = $shape(readers);
            let mut room = lines($protocol::bytes::<Value>(shape).unwrap_or(0));
            let (mut dispatcher, mut writer, all) =
                $protocol::group::<Value>(Memory::new(&mut room), shape).map_err(said)?;
            let mut all: Vec<_> = all.collect();
            let mut at = 0;
            let parts: &[u32] = if JOBS { &[0, 1, 2, 3] } else { &[0, 2] };
            for &part in parts {
                for _ in 0..TIMES {
                    at += 1;
                    let mut activate = || dispatcher.activate_writer(black_box(at));
                    black_box(if part == 0 { counted(activate) } else { activate() }).map_err(said)?;
                    let mut write = || {
                        if let Some(mut job) = writer.job() {
                            job.write(black_box(&value));
                        }
                    };
                    if part == 1 {
                        counted(write)
                    } else {
                        write()
                    }
                    for (which, reader) in (0..).zip(&mut all) {
                        let mut activate = || dispatcher.activate_reader(which, black_box(at));
                        let first = part == 2 && which == 0;
                        black_box(if first { counted(activate) } else { activate() }).map_err(said)?;
                        let mut read = || {
                            if let Some(mut job) = reader.job() {
                                let _ = black_box(job.read());
                            }
                        };
                        if part == 3 && which == 0 { counted(read) } else { read() }
                    }
                }
                part_is_over(part);
            }
            Ok(())
        }
    };
}

flow!(flow_dbp, dbp, |readers| Shape::several_processors(readers, 0));
flow!(flow_tccp, tccp, |readers| Shape { lower: readers, higher: 0, buffers: 4 });

/// Counts the instructions. Callgrind's files go below `folder`.
///
/// # Errors
/// Valgrind is missing, or the error that it reports.
pub(super) fn counts(folder: &Path) -> Result<Counts, String> {
    let counted = callgrind::Counted {
        command: COMMAND,
        inside: &["overheads::counts::counted"],
        behind: "overheads::counts::part_is_over",
        parts: NAMES.len(),
    };
    let totals = callgrind::totals(folder, counted)?;
    Ok(NAMES.into_iter().zip(totals.into_iter().map(|total| total as f64 / f64::from(TIMES))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_runs() {
        assert_eq!(everything(), Ok(()));
    }
}
