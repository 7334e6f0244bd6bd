// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Protocols for resources of several cores under fixed priority, together with the test that covers them.

use taut_analysis::multi::{
    Bounds, Guard, GuardedSet, fmlp_plus, mixed, mpcp_lnr09_sound, msrp_gai01, msrp_holistic, msrp_joint,
};
use taut_analysis::{Overflow, Verdict};
use taut_model::{LockingProtocol, Model, SchedulingPolicy, TaskSet};

use super::local;

/// An analysis of sets whose resources of several cores have one protocol: its name among the alternatives of a task, and
/// how it bounds response times.
#[derive(Clone, Copy)]
pub(crate) struct Analysis(
    pub(crate) &'static str,
    pub(crate) fn(&TaskSet) -> Result<Verdict<Bounds>, Overflow>,
);

/// How resources of several cores are analysed under a protocol.
#[derive(Clone, Copy)]
struct Analyses {
    /// The analysis that plans use, and what a plan says of it.
    used: Analysis,
    says: &'static str,
    /// Weaker ones, for comparison.
    others: &'static [Analysis],
    /// What a resource is to [`mixed`], which analyses several protocols beside one another; `None` if it does not
    /// analyse this one.
    beside: Option<Guard>,
}

/// The analyses of a protocol; `None` if it is for resources of one core.
fn analyses(protocol: LockingProtocol) -> Option<Analyses> {
    Some(match protocol {
        LockingProtocol::Srp | LockingProtocol::Dfp => return None,
        LockingProtocol::Msrp => Analyses {
            used: Analysis("MSRP, requests of a core", msrp_joint::response_times),
            says: "response-time analysis, fixed priority, MSRP, a core's requests counted together (Wieder & Brandenburg \
                   2013)",
            others: &[
                Analysis("MSRP, requests of a job", msrp_holistic::response_times),
                Analysis("MSRP, each request alone", msrp_gai01::response_times),
            ],
            beside: Some(Guard::Spinning),
        },
        LockingProtocol::Mpcp => Analyses {
            used: Analysis("MPCP", mpcp_lnr09_sound::response_times),
            says: "response-time analysis, fixed priority, MPCP (Lakshmanan et al. 2009, with the jitter that it lacks)",
            others: &[],
            beside: Some(Guard::Suspending),
        },
        LockingProtocol::FmlpPlus => Analyses {
            used: Analysis("FMLP+", fmlp_plus::response_times),
            says: "response-time analysis, fixed priority, FMLP+ (Brandenburg 2011)",
            others: &[],
            beside: None,
        },
    })
}

/// What a plan says of [`mixed`].
const BESIDE: &str = "response-time analysis, fixed priority, MSRP beside MPCP (Brandenburg 2011; Lakshmanan et al. 2009 with \
                      the jitter that it lacks; of the one beside the other: this project's)";

/// The protocols for resources of several cores, in the order in which they are tried where the manifest names none.
fn for_several_cores() -> impl Iterator<Item = (LockingProtocol, Analyses)> {
    LockingProtocol::ALL.into_iter().filter_map(|protocol| Some((protocol, analyses(protocol)?)))
}

/// All analyses for resources of several cores, those of the protocol that is tried first at the beginning. With each,
/// its protocol, and whether plans use it.
pub(crate) fn all_analyses() -> impl Iterator<Item = (LockingProtocol, Analysis, bool)> {
    for_several_cores().flat_map(|(protocol, of)| {
        let others = of.others.iter().map(move |other| (protocol, *other, false));
        std::iter::once((protocol, of.used, true)).chain(others)
    })
}

/// The names of those protocols for resources of several cores that fit cores under this policy, in the order of
/// [`all_analyses`].
pub(crate) fn names(scheduler: SchedulingPolicy) -> Vec<&'static str> {
    let fitting =
        for_several_cores().map(|(protocol, _)| protocol).filter(|protocol| protocol.fits(scheduler));
    fitting.map(LockingProtocol::paper_name).collect()
}

/// The names of the protocols that are analysed beside one another.
pub(crate) fn beside() -> String {
    let beside = for_several_cores().filter(|(_, of)| of.beside.is_some());
    beside.map(|(protocol, _)| protocol.paper_name()).collect::<Vec<_>>().join(" beside ")
}

/// What a resource is to [`mixed`], and so to a selection of mechanisms, if it has this protocol; `None` if it is not
/// analysed there beside others.
pub fn guard_of(protocol: LockingProtocol) -> Option<Guard> {
    analyses(protocol)?.beside
}

/// A protocol for each resource.
pub(crate) struct Protocols {
    /// By resource.
    pub(crate) of: Vec<LockingProtocol>,
    global: Vec<bool>,
}

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
        for candidate in for_several_cores().map(|(protocol, _)| with(protocol)) {
            if candidate.go_together() && all.iter().all(|other| other.of != candidate.of) {
                all.push(candidate);
            }
        }
        all
    }

    /// The protocols of the resources of several cores.
    fn used(&self) -> Vec<(LockingProtocol, Analyses)> {
        let has = |protocol| self.of.iter().zip(&self.global).any(|(of, global)| *global && *of == protocol);
        for_several_cores().filter(|(protocol, _)| has(*protocol)).collect()
    }

    /// Whether there is an analysis for all of them together.
    pub(crate) fn go_together(&self) -> bool {
        let used = self.used();
        used.len() < 2 || used.iter().all(|(_, of)| of.beside.is_some())
    }

    /// By resource, whether its waiters are suspended.
    pub(crate) fn suspending(&self) -> Vec<bool> {
        self.of.iter().map(|of| of.suspends()).collect()
    }

    pub(crate) fn test(&self) -> &'static str {
        match self.used()[..] {
            [] => {
                "response-time analysis, fixed priority, immediate ceilings (Baker 1991; Audsley et al. 1993)"
            }
            [(_, of)] => of.says,
            _ => BESIDE,
        }
    }

    /// Bounds the response times of a set with these resources, and maybe with further resources of one core.
    pub(crate) fn response_times(&self, set: &TaskSet) -> Result<Verdict<Bounds>, Overflow> {
        match self.used()[..] {
            [] => local::response_times(set),
            [(_, Analyses { used: Analysis(_, response_times), .. })] => response_times(set),
            _ => {
                let mut guarded = match GuardedSet::new(set)? {
                    Ok(guarded) => guarded,
                    Err(assumption) => return Ok(Verdict::NotApplicable(assumption)),
                };
                for (at, protocol) in self.of.iter().enumerate() {
                    if let Some(guard) = guard_of(*protocol) {
                        guarded.guard(at, guard);
                    }
                }
                mixed::response_times(&guarded)
            }
        }
    }
}
