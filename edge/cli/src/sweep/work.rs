// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Makes rows on several threads and delivers them in order.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use taut_sweep::{Generator, Row};

use crate::outcome::Failure;

/// How often `each` is called while no row arrives.
const PATIENCE: Duration = Duration::from_millis(100);

/// Makes the rows of a range and passes each to `each`, in order and without gaps; from time to time it calls `each`
/// without a row. When `each` returns false, rows already begun are still made and delivered. Returns whether all
/// rows were delivered.
pub(super) fn rows(
    generator: &Generator,
    range: Range<u64>,
    jobs: usize,
    each: &mut dyn FnMut(Option<Row>) -> Result<bool, Failure>,
) -> Result<bool, Failure> {
    let next = AtomicU64::new(range.start);
    let stop = AtomicBool::new(false);
    let mut expected = range.start;
    let result = std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(jobs * 64);
        for _ in 0..jobs {
            let (sender, next, stop) = (sender.clone(), &next, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let row = next.fetch_add(1, Ordering::Relaxed);
                    if row >= range.end || sender.send((row, generator.row(row))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut take = || {
            // Rows that arrived before their turn.
            let mut early = BTreeMap::new();
            loop {
                match receiver.recv_timeout(PATIENCE) {
                    Ok((row, made)) => {
                        early.insert(row, made);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Ok(()),
                }
                let mut go_on = each(None)?;
                while let Some(made) = early.remove(&expected) {
                    let row = made.map_err(|why| Failure::Usage(why.to_string()))?;
                    go_on &= each(Some(row))?;
                    expected += 1;
                }
                if !go_on {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        };
        let result = take();
        stop.store(true, Ordering::Relaxed);
        // Without a receiver, no thread waits forever to send a row.
        drop(receiver);
        result
    });
    result.map(|()| expected == range.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = include_str!("../../tests/small.toml");

    #[test]
    fn rows_come_in_order_from_any_number_of_threads() {
        let generator = Generator::parse(SMALL).unwrap();
        let wanted: Vec<Row> = (3..40).map(|row| generator.row(row).unwrap()).collect();
        for jobs in [1, 2, 7] {
            let mut got = Vec::new();
            let all = rows(&generator, 3..40, jobs, &mut |row| {
                got.extend(row);
                Ok(true)
            });
            assert!(all.unwrap());
            assert_eq!(got, wanted);
        }
    }

    #[test]
    fn an_interrupted_sweep_has_rows_without_a_gap() {
        let generator = Generator::parse(SMALL).unwrap();
        let mut got = Vec::new();
        let all = rows(&generator, 0..generator.rows(), 3, &mut |row| {
            got.extend(row.map(|row| row.row));
            Ok(got.len() < 5)
        });
        assert!(!all.unwrap() && got.len() >= 5);
        assert_eq!(got, (0..got.len() as u64).collect::<Vec<_>>());
        let refused = rows(&generator, 0..20, 2, &mut |_| Err(Failure::Usage("full".into())));
        assert!(refused.is_err());
        let beyond = rows(&generator, generator.rows()..generator.rows() + 1, 1, &mut |_| Ok(true));
        assert!(beyond.unwrap_err().to_string().contains("there are"));
    }
}
