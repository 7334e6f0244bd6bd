// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Any sequence of bytes, played as events on an object: its ends work, interrupt each other before any of their
//! shared steps, and have successors; and a stranger writes into any of its words, also at any of these times.
//!
//! Until the stranger writes, all guarantees of the protocol must hold. From then on:
//!
//! - no end accesses anything outside of the object, panics, or takes more steps than its bound;
//! - the words of a copy that nothing else interrupted come from one write, or from the stranger;
//! - ends detect what the file of their protocol says they detect.
//!
//! There is one driver for all objects, each of which is a scene. Both `tests/fuzzed.rs` and `live/share/fuzz` use
//! it.

mod bulk;
mod events;
mod flow;
mod ground;
mod input;
mod queue;
mod slices;
mod state;

use std::rc::Rc;

use events::{Event, Pace};
use ground::Ground;
use input::Input;

use crate::objects::{self, every_queue, every_state};

/// An object with all its ends, and the checks of what they do.
pub(crate) trait Scene {
    /// Its memory.
    fn ground(&self) -> &Ground;
    /// How many ends there are. Number 0 writes.
    fn ends(&self) -> u8;
    /// Lets an end perform one of its operations, unless it is in the middle of one, and checks the result.
    fn operate(&self, end: u8, how: u8);
    /// Ends an end that is not in the middle of an operation, and attaches its successor.
    fn succeed(&self, end: u8);
}

/// Builds an object on new ground.
pub(crate) type Build = fn(Ground) -> Rc<dyn Scene>;

/// All objects: a name and how to build one.
pub(crate) fn all() -> Vec<(&'static str, Build)> {
    let mut all: Vec<(&'static str, Build)> = Vec::new();
    macro_rules! states {
        ($($module:ident $object:ident)*) => {$(
            all.push((stringify!($module), state::build::<3, objects::$object>));
        )*};
    }
    every_state!(states);
    // Values of 3 words are contiguous, those of 9 each on lines of their own: batches of 2 and of 1.
    macro_rules! queues {
        ($($module:ident $object:ident)*) => {$(
            all.push((stringify!($module), queue::build::<3, objects::$object>));
            all.push((concat!(stringify!($module), " of 9 words"), queue::build::<9, objects::$object>));
        )*};
    }
    every_queue!(queues);
    all.push(("qrtr in slices", slices::qrtr));
    all.push(("qrtwc in slices", slices::qrtwc));
    all.push(("qrtwo in slices", slices::qrtwo));
    all.push(("broadcast in slices", slices::broadcast));
    all.push(("dbp", flow::dbp));
    all.push(("tccp by jobs", flow::tccp));
    all.push(("bulk", bulk::build));
    all
}

/// Plays `bytes` on an object; the first one selects its kind of memory, and whether there is a stranger.
pub(crate) fn play_on(build: Build, bytes: &[u8]) -> u64 {
    let mut input = Input::new(bytes);
    let Some(manner) = input.byte() else { return 0 };
    events::forget();
    let scene = build(Ground::new(manner & 1 != 0));
    let honest = manner & 2 != 0;
    let mut actions = 0;
    while let Some(action) = input.byte() {
        actions += 1;
        let how = action >> 3;
        match action & 7 {
            0 | 1 => scene.operate(0, how),
            2..=4 => scene.operate(how % scene.ends(), how),
            5 => {
                if let Some(spoil) = input.spoil()
                    && !honest
                {
                    scene.ground().spoil(spoil);
                }
            }
            6 => scene.succeed(how % scene.ends()),
            _ => {
                let Some(step) = input.byte() else { break };
                let events = (0..=how % 4).map_while(|_| input.event());
                let events = events.filter(|event| !honest || !matches!(event, Event::Spoil(_)));
                let pace = match how / 4 % 4 {
                    0 => Pace::OneByOne,
                    1 => Pace::Again,
                    _ => Pace::AtOnce,
                };
                events::meanwhile(u64::from(step % 32) + 1, &scene, events.collect(), pace);
            }
        }
        scene.ground().check();
    }
    events::forget();
    actions
}
