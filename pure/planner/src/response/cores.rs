// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Reports cores that are asked for too much.

use taut_analysis::AnalysedCore;
use taut_analysis::uni::utilisation::Utilisation;
use taut_model::{Fault, KeyPath, Model, codes};
use taut_time::shown::percent;

use crate::placement::Placements;

/// The most tasks of an overloaded core that a fault shows, each at its line.
const MOST: usize = 8;

/// Reports cores that are asked for more than they have, and cores without a priority for each of their tasks.
pub(crate) fn report(model: &Model, placements: &Placements<'_>, faults: &mut Vec<Fault>) {
    for (at, core) in placements.cores.iter().enumerate() {
        let cpu = model.platform().cores[at];
        let place = || KeyPath::value(format!("platform.cores.{at}"));
        if !core.numbered {
            let message = format!("core {cpu} has no priority left for all of its tasks");
            faults.push(
                Fault::error(codes::CORE_FULL, message, place(), "too many tasks")
                    .note("the plan assigns priorities from 1 to 98, except those that the manifest fixes")
                    .help("let more of them be \"auto\", or use another core"),
            );
        }
        let utilisation = core.analysis.as_ref().ok().and_then(AnalysedCore::utilisation);
        let Some(utilisation) = utilisation.filter(|u| !u.fits()) else { continue };
        let ppm = utilisation.ppm();
        let message = format!("core {cpu} is overloaded");
        let mut fault =
            Fault::error(codes::CORE_OVERLOADED, message, place(), format!("needed to {}", percent(ppm)));
        let share = |members: &[usize]| {
            let costs = members
                .iter()
                .map(|&i| (placements.placements[i].cost, placements.placements[i].task.arrival.period()));
            Utilisation::of(costs).map_or(u64::MAX, |share| share.ppm())
        };
        // Show the tasks that take most: the user will change one of these, and a hundred places are no help.
        let mut members = core.members.clone();
        members.sort_by_cached_key(|&i| std::cmp::Reverse(share(&[i])));
        let (most, rest) = members.split_at(members.len().min(MOST));
        for &i in most {
            let placement = &placements.placements[i];
            let share = percent(share(&[i]));
            let (cost, period) = (placement.cost.rounded(), placement.task.arrival.period());
            let text = format!("`{}` takes {share}: {cost} per {period}", placement.name);
            fault = fault.also(placement.place("wcet.value"), text);
        }
        if !rest.is_empty() {
            let tasks = if rest.len() == 1 {
                "1 more task takes"
            } else {
                &format!("{} more tasks take", rest.len())
            };
            fault = fault.note(format!("{tasks} {} of it", percent(share(rest))));
        }
        let over = percent(ppm.saturating_sub(1_000_000));
        faults.push(
            fault
                .note("test: utilisation, context switches and the platform probe included (Liu & Layland 1973)")
                .help(format!("take {over} away: shorter execution, longer periods, or another core")),
        );
    }
}
