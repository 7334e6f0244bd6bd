// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The threads that a plan and its maps start share both.

#[macro_use]
#[path = "../../share/tests/given/mod.rs"]
mod given;

use taut_boot::thread::{StartBarrier, ThreadPlacement};
use taut_boot::{
    Admission, AdmissionError, Applications, Conflict, CoreUse, Guarantee, Guarantees, LoadError, LoadedPlan,
    MapError, Maps, MissingGuarantee, RunningApplication,
};

#[test]
fn shared_types_are_send_and_sync() {
    threads! {
        Applications: both,
        Admission: both,
        AdmissionError: both,
        Conflict: both,
        CoreUse: both,
        RunningApplication: both,
        LoadedPlan: both,
        LoadError: both,
        Maps: both,
        MapError: both,
        Guarantee: both,
        MissingGuarantee: both,
        Guarantees: both,
        ThreadPlacement: both,
        StartBarrier: both,
    }
}
