// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Integers wide enough for products and sums of 64-bit times.

use taut_time::Duration;

use crate::Overflow;

/// A time as a wide integer, in nanoseconds.
pub(crate) fn ns(time: Duration) -> u128 {
    time.as_ns().into()
}

/// Converts nanoseconds back to a time.
pub(crate) fn duration(ns: u128) -> Result<Duration, Overflow> {
    count(ns).map(Duration::from_ns)
}

/// Converts back to 64 bits.
pub(crate) fn count(value: u128) -> Result<u64, Overflow> {
    u64::try_from(value).map_err(|_| Overflow)
}

/// The greatest common divisor; of 0 and a number, that number.
pub(crate) fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
