// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The external events of transactions, and the timing requirements at their ends.

use taut_time::Duration;

use super::text::{Entry, Item, leave_out, list, word};
use super::{Reader, key};
use crate::number::Decimal;
use crate::sketch::Arrival;
use crate::xml::shown;

/// The external event that starts a transaction.
pub(super) struct Source {
    pub(super) name: String,
    pub(super) arrival: Arrival,
    pub(super) period: Duration,
    pub(super) jitter: Duration,
    /// How many events arrive at once.
    pub(super) burst: u32,
}

impl Reader {
    pub(super) fn source(&mut self, item: &Item) -> Option<Source> {
        let [event] = list(&item.entries, "external_events") else {
            let count = list(&item.entries, "external_events").len();
            self.lose(item, &format!("it has {count} external events, not one: it is left out"));
            leave_out(&item.entries);
            return None;
        };
        let event = event.list();
        let name = word(event, "name").to_owned();
        let (mut jitter, mut burst) = (Duration::ZERO, 1);
        let (arrival, period) = match key(word(event, "type")).as_str() {
            "periodic" => {
                jitter = self.time(event, "max_jitter", true);
                let phase = self.time(event, "phase", false);
                (Arrival::Periodic(phase), self.time(event, "period", false))
            }
            "sporadic" => (Arrival::Sporadic(Vec::new()), self.time(event, "min_interarrival", false)),
            "bursty" => {
                let count = Decimal::parse(word(event, "max_arrivals"));
                let count = count.and_then(|count| count.scaled(1, Decimal::parse("1")?, true));
                let count = count.and_then(|count| u32::try_from(count).ok()).filter(|count| *count > 0);
                let Some(count) = count else {
                    let what = format!(
                        "`max_arrivals` of its event is `{}`, which is no number above 0: it is left out",
                        shown(word(event, "max_arrivals"))
                    );
                    self.lose(item, &what);
                    leave_out(&item.entries);
                    return None;
                };
                burst = count;
                let what =
                    format!("its event is bursty: one job of {burst} times the work is written per interval");
                self.lose(item, &what);
                (Arrival::Sporadic(Vec::new()), self.time(event, "bound_interval", false))
            }
            "unbounded" => (Arrival::Any, Duration::ZERO),
            other => {
                self.lose(item, &format!("its event is `{}`: it is left out", shown(other)));
                leave_out(&item.entries);
                return None;
            }
        };
        Some(Source { name, arrival, period, jitter, burst })
    }
}

/// The requirements of an event: a single one, or those of a composite one.
pub(super) fn requirements(event: &[Entry]) -> Vec<&[Entry]> {
    let one = list(event, "timing_requirements");
    match list(one, "requirements_list") {
        [] => vec![one],
        many => many.iter().map(Entry::list).collect(),
    }
}
