// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The main thread's work while an application runs: it empties the rings of all threads into the recording.

use taut_event::{CodeLocation, Ending, Kind, Record, Stood};
use taut_plan::Plan;
use taut_sys::{clock, interrupt, safe_state};
use taut_time::Instant;
use taut_trace::{RecordingSink, RecordingWriter};

use crate::control::Control;
use crate::outside::Lookout;
use crate::safe_state::record;
use crate::threads::ThreadHandle;
use crate::values::ValuesFile;

/// Sleep between two rounds.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(2);

/// The recording, for the main thread.
pub(crate) struct Recording<'p, W: RecordingSink> {
    plan: &'p Plan,
    control: &'p Control,
    writer: RecordingWriter<W>,
    values: Option<ValuesFile>,
}

impl<'p, W: RecordingSink> Recording<'p, W> {
    pub(crate) fn new(
        plan: &'p Plan,
        control: &'p Control,
        writer: RecordingWriter<W>,
        values: Option<ValuesFile>,
    ) -> Self {
        Self { plan, control, writer, values }
    }

    /// Records an event.
    pub(crate) fn append(&mut self, record: Record) {
        self.writer.append(record);
    }

    /// Records an event of the application as a whole.
    pub(crate) fn append_own(&mut self, kind: Kind, at_ns: u64, value: u64) {
        self.append(Record { at: Instant::from_ns(at_ns), kind, cpu: 0, subject: 0, job: 0, value });
    }

    /// Records how the application ends.
    pub(crate) fn append_ending(&mut self, ending: Ending) {
        let at = Instant::from_ns(clock::monotonic_ns());
        ending.to_record(at).into_iter().for_each(|end| self.append(end));
    }

    /// Hands what was recorded to the system.
    pub(crate) fn flush(&mut self) {
        self.writer.flush();
        self.values.iter_mut().for_each(ValuesFile::flush);
    }

    /// Empties the rings, even if the guardian ends the application meanwhile.
    pub(crate) fn poll(&mut self) {
        self.writer.poll();
        self.values.iter_mut().for_each(ValuesFile::poll);
    }

    /// Writes the end of the file of values, and records what it has.
    fn finish_values(&mut self) {
        let Some(values) = self.values.take() else { return };
        let written = values.finish();
        let at = Instant::from_ns(clock::monotonic_ns());
        let of = |kind, job, value| Record { at, kind, cpu: 0, subject: 0, job, value };
        self.append(of(Kind::ValuesRecorded, written.messages, written.bytes));
        if written.lost > 0 {
            self.append(of(Kind::ValuesLost, 0, written.lost));
        }
    }

    /// Leaves the end of the recording to the guardian, because code of the application runs on this thread next.
    pub(crate) fn leave_to_guardian(&mut self) {
        self.control.leave(self.writer.final_block());
    }

    /// Takes the end of the recording back.
    pub(crate) fn take_back(&mut self) {
        self.control.leave(None);
    }

    /// Interrupts the sleeps of threads until all have ended; `false` if some have not at `give_up_ns`.
    pub(crate) fn interrupt_until<'h>(
        &mut self,
        handles: impl Iterator<Item = &'h ThreadHandle> + Clone,
        give_up_ns: Option<u64>,
    ) -> bool {
        loop {
            // Again each round: a thread may have been on its way to sleep.
            let mut alive = false;
            for handle in handles.clone().filter(|handle| !handle.is_done()) {
                alive = true;
                handle.interrupt();
            }
            if !alive {
                self.poll();
                return true;
            }
            if give_up_ns.is_some_and(|give_up| clock::monotonic_ns() >= give_up) {
                return false;
            }
            self.round();
        }
    }

    /// Empties the rings, and sleeps a little. Does not return if the guardian ends the application where it
    /// stands.
    pub(crate) fn round(&mut self) {
        self.empty();
        if self.control.guardian_is_kept(clock::monotonic_ns()) {
            // Parked threads leave the guardian its processor.
            interrupt::park();
        }
        std::thread::sleep(PAUSE);
    }

    /// Empties the rings. Does not return if the guardian ends the application where it stands.
    pub(crate) fn empty(&mut self) {
        self.poll();
        self.last_if_ending();
    }

    /// If the guardian ends the application where it stands: records what is known of that, and does not return.
    pub(crate) fn last_if_ending(&mut self) {
        let Some(ending) = self.control.ending() else { return };
        self.poll();
        if let Some(rest) = safe_state::seen() {
            self.append(record(rest, self.control.rest_heap()));
        }
        Lookout::cause(self.plan).into_iter().for_each(|record| self.append(record));
        for job in interrupt::running() {
            let place = |stood: interrupt::ThreadLocation| CodeLocation {
                in_call: stood.in_call,
                offset: stood.offset.map(|offset| offset as u64),
            };
            let (at, resource) = (job.stood().map(place), job.resource());
            let stood = Stood { task: job.task, job: job.number, at, resource };
            self.append(stood.to_record(Instant::from_ns(clock::monotonic_ns())));
        }
        self.finish_values();
        self.append_ending(ending);
        self.flush();
        self.control.written()
    }

    /// Writes what is left, for a process that ends before [`Recording::finish`] can be called.
    pub(crate) fn close(&mut self) {
        self.finish_values();
        self.writer.close();
    }

    /// Writes what is left, and the recording's end.
    pub(crate) fn finish(mut self) -> std::io::Result<()> {
        self.finish_values();
        self.writer.finish().map(drop)
    }
}
