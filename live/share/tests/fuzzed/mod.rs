// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Any bytes, played as what happens to an object: its ends work, are interrupted by each other before any of their
//! shared steps, and have successors; and somebody writes into any of its words, at any of these times too.
//!
//! Until somebody does, all that the protocol promises must hold. From then on:
//!
//! - no end touches anything outside of the object, panics, or takes more steps than its bound;
//! - words of a copy that nobody else interrupted are those that one write put there, or the stranger;
//! - what a file says that its ends find out, they find out.
//!
//! One driver for all objects, which are scenes. Both `tests/fuzzed.rs` and `live/share/fuzz` play here.

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

/// An object with all its ends, and what must be true of them.
pub(crate) trait Scene {
    /// Where it stands.
    fn ground(&self) -> &Ground;
    /// How many ends there are. Number 0 writes.
    fn ends(&self) -> u8;
    /// Lets an end do one of its operations, unless it is in the middle of one, and judges it.
    fn operate(&self, end: u8, how: u8);
    /// Ends an end that is not in the middle of an operation, and attaches another in its place.
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
    // Values of 3 words stand close together, those of 9 apart: batches of 2 and of 1.
    macro_rules! queues {
        ($($module:ident $object:ident)*) => {$(
            all.push((stringify!($module), queue::build::<3, objects::$object>));
            all.push((concat!(stringify!($module), " of 9 words"), queue::build::<9, objects::$object>));
            all.push((concat!(stringify!($module), " in slices"), slices::$module));
        )*};
    }
    every_queue!(queues);
    all.push(("dbp", flow::dbp));
    all.push(("tccp by jobs", flow::tccp));
    all.push(("bulk", bulk::build));
    all
}

/// Plays `bytes`: the first one says on which object. The number of actions.
pub(crate) fn play(bytes: &[u8]) -> u64 {
    let Some((first, rest)) = bytes.split_first() else { return 0 };
    let all = all();
    play_on(all[usize::from(*first) % all.len()].1, rest)
}

/// Plays `bytes` on an object: the first one says where it stands, and whether there is a stranger.
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
