// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! An application with another allocator than taut's, which counts nothing.
#![allow(clippy::unwrap_used, unreachable_pub, reason = "test code")]

#[path = "app/plain.rs"]
mod plain;

use plain::{Quiet, planned};
use taut_event::{Counter, Kind};
use taut_run::{Component, Config, Failure, Job, Task};
use taut_time::Duration;

/// A component that has some of the heap.
struct Takes(Vec<u8>);

impl Component for Takes {}

impl Task for Takes {
    fn release(&mut self, _: &mut Job<'_>) -> Result<(), Failure> {
        self.0[0] ^= 1;
        Ok(())
    }
}

/// Without taut's allocator no set-up is counted: nothing is recorded of it, and no bound refuses it.
#[test]
fn no_set_up_is_counted_without_the_allocator_of_taut() {
    let manifest = "manifest = 1\n[app]\nname = \"other\"\n[platform]\ncores = [0]\nmemory = \"64MiB\"\n\
                    on-missing-privilege = \"degrade\"\n[tasks.takes]\narrival = { periodic = \"5ms\" }\n\
                    deadline = \"5ms\"\nwcet = { value = \"50us\", source = \"guess\" }\n\
                    memory = { set-up = \"1B\" }\n";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("taut.toml"), manifest).unwrap();
    let lock = folder.path().join("taut.lock");
    std::fs::write(&lock, planned(manifest).to_lock().unwrap()).unwrap();
    let config = Config {
        lock,
        out: Some(folder.path().to_owned()),
        duration: Some(Duration::from_ms(30)),
        spawned_ns: None,
        record_limit: None,
        applications: None,
    };
    let ending = taut_run::run(&config, &mut Quiet, |app| app.task("takes", |_| Ok(Takes(vec![1; 100]))));
    assert!(ending.unwrap().orderly);
    let recorded = std::fs::read(folder.path().join(taut_run::RECORDING)).unwrap();
    let records = taut_event::file::Run::from_bytes(&recorded).unwrap().records;
    let counted: Vec<_> = records.iter().filter(|record| record.kind == Kind::Counted).collect();
    assert!(!counted.is_empty());
    let of = |count: Counter| counted.iter().filter(|record| record.job == count as u64).count();
    assert_eq!([Counter::HeapUse, Counter::SetUpHeap, Counter::SetUpHeapPeak].map(of), [0; 3]);
}
