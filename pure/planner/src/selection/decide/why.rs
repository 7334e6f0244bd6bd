// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the whole plan would be with another mechanism for one state, everything else as decided.

use std::fmt::Write;

use taut_model::{Aim, ChannelId, Executor, Mechanism, Model};
use taut_plan::{ChoicePlan, OtherPlan, Overrides};
use taut_time::Duration;

use super::measure::Measure;
use super::{Decided, state};
use crate::channels::buffers;
use crate::channels::flow;
use crate::channels::flow::Realisation;
use crate::overrides;
use crate::overrides::OverrideError;
use crate::placement::Placements;
use crate::response::bounds::ResponseBounds;
use crate::response::proof::{Effort, Proof};

/// A mechanism for a state, and its consequences.
pub(super) struct Offer {
    pub(super) mechanism: Mechanism,
    /// Bytes of the object; `None` if the state cannot have the mechanism at all.
    pub(super) bytes: Option<u64>,
    /// What it adds to a job of the writer and of a reader, beyond what their execution times include.
    pub(super) added: [Duration; 2],
    /// Why the plan cannot take it; `None` if it can.
    pub(super) refused: Option<String>,
    /// The measure of the whole plan with it.
    measure: Option<Measure>,
}

/// All mechanisms that serve a state between tasks, by bytes.
pub(super) fn offers(decided: &Decided, id: ChannelId) -> Vec<Offer> {
    let placements = Placements::choose(&decided.open, None);
    let serving = serving(&decided.open, &placements, id).into_iter();
    let mut offers: Vec<Offer> = serving.map(|mechanism| offer(decided, id, mechanism)).collect();
    offers.sort_by_key(|offer| offer.bytes.unwrap_or(u64::MAX));
    offers
}

/// The mechanisms that serve the parties of a channel on the cores where they run.
fn serving(model: &Model, placements: &Placements<'_>, id: ChannelId) -> Vec<Mechanism> {
    let here = state::locks(model, placements, id);
    let fits = |mechanism: &Mechanism| mechanism.locking().is_none() || here.contains(mechanism);
    buffers::serving(model, id).into_iter().filter(fits).collect()
}

/// Why the plan does not take a lock, whatever its consequences.
fn guess(model: &Model, id: ChannelId, mechanism: Mechanism) -> Option<String> {
    if mechanism.locking().is_none() || model.channel(id).mechanism == Some(mechanism) {
        return None;
    }
    if model.platform().executor == Executor::Native {
        return Some("the native executor has no locks: `executor = \"native\"`".to_owned());
    }
    (model.platform().overheads.sources.lock.is_none())
        .then(|| "its cost would be a guess: `overheads.lock` is not stated".to_owned())
}

fn offer(decided: &Decided, id: ChannelId, mechanism: Mechanism) -> Offer {
    let open = &decided.open;
    let nothing = |why: String| {
        let added = added(open, id, mechanism);
        Offer { mechanism, bytes: None, added, refused: Some(why), measure: None }
    };
    let lock = mechanism.locking().is_some();
    if let Some(why) = state::unlockable(open, id).filter(|_| lock) {
        return nothing(why);
    }
    let Some(model) = decided.with(id, mechanism) else {
        return nothing("its times do not fit in 64 bits".into());
    };
    let proof = Proof::find(&model, Effort::Quick, &mut Vec::new());
    let realised = flow::realise(&model, id, &proof.bounds, &mut Vec::new());
    if realised.mechanism != mechanism {
        return nothing("it would need more buffers than it can have, by the times of the parties".into());
    }
    let bytes = realised.bytes(&model, id);
    let measure = Measure::of(&model);
    let refused = (!measure.kept).then(|| forbidden(&model, &proof, &measure));
    let refused = refused.or_else(|| guess(open, id, mechanism));
    Offer { mechanism, bytes, added: added(open, id, mechanism), refused, measure: Some(measure) }
}

/// Which deadline or chain would not be kept, or what else is wrong.
fn forbidden(model: &Model, proof: &Proof<'_>, measure: &Measure) -> String {
    if let Some(late) = &measure.late {
        let task = model.real_time().find(|(_, task, _)| task.name == *late);
        let deadline = task.map_or(Duration::ZERO, |(.., real_time)| real_time.deadline);
        let past = proof.past(late);
        return match past {
            Some(past) => {
                format!("`{late}` would take {}, due in {deadline}", past.rounded_above(deadline))
            }
            None => format!("the deadline of `{late}`, {deadline}, would not be shown"),
        };
    }
    if let Some(chain) = &measure.chain {
        return match chain.latency.filter(|latency| *latency > chain.max_latency) {
            Some(latency) => {
                let latency = latency.rounded();
                format!("chain `{}` would take {latency}, {} allowed", chain.name, chain.max_latency)
            }
            None => format!("chain `{}` would react too late", chain.name),
        };
    }
    measure.fault.clone().unwrap_or_else(|| "some server would not be shown to keep its budget".into())
}

/// What a smaller object costs elsewhere, if the whole plan takes more memory with it.
fn dearer((bytes, mine): (u64, u64), with: &Measure, now: impl Fn() -> Measure) -> Option<String> {
    if bytes >= mine {
        return None;
    }
    let more = with.bytes.checked_sub(now().bytes).filter(|more| *more > 0)?.div_ceil(1 << 10);
    Some(format!("it would need {more} KiB more in total, with the memory of a lock besides its value"))
}

/// Of a lock, the overhead of acquiring and releasing it; of other mechanisms, the copies after the first.
fn added(model: &Model, id: ChannelId, mechanism: Mechanism) -> [Duration; 2] {
    let channel = model.channel(id);
    let overheads = model.platform().overheads;
    let copy = model.value_bytes(id).and_then(|bytes| overheads.copying(bytes)).unwrap_or(Duration::MAX);
    let (writes, reads) = mechanism.copies(u32::try_from(channel.readers.len()).unwrap_or(u32::MAX));
    let counts = [(channel.sends_per_release, writes), (channel.takes_per_release, reads)];
    counts.map(|(count, copies)| {
        let each = match mechanism.locking() {
            Some(_) => Some(overheads.lock),
            None => copy.checked_mul(u64::from(copies).saturating_sub(1)),
        };
        each.and_then(|each| each.checked_mul(count.into())).unwrap_or(Duration::MAX)
    })
}

/// What a proven plan says of the choice between several mechanisms; `None` if no lock serves the state, so that
/// there is no choice.
///
/// The whole plan is proven anew only for mechanisms with other times.
pub(crate) fn choice(
    decided: &Decided,
    bounds: &ResponseBounds,
    id: ChannelId,
    taken: &Realisation,
) -> Option<ChoicePlan> {
    if !state::is_guardable(&decided.open, id) {
        return None;
    }
    let (open, mine) = (&decided.open, taken.bytes(&decided.model, id)?);
    let placements = Placements::choose(open, None);
    let bytes = |mechanism: Mechanism| match mechanism.locking() {
        Some(_) => {
            let readers = u32::try_from(open.channel(id).readers.len()).ok()?;
            mechanism.bytes(open.value_bytes(id)?, 1, readers)
        }
        None => buffers::bytes(&decided.model, id, bounds, mechanism),
    };
    let mut others: Vec<(u64, Mechanism)> = serving(open, &placements, id)
        .into_iter()
        .filter(|mechanism| *mechanism != taken.mechanism)
        .filter_map(|mechanism| Some((bytes(mechanism)?, mechanism)))
        .collect();
    others.sort_by_key(|(bytes, _)| *bytes);
    let plain = |mechanism: Mechanism| mechanism.locking().is_none() && mechanism.copies(1) == (1, 1);
    let (mut next, mut cheaper) = (None, Vec::new());
    for (bytes, mechanism) in others {
        if bytes >= mine && next.is_some() {
            break;
        }
        let same = plain(mechanism) && plain(taken.mechanism);
        let refused = match guess(open, id, mechanism) {
            _ if same => None,
            Some(guess) => Some(guess),
            None => {
                let offer = offer(decided, id, mechanism);
                let whole = || Measure::of(&decided.model);
                let smaller = || dearer((bytes, mine), offer.measure.as_ref()?, whole);
                offer.refused.clone().or_else(smaller)
            }
        };
        let other = OtherPlan { mechanism, bytes: Some(bytes), refused };
        match other.refused {
            Some(_) if bytes < mine => cheaper.push(other),
            Some(_) => {}
            None => next = next.or(Some(other)),
        }
    }
    let [writer, reader] = added(open, id, taken.mechanism);
    Some(ChoicePlan { writer, reader, next, cheaper })
}

/// A table for people: every mechanism that serves a channel, and what the whole plan would be with it, everything
/// else as decided; the smallest first.
///
/// It proves the whole plan anew for each mechanism: some milliseconds, or seconds for large applications.
///
/// # Errors
/// [`OverrideError`] if there is no such channel, or the overrides cannot be applied.
pub fn why_channel(model: &Model, overrides: &Overrides, name: &str) -> Result<String, OverrideError> {
    let id = overrides::channel(model, name)?;
    let open = overrides::overridden(overrides, model)?;
    let aim = overrides.minimise.unwrap_or(open.platform().minimise);
    let decided = super::decide(open, aim, &mut Vec::new());
    let model = &decided.model;
    let channel = model.channel(id);
    let proof = Proof::find(model, Effort::Quick, &mut Vec::new());
    let taken = flow::realise(model, id, &proof.bounds, &mut Vec::new());
    let readers: Vec<&str> = channel.readers.iter().map(|reader| model.party_name(*reader)).collect();
    let mut text = format!("{name}: {} -> {}\n", model.party_name(channel.writer), readers.join(", "));
    let _ = writeln!(text, "{}: {}", taken.mechanism.paper_name(), taken.reason);
    let measure = Measure::of(model);
    if !measure.kept {
        let _ = writeln!(text, "NOT PROVEN as it is: {}", forbidden(model, &proof, &measure));
    }
    text.push('\n');
    let own = taken.bytes(model, id);
    let head = ["mechanism", "bytes", "writer", "reader", ""].map(str::to_owned);
    let row = |offer: Offer| {
        let aimed = || offer.measure.as_ref().map_or_else(String::new, |measure| measure.described(aim));
        let verdict = match offer.refused {
            _ if offer.mechanism == taken.mechanism => match channel.mechanism {
                Some(_) => format!("taken, since it is pinned{}", aimed()),
                None => format!("taken{}", aimed()),
            },
            Some(why) => why,
            None => match offer
                .bytes
                .zip(own)
                .zip(offer.measure.as_ref())
                .and_then(|(sizes, with)| dearer(sizes, with, || measure.clone()))
            {
                Some(more) if aim == Aim::Memory => format!("would do; {more}"),
                _ => format!("would do{}", aimed()),
            },
        };
        let bytes = offer.bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
        let [writer, reader] = offer.added.map(|time| format!("+{}", time.rounded()));
        [offer.mechanism.paper_name().to_owned(), bytes, writer, reader, verdict]
    };
    let rows: Vec<[String; 5]> =
        [head].into_iter().chain(offers(&decided, id).into_iter().map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let [mechanism, bytes, writer, reader] = [0, 1, 2, 3].map(width);
    for [a, b, c, d, e] in &rows {
        let line = format!("  {a:mechanism$}  {b:>bytes$}  {c:>writer$}  {d:>reader$}  {e}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    Ok(text)
}
