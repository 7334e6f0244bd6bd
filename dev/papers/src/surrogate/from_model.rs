// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_manifest::{SourceText, load};
use taut_model::{ChannelKind, PartyId};
use taut_sweep::SharedObject;
use taut_time::Duration;

use super::{Case, Section, Task};

/// The fixed time of an access, and the time for each byte: assumed for a core of 2 GHz.
const ACCESS_NS: u64 = 500;
const BYTE_NS: u64 = 1;

/// The tasks of a manifest, and the state channels between them. Resources, and channels shared with clients, are
/// left out.
///
/// # Errors
/// The manifest has errors, leaves a task without a core, or has a cost that does not fit.
pub(crate) fn from_manifest(name: &str, text: &str) -> Result<Case, String> {
    let source = SourceText { name: name.into(), text: text.into() };
    let model = load(&source, &[]).model.ok_or_else(|| format!("{name} has errors"))?;
    let real_time: Vec<_> = model.real_time().collect();
    let one_core = model.platform().cores.len() == 1;
    let mut tasks = Vec::new();
    let mut used = Vec::new();
    for (_, task, rt) in &real_time {
        let core = rt.core.map(|core| core.index()).or(one_core.then_some(0));
        let period = rt.arrival.period();
        let cost = rt.wcet.bound().ok_or_else(|| format!("{name}: a cost does not fit"))?;
        // The utilisation in 10⁻⁹ of a core.
        used.push(u128::from(cost.as_ns()) * 1_000_000_000 / u128::from(period.as_ns()));
        tasks.push(Task {
            name: task.name.clone(),
            period,
            deadline: rt.deadline,
            core: core.ok_or_else(|| format!("{name}: `{}` has no core", task.name))?,
            share: 0,
            sections: Vec::new(),
        });
    }
    let cores = model.platform().cores.len();
    let of_core = |core: usize| {
        tasks.iter().zip(&used).filter(|(task, _)| task.core == core).map(|(_, used)| used).sum()
    };
    let most: u128 = (0..cores).map(of_core).max().unwrap_or(1).max(1);
    for (task, used) in tasks.iter_mut().zip(&used) {
        task.share = u64::try_from(used * 1_000_000 / most).unwrap_or(u64::MAX);
    }
    let position = |party: &PartyId| match party {
        PartyId::Task(id) => real_time.iter().position(|(task, ..)| task == id),
        PartyId::Client(_) => None,
    };
    let mut objects = Vec::new();
    for channel in model.channels().iter().filter(|channel| channel.kind == ChannelKind::State) {
        let readers: Vec<usize> = channel.readers.iter().filter_map(position).collect();
        let bytes = model.payloads()[channel.payload].size().map(u64::from);
        if let (Some(writer), Some(bytes)) = (position(&channel.writer), bytes)
            && readers.len() == channel.readers.len()
        {
            objects.push(SharedObject { bytes, writer, readers });
        }
    }
    let mut case = Case { cores, tasks, objects };
    for task in 0..case.tasks.len() {
        let objects = (0..case.objects.len()).filter(|&object| case.uses(task, object));
        let section = |object: usize| {
            let length = Duration::from_ns(ACCESS_NS + BYTE_NS * case.objects[object].bytes);
            (object, Section::Fixed(length))
        };
        case.tasks[task].sections = objects.map(section).collect();
    }
    Ok(case)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_that_is_loaded_most_has_the_whole() {
        let text = include_str!("../../../../examples/mobstr/taut.toml");
        let case = from_manifest("mobstr", text).expect("in order");
        let of =
            |core| case.tasks.iter().filter(|task| task.core == core).map(|task| task.share).sum::<u64>();
        let most = (0..case.cores).map(of).max().expect("some");
        // Each share is rounded down.
        assert!((999_990..=1_000_000).contains(&most), "{most}");
        let boxes = case.objects.iter().find(|object| object.bytes == 750_000).expect("the boxes are there");
        let writer = &case.tasks[boxes.writer];
        assert!(
            writer.sections.iter().any(|(_, section)| *section == Section::Fixed(Duration::from_ns(750_500)))
        );
    }
}
