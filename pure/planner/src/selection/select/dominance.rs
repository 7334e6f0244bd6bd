// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Finds offers that are never better than another offer of the same object.

use core::ops::Range;
use std::sync::Arc;

use taut_analysis::Overflow;
use taut_time::Duration;

use super::judge::{all, offers};
use super::offer::{Offer, OfferMemory};
use super::problem::Problem;
use taut_model::Aim;

impl Problem {
    /// By object, a bit for each offer that a search for the least value of an aim must look at, ties aside. Of equal
    /// offers the last stays.
    pub(super) fn undominated(&self, aim: Aim) -> Result<Vec<u64>, Overflow> {
        let least = self.costs();
        let most: Vec<Duration> =
            self.deadlines.iter().map(|deadline| Duration::from_ns(*deadline)).collect();
        let mut undominated = Vec::with_capacity(self.objects.len());
        for (object, loads) in self.objects.iter().zip(&self.loads) {
            let mut ranges = Vec::with_capacity(object.offers.len());
            for offer in &object.offers {
                ranges
                    .push(self.bytes(offer, &least)?.unwrap_or(u64::MAX)..bytes_at_most(self, offer, &most));
            }
            let mut bits = all(object);
            for worse in offers(bits) {
                let better = |&better: &usize| {
                    let [one, other] = [better, worse].map(|at| (&object.offers[at], &ranges[at]));
                    // Where bytes do not matter, the better offer must at least be available.
                    let had = aim != Aim::Memory && ranges[better].end != u64::MAX;
                    let no_dearer = had || is_no_dearer(one, other);
                    better != worse && no_dearer && loads[better].is_within(&loads[worse])
                };
                if offers(bits).any(|other| better(&other)) {
                    bits &= !(1 << worse);
                }
            }
            undominated.push(bits);
        }
        Ok(undominated)
    }
}

/// Bytes if every response is as long as its deadline; the greatest number if the offer may then not be available,
/// or if the bytes do not fit.
fn bytes_at_most(problem: &Problem, offer: &Offer, most: &[Duration]) -> u64 {
    problem.bytes(offer, most).ok().flatten().unwrap_or(u64::MAX)
}

/// Whether `one` never needs more bytes than `other`, whatever the responses.
fn is_no_dearer((one, of_one): (&Offer, &Range<u64>), (other, of_other): (&Offer, &Range<u64>)) -> bool {
    if of_one.end <= of_other.start && of_one.end != u64::MAX {
        return true;
    }
    match (&one.memory, &other.memory) {
        (OfferMemory::Timed(one), OfferMemory::Timed(other)) => {
            let same = one.writer == other.writer && one.readers == other.readers && one.count == other.count;
            same && one.fixed <= other.fixed && one.each <= other.each
        }
        (OfferMemory::Asked(one), OfferMemory::Asked(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}
