// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The broadcasts that a real-time task reads, as its runtime knows them: whether the task takes part.
//!
//! While its service does not run, or once its component has failed, a task takes no value. Then the writers
//! go on without it, for the other readers. When the task runs again, it begins with the next value.

use taut_share::queue::broadcast::ReaderControl;

/// The places of a task in the broadcasts that it reads.
#[derive(Default)]
pub(crate) struct BroadcastPlaces<'p>(Vec<ReaderControl<'p>>);

impl<'p> BroadcastPlaces<'p> {
    pub(crate) fn new(controls: Vec<ReaderControl<'p>>) -> Self {
        Self(controls)
    }

    /// Lets the task take part in its broadcasts from this call on, or not. Called between two of its jobs,
    /// or at the end of one. At most 3 steps for each broadcast.
    pub(crate) fn take_part(&mut self, does: bool) {
        for control in &mut self.0 {
            if does { control.rejoin() } else { control.release() }
        }
    }
}
