// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Operations in functions of their own, in turns and in one thread, for programs that count instructions, as under
//! `cargo xtask peers --record`.

use std::hint::black_box;

use crate::bench::Bench;
use crate::object::{Ends, mark};

/// One write: its instructions are those of this function, less the call.
#[inline(never)]
fn put_once<O: Ends<N>, const N: usize>(writer: &mut O::Writer, value: &[u64; N]) -> bool {
    O::put(writer, value)
}

/// One read, which looks at the first word.
#[inline(never)]
fn take_once<O: Ends<N>, const N: usize>(reader: &mut O::Reader) -> Option<u64> {
    O::take(reader, |value| value[0])
}

/// Moves a value in and out again, `times` times.
pub(crate) fn turns<O: Ends<N>, const N: usize>(
    mut ends: (O::Writer, O::Reader),
    times: u64,
) -> Result<(), String> {
    let mut value = [0; N];
    for number in 1..=times {
        mark(&mut value, number);
        if !put_once::<O, N>(&mut ends.0, black_box(&value)) {
            return Err("full, though nothing waits".into());
        }
        if take_once::<O, N>(&mut ends.1) != Some(number) {
            return Err("another value than was put in".into());
        }
    }
    Ok(())
}

/// Runs `NAME BYTES TIMES`, the words of the command line.
pub(crate) fn run(benches: &[Box<dyn Bench>], words: &[String]) -> Result<(), String> {
    let [name, bytes, times] = words else { return Err("repeat NAME BYTES TIMES".into()) };
    let bench = benches.iter().find(|bench| bench.name() == name).ok_or("no object of that name")?;
    let times = times.parse().map_err(|_| "TIMES is not a number")?;
    bench.repeat(crate::words(bytes)?, times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_in_and_out() {
        let benches = crate::benches();
        let run = |line: &str| run(&benches, &line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for name in ["QrtR", "QrtWo", "SDrtW", "Hybrid", "rtrb", "triple_buffer"] {
            assert_eq!(run(&format!("{name} 64 1000")), Ok(()), "{name}");
        }
        assert!(run("QrtR 65 1").is_err() && run("nobody 64 1").is_err() && run("QrtR 64").is_err());
    }
}
