// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut doctor`: what this machine and this user can guarantee.

use taut_boot::{Guarantee, Posture};
use taut_sys::{machine, memory};

use crate::arguments::{Doctor, Screen};
use crate::input::Files;
use crate::outcome::{Failure, Outcome};
use crate::say::outln;

pub(crate) fn doctor(arguments: &Doctor, screen: &Screen) -> Result<Outcome, Failure> {
    let mut posture = match &arguments.path {
        Some(path) => {
            let text = Files::at(path, &[])?.load()?;
            let Some(model) = text.model() else {
                text.show(None, screen);
                return Ok(Outcome::Usage);
            };
            Posture::find(&text.plan(model)?.plan)
        }
        None => Posture::of_machine(),
    };
    if let Err(error) = memory::lock_all() {
        posture.lose(Guarantee::Memory, error);
    }
    if let Err(error) = machine::dma_latency_hold() {
        posture.lose(Guarantee::Wakeup, error);
    }
    for (key, value) in machine::machine_facts() {
        outln!("{key:<22} {value}");
    }
    outln!("");
    for (guarantee, gives) in Guarantee::ALL {
        let have = if posture.keeps(guarantee) { "yes" } else { "no " };
        outln!("{have}  {guarantee:?}: {gives}");
        for lost in posture.lost.iter().filter(|lost| lost.guarantee == guarantee) {
            outln!(
                "       why: {}\n       means: {}\n       to get it: {}",
                lost.why,
                lost.means,
                lost.remedy
            );
        }
    }
    Ok(if posture.is_degraded() { Outcome::Environment } else { Outcome::Yes })
}
