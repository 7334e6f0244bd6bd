// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Waiting in a buffer between producers and a consumer, by queueing theory.
//!
//! | file | arrivals, service | answer |
//! |---|---|---|
//! | [`p_p_1`] | periodic, periodic | a bound |
//! | [`m_m_1`] | random (Poisson), random (exponential) | means |
//! | [`m_m_s`] | the same, several consumers | means |
//! | [`m_d_1`] | random, constant | means |
//! | [`m_g_1`] | random, any | means |
//! | [`m_p_1`] | random, a periodic consumer | means |
//!
//! **A mean is no bound.** About half of all values wait longer than the mean, and with random arrivals some wait
//! longer than any number. So means have types of their own, [`Mean`] and [`Means`], which convert neither to a time
//! nor to a count, and no verdict is made of them.

pub mod m_d_1;
pub mod m_g_1;
pub mod m_m_1;
pub mod m_m_s;
pub mod m_p_1;
mod mean;
pub mod p_p_1;

pub use mean::{Mean, Means, NoMean};
