// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use taut_sweep::Generator;

/// The number of rows to time.
const ROWS: u64 = 7_200;

/// The number of rows made per second, on all processors.
///
/// # Errors
/// A row cannot be made.
pub(crate) fn rate(generator: &Generator) -> Result<f64, String> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let rows = ROWS.min(generator.rows());
    let (next, wrong) = (AtomicU64::new(0), AtomicU64::new(0));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let row = next.fetch_add(1, Ordering::Relaxed);
                    if row >= rows {
                        return;
                    }
                    wrong.fetch_add(u64::from(generator.row(row).is_err()), Ordering::Relaxed);
                }
            });
        }
    });
    match wrong.into_inner() {
        0 => Ok(rows as f64 / start.elapsed().as_secs_f64()),
        wrong => Err(format!("{wrong} rows of Figure 15 cannot be made")),
    }
}

/// The rate in words, and the time that all rows would take.
pub(super) fn reported(generator: &Generator) -> Result<String, String> {
    let (rate, rows) = (rate(generator)?, generator.rows());
    Ok(format!(
        "{rate:.0} rows a second on all processors, so that the {rows} rows of the long form take {:.0} s for each set of equations",
        rows as f64 / rate
    ))
}
