// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Measures how late the machine itself is: a thread above all tasks that sleeps a millisecond at a time.
//!
//! No thread of a task can delay it, so its delays come from the kernel, the hypervisor or the hardware. The
//! planner charges them to every task as interference.

use taut_event::Kind;
use taut_plan::PROBE_PERIOD;
pub(crate) use taut_plan::PROBE_PRIORITY as PRIORITY;
use taut_sys::{clock, interrupt};

use crate::control::Control;
use crate::job::EventRecorder;
use crate::outside;

/// Time between two looks.
const PERIOD_NS: u64 = PROBE_PERIOD.as_ns();
/// Time from release 0 to the first look: off the phases that people choose for tasks, so that the probe seldom
/// runs between a release and its job.
const OFFSET_NS: u64 = 611_000;
/// A healthy machine wakes a thread within this time.
const LATE_NS: u64 = 100_000;

pub(crate) fn watch(origin_ns: u64, control: &Control, event_recorder: &mut EventRecorder) {
    let mut due_ns = origin_ns.saturating_add(OFFSET_NS);
    while !control.stopping() {
        if !interrupt::sleep_until(due_ns) {
            continue;
        }
        let now_ns = clock::monotonic_ns();
        let late_ns = now_ns.saturating_sub(due_ns);
        if late_ns > LATE_NS {
            event_recorder.own(now_ns, Kind::Stall, 0, late_ns);
            outside::stood_still(now_ns, late_ns);
        }
        if let Some(over) = interrupt::over_limit(now_ns) {
            control.over_limit(over.task);
        }
        // The missed looks are not made up for: they would only add to the delay.
        due_ns += PERIOD_NS * (1 + late_ns / PERIOD_NS);
    }
}
