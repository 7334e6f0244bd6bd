// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut doctor`: what this machine and this user can guarantee.

use taut_boot::{AdmissionError, Applications, Guarantee, Guarantees};
use taut_sys::process::{self, Capability, RlimitResource};
use taut_sys::{machine, memory};

use crate::arguments::{Doctor, Screen};
use crate::input::Files;
use crate::outcome::{Failure, Outcome};
use crate::say::outln;

pub(crate) fn doctor(arguments: &Doctor, screen: &Screen) -> Result<Outcome, Failure> {
    let (mut left, mut fits) = (None, true);
    let mut guarantees = match &arguments.path {
        Some(path) => {
            let text = Files::at(path, &[])?.load()?;
            let Some(model) = text.model() else {
                text.show(None, screen);
                return Ok(Outcome::Usage);
            };
            let plan = text.plan(model)?.plan;
            let mut guarantees = Guarantees::find(&plan);
            if let Err(why) = Applications::of_machine().check(&plan, &guarantees) {
                fits = !matches!(why, AdmissionError::Refused { .. });
                guarantees.lose(Guarantee::Exclusive, why);
            }
            left = guarantees.throttle_left(&plan);
            guarantees
        }
        None => Guarantees::of_machine(),
    };
    if let Err(error) = memory::lock_all() {
        guarantees.lose(Guarantee::Memory, error);
    }
    if let Err(error) = machine::dma_latency_hold() {
        guarantees.lose(Guarantee::Wakeup, error);
    }
    of_started(&mut guarantees);
    for (key, value) in machine::machine_facts() {
        outln!("{key:<22} {value}");
    }
    outln!("");
    for (guarantee, gives) in Guarantee::ALL {
        let have = if guarantees.keeps(guarantee) { "yes" } else { "no " };
        outln!("{have}  {guarantee:?}: {gives}");
        if let Some(left) = left.as_ref().filter(|_| guarantee == Guarantee::Throttle) {
            outln!("       here: {left}");
        }
        for lost in guarantees.lost.iter().filter(|lost| lost.guarantee == guarantee) {
            outln!(
                "       why: {}\n       means: {}\n       to get it: {}",
                lost.why,
                lost.means,
                lost.remedy
            );
        }
    }
    outln!(
        "\nThese are the rights of this command, and so of an application that `taut run` starts. Capabilities\n\
         that `setcap` gives to the file of an application come on top; each build removes them."
    );
    Ok(if guarantees.is_degraded() || !fits { Outcome::Environment } else { Outcome::Yes })
}

/// Removes the guarantees that this command has only through its own file's capabilities: a program that it starts
/// does not inherit those.
pub(crate) fn of_started(guarantees: &mut Guarantees) {
    let rights = [
        (Guarantee::Priorities, Capability::SysNice, RlimitResource::RealTimePriority, Some(99)),
        (Guarantee::Memory, Capability::IpcLock, RlimitResource::LockedMemory, None),
    ];
    for (guarantee, capability, resource, needed) in rights {
        let enough = process::limit(resource).is_ok_and(|limit| match (limit.soft, needed) {
            (None, _) => true,
            (Some(limit), Some(needed)) => limit >= needed,
            (Some(_), None) => false,
        });
        if guarantees.keeps(guarantee)
            && process::capability(capability)
            && !process::inherits(capability)
            && !enough
        {
            let name = capability.name();
            guarantees.lose(
                guarantee,
                format_args!(
                    "this command has {name} from its own file, and a program that it starts does not \
                     inherit that"
                ),
            );
        }
    }
}
