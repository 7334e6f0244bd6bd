// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! After construction nothing allocates: a counting global allocator watches every real-time operation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

use taut_cochlear::inspection::Inspector;
use taut_cochlear::speech::Speech;
use taut_cochlear::{Params, Processor, Settings, Stimulation};

struct Counting;

thread_local! {
    // Constant initialiser and no destructor: reading it allocates nothing.
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to `System` unchanged, which upholds the contract; counting touches no memory it manages.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller's obligations are those of `System::alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller's obligations are those of `System::dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller's obligations are those of `System::realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Calls to the allocator while `work` runs on this thread.
fn calls(work: impl FnOnce()) -> usize {
    let before = CALLS.get();
    work();
    CALLS.get() - before
}

#[test]
fn processing_and_inspection_never_touch_the_heap() {
    // The counter counts: otherwise this test could not fail.
    assert!(calls(|| drop(black_box(vec![1_u8]))) >= 2);

    for params in [Params::default(), Params::default().with_pre_emphasis(1200.0).unwrap()] {
        let frames: Vec<_> = Speech::bundled().collect();
        let mut processor = Processor::new(&params);
        let mut inspector = Inspector::new(params.map().clone(), params.maxima());
        let mut sum = 0_u64;
        // From the very first frame on: nothing may be made lazily.
        let used = calls(|| {
            for (number, frame) in (0..).zip(&frames) {
                let settings = match number % 3 {
                    0 => Settings::default(),
                    1 => Settings { volume: f32::NAN, sensitivity: f32::INFINITY },
                    _ => Settings { volume: 0.5, sensitivity: -3.0 },
                };
                let mut stimulation = Stimulation::silent(number);
                processor.process(frame, settings, &mut stimulation.levels);
                inspector.check(&stimulation);
                sum += u64::from(stimulation.peaks()[21]);
            }
        });
        assert_eq!(used, 0, "allocator calls in {} frames", frames.len());
        assert!(inspector.defects().none() && sum > 0);
    }
}

#[test]
fn reading_frames_never_touches_the_heap() {
    let mut speech = Speech::bundled().repeated();
    let used = calls(|| {
        for _ in 0..2000 {
            black_box(speech.next());
        }
    });
    assert_eq!(used, 0);
}
