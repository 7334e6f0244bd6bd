// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Activations of a flow, in their nominal order. The member that is released first makes them, as under `taut run`.

use taut_share::state::{dbp, flow::NotActivated, tccp};

use super::meter::{Call, Meter, Touch, now};

/// The dispatcher of a flow, which makes its activations.
pub(super) enum Dispatcher<'m> {
    Dbp(Box<dbp::Dispatcher<'m>>),
    Tccp(Box<tccp::Dispatcher<'m>>),
}

impl Dispatcher<'_> {
    fn writer(&mut self, at: u64) -> Result<u64, NotActivated> {
        match self {
            Self::Dbp(dispatcher) => dispatcher.activate_writer(at),
            Self::Tccp(dispatcher) => dispatcher.activate_writer(at),
        }
    }

    fn reader(&mut self, which: u32, at: u64) -> Result<u64, NotActivated> {
        match self {
            Self::Dbp(dispatcher) => dispatcher.activate_reader(which, at),
            Self::Tccp(dispatcher) => dispatcher.activate_reader(which, at),
        }
    }
}

/// A member of a flow: its next activation and its period, in timer periods.
pub(super) struct Member {
    pub(super) next: u64,
    pub(super) ticks: u64,
}

impl Member {
    fn is_at(&mut self, tick: u64) -> bool {
        let is = self.next == tick;
        self.next += if is { self.ticks } else { 0 };
        is
    }
}

/// A flow: its dispatcher, its writer and its readers.
pub(super) struct Flow<'m> {
    pub(super) dispatcher: Dispatcher<'m>,
    pub(super) writer: Member,
    pub(super) readers: Vec<Member>,
    pub(super) touch: Touch,
}

impl Flow<'_> {
    /// Makes all missing activations up to a timer period. In each period the writer's comes first.
    pub(super) fn advance(&mut self, until: u64, meter: &mut Meter) {
        loop {
            let readers = self.readers.iter().map(|reader| reader.next);
            let tick = readers.chain([self.writer.next]).min().unwrap_or(u64::MAX);
            if tick > until {
                return;
            }
            if self.writer.is_at(tick) {
                let begin = now();
                let made = self.dispatcher.writer(tick);
                meter.took(Call::ActivateWriter, self.touch, &[(begin, now())]);
                meter.refused += u64::from(made.is_err());
            }
            for (which, reader) in (0..).zip(&mut self.readers) {
                if reader.is_at(tick) {
                    let begin = now();
                    let made = self.dispatcher.reader(which, tick);
                    meter.took(Call::ActivateReader, self.touch, &[(begin, now())]);
                    meter.refused += u64::from(made.is_err());
                }
            }
        }
    }
}
