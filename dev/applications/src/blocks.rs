// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Bulk channels of a drawn application. Each block has a pattern over its whole length, which its sender and its number give, so a
//! block that is torn, or another's, shows. Each block that was sent is entered once: it came, or its sender took it back.

use taut_event::Kind;
use taut_event::file::Run;
use taut_plan::{ChannelPlan, ClassPlan, OverflowPolicy, Plan};
use taut_report::Report;
use taut_run::{BlockReceiver, BlockSender, Caller, Context, Create, Error, Job, LoanRefused};
use taut_time::Duration;

use crate::seen::Seen;

/// Evaluates an expression with a constant: the number of words in a block of the channel.
macro_rules! of_size {
    ($channel:expr, $words:ident => $body:expr) => {
        match $channel.size as usize / 8 {
            crate::draw::SMALL => {
                const $words: usize = crate::draw::SMALL;
                $body
            }
            crate::draw::MIDDLE => {
                const $words: usize = crate::draw::MIDDLE;
                $body
            }
            _ => {
                const $words: usize = crate::draw::LARGE;
                $body
            }
        }
    };
}
pub(crate) use of_size;

/// The most blocks of a channel that are told apart.
const MOST: usize = 1 << 15;

/// What became of a block. None is zero, so that memory for them is there before release 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Unknown = 1,
    Came = 2,
    Recalled = 3,
}

/// The blocks of a channel, as its parties saw them.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    fates: Vec<Fate>,
    sent: u64,
    refused: u64,
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self { fates: vec![Fate::Unknown; MOST], sent: 0, refused: 0 }
    }

    /// Enters what became of a block; false if something else did, or the same before.
    fn enter(&mut self, number: u64, fate: Fate) -> bool {
        let entry = usize::try_from(number).ok().and_then(|number| self.fates.get_mut(number));
        entry.is_some_and(|entry| std::mem::replace(entry, fate) == Fate::Unknown)
    }

    /// Adds what the other party saw; returns the number of a block for which both have a fate.
    pub(crate) fn add(&mut self, other: &Self) -> Option<u64> {
        self.sent += other.sent;
        self.refused += other.refused;
        let entered = (0..).zip(&other.fates).filter(|(_, fate)| **fate != Fate::Unknown);
        let mut twice = None;
        for (number, fate) in entered {
            if !self.enter(number, *fate) {
                twice = Some(number);
            }
        }
        twice
    }

    fn count(&self, fate: Fate) -> u64 {
        self.fates.iter().filter(|of| **of == fate).count() as u64
    }
}

/// A word of a block.
fn pattern(sender: u32, number: u64, at: usize) -> u64 {
    (number << 8 | u64::from(sender)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (at as u64).wrapping_mul(0xd134_2543)
}

/// Which channel, and the position of the task that writes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Of {
    pub(crate) channel: usize,
    pub(crate) sender: u32,
}

impl Of {
    pub(crate) fn new(plan: &Plan, channel: usize) -> Self {
        let sender = plan.task(&plan.channels[channel].writer.name).and_then(|task| u32::try_from(task).ok());
        Self { channel, sender: sender.unwrap_or(u32::MAX) }
    }
}

/// Fills a block and sends it; returns whether there was one.
pub(crate) fn fill<const N: usize>(
    end: &mut BlockSender<'_, [u64; N]>,
    by: &mut impl Caller,
    of: Of,
    next: &mut u64,
    seen: &mut Seen,
) -> bool {
    let mut block = match end.loan(by) {
        Ok(block) => block,
        Err(refused) => {
            seen.enter(of.channel).refused += u64::from(refused == LoanRefused::NoBlock);
            return false;
        }
    };
    let recalled = block.recalled();
    block.iter_mut().enumerate().for_each(|(at, word)| *word = pattern(of.sender, *next, at));
    let number = block.send(by);
    seen.enter(of.channel).sent += 1;
    if number != *next {
        seen.wrong(format!("channel {}: block {next} has number {number}", of.channel));
    }
    if let Some(recalled) = recalled
        && !seen.enter(of.channel).enter(recalled, Fate::Recalled)
    {
        seen.wrong(format!("channel {}: block {recalled} was taken back twice", of.channel));
    }
    *next += 1;
    true
}

/// Takes a block that waits, and looks at all of it.
fn came<const N: usize>(block: &[u64; N], number: u64, of: Of, seen: &mut Seen) {
    if let Some(at) = (0..N).find(|at| block[*at] != pattern(of.sender, number, *at)) {
        seen.wrong(format!("channel {}: word {at} of block {number} is {:#x}", of.channel, block[at]));
    }
    if !seen.enter(of.channel).enter(number, Fate::Came) {
        seen.wrong(format!("channel {}: block {number} came twice", of.channel));
    }
}

/// Takes all blocks that there are for `by`. With `keeps`, the last one stays with the receiver until it looks again.
pub(crate) fn take<const N: usize>(
    end: &mut BlockReceiver<'_, [u64; N]>,
    by: &mut impl Caller,
    of: Of,
    keeps: bool,
    seen: &mut Seen,
) {
    while let Some(block) = end.next(by) {
        came(&block, block.number(), of, seen);
        if keeps {
            std::mem::forget(block);
            return;
        }
    }
}

/// The sending end of a task, whatever the size of its blocks.
pub(crate) trait Fills {
    /// A job sends all that it may.
    fn in_job(&mut self, job: &mut Job<'_>, seen: &mut Seen);

    /// A best-effort task sends a block if one is free.
    fn in_background(&mut self, context: &mut Context<'_>, seen: &mut Seen);
}

/// The receiving end of a task.
pub(crate) trait Takes {
    /// A job takes all that it may.
    fn in_job(&mut self, job: &mut Job<'_>, seen: &mut Seen);

    /// A best-effort task takes all that there is, and waits for a moment.
    fn in_background(&mut self, context: &mut Context<'_>, seen: &mut Seen);
}

struct Sends<'p, const N: usize> {
    end: BlockSender<'p, [u64; N]>,
    of: Of,
    next: u64,
    most: u32,
}

impl<const N: usize> Fills for Sends<'_, N> {
    fn in_job(&mut self, job: &mut Job<'_>, seen: &mut Seen) {
        for _ in 0..self.most {
            fill(&mut self.end, job, self.of, &mut self.next, seen);
        }
    }

    fn in_background(&mut self, context: &mut Context<'_>, seen: &mut Seen) {
        if (self.next as usize) < MOST {
            fill(&mut self.end, context, self.of, &mut self.next, seen);
        }
    }
}

struct Receives<'p, const N: usize> {
    end: BlockReceiver<'p, [u64; N]>,
    of: Of,
}

impl<const N: usize> Takes for Receives<'_, N> {
    fn in_job(&mut self, job: &mut Job<'_>, seen: &mut Seen) {
        take(&mut self.end, job, self.of, false, seen);
    }

    fn in_background(&mut self, context: &mut Context<'_>, seen: &mut Seen) {
        while let Some(block) = self.end.next_within(context, Duration::from_ms(5)) {
            came(&block, block.number(), self.of, seen);
        }
    }
}

/// The sending end of the channel at a position of the plan.
pub(crate) fn sender<'p>(
    plan: &Plan,
    at: usize,
    create: &mut Create<'_, 'p>,
) -> Result<Box<dyn Fills + Send + 'p>, Error> {
    let channel = &plan.channels[at];
    let (of, most) = (Of::new(plan, at), channel.sends_per_release);
    Ok(of_size!(channel, N => {
        let end = create.block_sender::<[u64; N]>(&channel.name)?;
        Box::new(Sends { end, of, next: 1, most })
    }))
}

/// The receiving end.
pub(crate) fn receiver<'p>(
    plan: &Plan,
    at: usize,
    create: &mut Create<'_, 'p>,
) -> Result<Box<dyn Takes + Send + 'p>, Error> {
    let channel = &plan.channels[at];
    let of = Of::new(plan, at);
    Ok(of_size!(channel, N => {
        Box::new(Receives { end: create.block_receiver::<[u64; N]>(&channel.name)?, of })
    }))
}

fn is_real_time(plan: &Plan, task: &str) -> bool {
    plan.task(task).is_some_and(|task| matches!(plan.tasks[task].class, ClassPlan::RealTime { .. }))
}

/// Whether each block that was sent came, was taken back, or waits still behind all that came; and whether its parties saw what
/// the run recorded. While the machine stood still, a receiver may have come too late, where `report` has evidence of that.
pub(crate) fn counted(
    plan: &Plan,
    at: usize,
    run: &Run,
    ledger: &Ledger,
    report: Option<&Report>,
) -> Result<(), String> {
    let channel: &ChannelPlan = &plan.channels[at];
    let of = |kind: Kind| {
        run.records.iter().filter(move |record| record.kind == kind && usize::from(record.subject) == at)
    };
    let (sent, received) = (of(Kind::Send).count() as u64, of(Kind::Receive).count() as u64);
    let dropped: u64 = of(Kind::Drop).map(|record| record.value).sum();
    let (came, recalled) = (ledger.count(Fate::Came), ledger.count(Fate::Recalled));
    let error = |what: &str| {
        let figures = format!(
            "{sent} sent, {received} received, {dropped} dropped; {came} came, {recalled} taken back"
        );
        Err(format!("`{}`: {what}: {figures}, {} refused", channel.name, ledger.refused))
    };
    if (sent, received) != (ledger.sent, came) {
        return error("its parties saw something else than the run recorded");
    }
    let recalls = channel.overflow == OverflowPolicy::Recall;
    let by_real_time = is_real_time(plan, &channel.writer.name);
    // The refusals of a best-effort sender, which may ask again, are not recorded.
    let expected = match (recalls, by_real_time) {
        (true, true) => recalled + ledger.refused,
        (true, false) => recalled,
        (false, true) => ledger.refused,
        (false, false) => 0,
    };
    if dropped != expected {
        return error("what is dropped is not what its sender was told");
    }
    let fates = ledger.fates.iter().take(usize::try_from(sent).map_or(MOST, |sent| sent + 1));
    let newest = ledger.fates.iter().rposition(|fate| *fate == Fate::Came).unwrap_or(0);
    let unknown: Vec<usize> =
        fates.enumerate().skip(1).filter(|(_, fate)| **fate == Fate::Unknown).map(|(at, _)| at).collect();
    if unknown.len() > channel.capacity as usize || unknown.first().is_some_and(|oldest| *oldest < newest) {
        return error(&format!("blocks {unknown:?} are lost, {newest} came"));
    }
    let to_real_time = channel.readers.iter().all(|reader| is_real_time(plan, &reader.name));
    let stalled = report.is_some_and(|report| {
        report.channels().iter().any(|of| of.name == channel.name && of.late_machine > 0)
    });
    if by_real_time && to_real_time && !recalls && !stalled && dropped > 0 {
        return error("a block between real-time tasks was refused");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_one_fate() {
        let (mut receiver, mut sender) = (Ledger::new(), Ledger::new());
        assert!(receiver.enter(3, Fate::Came) && receiver.enter(4, Fate::Came));
        assert!(!receiver.enter(3, Fate::Came), "it came twice");
        assert!(!receiver.enter(MOST as u64, Fate::Came), "more than are told apart");
        assert!(sender.enter(5, Fate::Recalled));
        assert_eq!(receiver.add(&sender), None);
        assert!(sender.enter(4, Fate::Recalled));
        assert_eq!(receiver.add(&sender), Some(5), "the last of those that have a fate already");
    }

    #[test]
    fn words_of_a_block_differ() {
        let words = [pattern(1, 7, 0), pattern(1, 7, 1), pattern(1, 8, 0), pattern(2, 7, 0)];
        assert!((1..4).all(|at| !words[..at].contains(&words[at])), "{words:x?}");
    }
}
