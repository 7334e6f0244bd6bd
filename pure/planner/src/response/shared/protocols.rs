// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Protocols for resources of several cores under fixed priority, together with the test that covers them.

use taut_analysis::multi::{Bounds, Guard, GuardedSet, fmlp_plus, mixed, mpcp_lnr09_sound, msrp_joint};
use taut_analysis::{Overflow, Verdict};
use taut_model::{LockingProtocol, Model, TaskSet};

use super::local;

/// A protocol for each resource.
pub(crate) struct Protocols {
    /// By resource.
    pub(crate) of: Vec<LockingProtocol>,
    global: Vec<bool>,
}

/// The protocols to try where the manifest names none, in this order.
const ORDER: [LockingProtocol; 3] = [LockingProtocol::Msrp, LockingProtocol::Mpcp, LockingProtocol::FmlpPlus];

impl Protocols {
    /// The candidates to try: all open resources have one protocol, which goes together with those that the manifest
    /// names.
    pub(crate) fn candidates(model: &Model, global: &[bool]) -> Vec<Self> {
        let with = |open: LockingProtocol| {
            let protocol = |(at, global): (usize, &bool)| match (model.protocol(at), global) {
                (Some(protocol), _) => protocol,
                (None, true) => open,
                (None, false) => LockingProtocol::Srp,
            };
            Self { of: global.iter().enumerate().map(protocol).collect(), global: global.to_vec() }
        };
        let mut all: Vec<Self> = Vec::new();
        for candidate in ORDER.map(with) {
            if candidate.go_together() && all.iter().all(|other| other.of != candidate.of) {
                all.push(candidate);
            }
        }
        all
    }

    fn has(&self, locking: LockingProtocol) -> bool {
        self.of.iter().zip(&self.global).any(|(of, global)| *global && *of == locking)
    }

    /// Whether there is an analysis for all of them together.
    pub(crate) fn go_together(&self) -> bool {
        !(self.has(LockingProtocol::FmlpPlus)
            && (self.has(LockingProtocol::Msrp) || self.has(LockingProtocol::Mpcp)))
    }

    /// By resource, whether its waiters are suspended.
    pub(crate) fn suspending(&self) -> Vec<bool> {
        self.of.iter().map(|of| matches!(of, LockingProtocol::Mpcp | LockingProtocol::FmlpPlus)).collect()
    }

    pub(crate) fn test(&self) -> &'static str {
        match [LockingProtocol::Msrp, LockingProtocol::Mpcp, LockingProtocol::FmlpPlus]
            .map(|locking| self.has(locking))
        {
            [false, false, false] => {
                "response-time analysis, fixed priority, immediate ceilings (Baker 1991; Audsley et al. 1993)"
            }
            [true, true, _] => {
                "response-time analysis, fixed priority, MSRP beside MPCP (Brandenburg 2011; Lakshmanan et al. 2009 with \
                 the jitter that it lacks; of the one beside the other: this project's)"
            }
            [true, false, _] => {
                "response-time analysis, fixed priority, MSRP, a core's requests counted together (Wieder & Brandenburg \
                 2013)"
            }
            [false, true, _] => {
                "response-time analysis, fixed priority, MPCP (Lakshmanan et al. 2009, with the jitter that it lacks)"
            }
            [false, false, true] => "response-time analysis, fixed priority, FMLP+ (Brandenburg 2011)",
        }
    }

    /// Bounds the response times of a set with these resources, and maybe with further resources of one core.
    pub(crate) fn response_times(&self, set: &TaskSet) -> Result<Verdict<Bounds>, Overflow> {
        match [LockingProtocol::Msrp, LockingProtocol::Mpcp, LockingProtocol::FmlpPlus]
            .map(|locking| self.has(locking))
        {
            [false, false, false] => local::response_times(set),
            [true, true, _] => {
                let mut guarded = match GuardedSet::new(set)? {
                    Ok(guarded) => guarded,
                    Err(assumption) => return Ok(Verdict::NotApplicable(assumption)),
                };
                for (at, _) in self.of.iter().enumerate().filter(|(_, of)| **of == LockingProtocol::Mpcp) {
                    guarded.guard(at, Guard::Suspending);
                }
                mixed::response_times(&guarded)
            }
            [true, false, _] => msrp_joint::response_times(set),
            [false, true, _] => mpcp_lnr09_sound::response_times(set),
            [false, false, true] => fmlp_plus::response_times(set),
        }
    }
}
