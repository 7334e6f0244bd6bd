// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Other processes that affect the threads of this one: tracers that stop them, and real-time threads that Linux runs
//! first.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::error::{check, check_size};
use crate::{clock, process, thread};

/// The first bytes of `/proc/…/status`, which contain the tracer.
const STATUS_BYTES: usize = 1024;

/// The process that traces a thread of this one: a debugger, `strace`. `None` if there is no tracer or no such
/// thread, and where `/proc` is not readable. Three system calls, some microseconds; no heap, no lock.
pub fn tracer_of(tid: i32) -> Option<u32> {
    // Miri has no such file.
    if cfg!(miri) {
        return None;
    }
    let mut path = [0u8; 48];
    let text = b"/proc/self/task/";
    path[..text.len()].copy_from_slice(text);
    let mut digits = [0u8; 10];
    let (mut rest, mut count) = (u32::try_from(tid).ok()?, 0);
    while count == 0 || rest > 0 {
        digits[count] = b'0' + (rest % 10) as u8;
        (rest, count) = (rest / 10, count + 1);
    }
    for (place, digit) in path[text.len()..].iter_mut().zip(digits[..count].iter().rev()) {
        *place = *digit;
    }
    let end = text.len() + count;
    path[end..end + 7].copy_from_slice(b"/status");
    // SAFETY: the path is ours and ends with a zero.
    let opened = unsafe { libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC) };
    let file = check("open", opened).ok()?;
    let mut bytes = [0u8; STATUS_BYTES];
    // SAFETY: the buffer is ours and as long as we say; the descriptor is ours, and closed once.
    let read = unsafe {
        let read = libc::read(file, bytes.as_mut_ptr().cast(), bytes.len());
        libc::close(file);
        read
    };
    let length = check_size("read", read).ok()?;
    tracer_in(&bytes[..length])
}

fn tracer_in(status: &[u8]) -> Option<u32> {
    let mut lines = status.split(|byte| *byte == b'\n');
    let field = lines.find_map(|line| line.strip_prefix(b"TracerPid:"))?;
    let pid: u32 = std::str::from_utf8(field).ok()?.trim().parse().ok()?;
    (pid != 0).then_some(pid)
}

/// A thread of another process that Linux runs before all ordinary ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealTimeThread {
    /// Its id.
    pub tid: i32,
    /// The id of its process.
    pub pid: i32,
    /// Linux's number of its policy: `SCHED_FIFO` 1, `SCHED_RR` 2, `SCHED_DEADLINE` 6.
    pub policy: u8,
    /// Its priority, 1 to 99; 0 under `SCHED_DEADLINE`, which is above all of them.
    pub priority: u8,
    /// The CPU that it runs on, or ran on last.
    pub cpu: u16,
    /// Processor time that it has used, ns. For a running thread it may lag by up to a tick of the kernel.
    pub ran_ns: u64,
    /// When it started, in clock ticks since boot; together with `tid`, this identifies a thread without reuse.
    pub started: u64,
    /// Its name, as in `ps`: 15 bytes at most, then zeros.
    pub name: [u8; 16],
}

/// Passes every real-time thread of other processes that this process can see to `found`. Allocates; about a
/// microsecond per thread of the machine, and more per process: for best-effort threads.
pub fn real_time_threads(mut found: impl FnMut(RealTimeThread)) {
    let own = process::pid();
    for pid in numbers("/proc").filter(|pid| *pid != own) {
        let tasks = format!("/proc/{pid}/task");
        // The folder has a link for each thread, and two of its own.
        let Ok(about) = fs::metadata(&tasks) else { continue };
        if about.nlink() <= 3 {
            if let Some(thread) = real_time_thread(pid, pid) {
                found(thread);
            }
        } else {
            numbers(&tasks).filter_map(|tid| real_time_thread(pid, tid)).for_each(&mut found);
        }
    }
}

/// Whether a process has a real-time thread, which takes the right to one. Allocates: for best-effort threads.
pub fn has_real_time_thread(pid: u32) -> bool {
    numbers(&format!("/proc/{pid}/task")).any(|tid| real_time_thread(pid, tid).is_some())
}

/// The entries of a folder whose names are numbers.
fn numbers(folder: &str) -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

fn real_time_thread(pid: u32, tid: u32) -> Option<RealTimeThread> {
    let number = i32::try_from(tid).ok()?;
    let process = i32::try_from(pid).ok()?;
    let policy = match thread::policy_of(number).ok()? {
        thread::ThreadPolicy::Fifo(_) => 1,
        thread::ThreadPolicy::Unknown(policy @ (2 | 6)) => policy as u8,
        _ => return None,
    };
    let stat = fs::read(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
    let ran = || {
        let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
        text.split_ascii_whitespace().next()?.parse().ok()
    };
    parse(&stat, (process, number), policy, ran())
}

/// Parses `/proc/…/stat`; without a count in nanoseconds (`ran_ns`), uses the one in clock ticks.
fn parse(stat: &[u8], (pid, tid): (i32, i32), policy: u8, ran_ns: Option<u64>) -> Option<RealTimeThread> {
    // The second field is a name in parentheses that may hold anything.
    let open = stat.iter().position(|byte| *byte == b'(')?;
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let bytes = stat.get(open + 1..close)?;
    let mut name = [0; 16];
    let length = bytes.len().min(15);
    name[..length].copy_from_slice(&bytes[..length]);
    let rest = std::str::from_utf8(stat.get(close + 1..)?).ok()?;
    // The first of these is field 3.
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let ticks = field(14)?.saturating_add(field(15)?);
    Some(RealTimeThread {
        tid,
        pid,
        policy,
        priority: u8::try_from(field(40)?).ok()?,
        cpu: u16::try_from(field(39)?).ok()?,
        ran_ns: ran_ns.unwrap_or_else(|| ticks.saturating_mul(clock::tick_ns())),
        started: field(22)?,
        name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_tracer_is_read_from_the_status() {
        assert_eq!(tracer_in(b"Name:\tx\nTracerPid:\t4711\nUid:\t0\n"), Some(4711));
        assert_eq!(tracer_in(b"Name:\tx\nTracerPid:\t0\nUid:\t0\n"), None);
        assert_eq!(tracer_in(b"Name:\tTracerPid:\t7\nUid:\t0\n"), None);
        assert_eq!(tracer_in(b""), None);
        assert_eq!(tracer_of(-1), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "starts other processes")]
    fn a_tracer_is_seen_while_it_is_there() {
        if Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_err() {
            println!("skipped: no strace");
            return;
        }
        let tid = thread::tid();
        assert_eq!(tracer_of(tid), None);
        let mut strace = Command::new("strace");
        let strace = strace.args(["-qq", "-o", "/dev/null", "-p", &tid.to_string()]);
        let mut strace = strace.stderr(Stdio::null()).spawn().unwrap();
        let give_up_ns = clock::monotonic_ns() + 10_000_000_000;
        let mut seen = None;
        while seen.is_none() && clock::monotonic_ns() < give_up_ns && strace.try_wait().unwrap().is_none() {
            seen = tracer_of(tid);
        }
        let refused = strace.try_wait().unwrap().is_some();
        let pid = strace.id();
        let _ = crate::signals::kill(pid, crate::signals::SIGTERM);
        strace.wait().unwrap();
        if seen.is_none() && refused {
            println!("skipped: strace may not attach");
            return;
        }
        assert_eq!(seen, Some(pid));
        assert_eq!(tracer_of(tid), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads clock ticks by sysconf")]
    fn a_name_may_hold_anything() {
        let stat = |name: &str| {
            let mut fields: Vec<String> = (3..=52).map(|number| number.to_string()).collect();
            fields[0] = "R".to_owned();
            format!("77 ({name}) {}", fields.join(" "))
        };
        let thread = parse(stat("a) R 1 (").as_bytes(), (70, 77), 1, Some(5)).unwrap();
        assert_eq!((thread.priority, thread.cpu, thread.ran_ns, thread.started), (40, 39, 5, 22));
        assert_eq!((thread.pid, thread.tid), (70, 77));
        assert_eq!(&thread.name[..9], b"a) R 1 (\0");
        let thread = parse(stat("a name that is too long").as_bytes(), (70, 77), 1, None).unwrap();
        assert_eq!((&thread.name, thread.ran_ns), (b"a name that is \0", 29 * clock::tick_ns()));
        assert_eq!(parse(b"77 (x", (70, 77), 1, None), None);
        assert_eq!(parse(b"77 (x) R 1", (70, 77), 1, None), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "starts other processes")]
    fn a_real_time_thread_of_another_process_is_seen_with_what_it_used() {
        // It ends by itself, even if this test fails.
        let script = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; sleep 5";
        let child = Command::new("chrt").args(["-f", "3", "sh", "-c", script]).stderr(Stdio::null()).spawn();
        let Ok(mut child) = child else {
            println!("skipped: no chrt");
            return;
        };
        let give_up_ns = clock::monotonic_ns() + 10_000_000_000;
        let mut seen = None;
        while seen.is_none() && clock::monotonic_ns() < give_up_ns && child.try_wait().unwrap().is_none() {
            let id = child.id();
            real_time_threads(|thread| {
                if thread.tid as u32 == id && &thread.name[..3] == b"sh\0" && thread.ran_ns > 10_000_000 {
                    seen = Some(thread);
                }
            });
        }
        let ended = child.try_wait().unwrap();
        let _ = child.kill();
        child.wait().unwrap();
        if ended.is_some() {
            println!("skipped: chrt may not");
            return;
        }
        let seen = seen.unwrap();
        assert_eq!((seen.policy, seen.priority, seen.pid), (1, 3, seen.tid));
        real_time_threads(|thread| assert!(!(thread.tid == seen.tid && thread.started == seen.started)));
    }
}
