// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut bench` on a CPU that a real-time thread of another process keeps.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use taut_sys::thread;

/// The program ends by itself after this many seconds of processor time, even if the test fails.
const HOG: &str = "ulimit -t 20; while :; do :; done";

#[test]
fn bench_ends_and_names_the_thread_that_keeps_the_cpu() {
    let online = thread::online_cpus();
    let [_, .., cpu] = online[..] else {
        println!("skipped: no second CPU");
        return;
    };
    for priority in [50, 99] {
        let hog = Command::new("taskset")
            .args(["-c", &cpu.to_string(), "chrt", "-f", &priority.to_string(), "sh", "-c", HOG])
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut hog) = hog else {
            println!("skipped: no taskset");
            return;
        };
        std::thread::sleep(Duration::from_millis(200));
        if hog.try_wait().unwrap().is_some() {
            println!("skipped: this user may not create real-time threads");
            return;
        }
        let begin = Instant::now();
        let mut bench = Command::new(env!("CARGO_BIN_EXE_taut"));
        let answer = bench.args(["bench", "--for", "1s", "--core", &cpu.to_string()]).output().unwrap();
        let took = begin.elapsed();
        let ended = hog.try_wait().unwrap();
        hog.kill().unwrap();
        hog.wait().unwrap();
        let err = String::from_utf8(answer.stderr).unwrap();
        assert!(ended.is_none(), "it ends while the other goes on, and took {took:?}: {err}");
        let who = format!("`sh` (process {}), SCHED_FIFO {priority}, which used ", hog.id());
        assert!(err.contains(&who), "{who}\n{err}");
        // If its priority is below that of the measuring threads, there are figures, if the kernel throttles it.
        match answer.status.code() {
            Some(0) if priority == 50 => assert!(err.contains(&format!("measured beside {who}")), "{err}"),
            code => {
                assert_eq!(code, Some(3), "{err}");
                assert!(err.contains(&format!("other threads keep CPU {cpu}")), "{err}");
                assert!(answer.stdout.is_empty());
            }
        }
    }
}
