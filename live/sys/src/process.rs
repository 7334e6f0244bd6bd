// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Identity, capabilities and limits of this process and of others.

use std::ffi::CString;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{check, check_size};
use crate::{Error, Result, signals};

/// Whether this process is a child of `fork`, and its parent had called [`notice_forks`].
static FORKED: AtomicBool = AtomicBool::new(false);

/// Lets children of `fork` know from now on that they are children.
pub fn notice_forks() {
    static NOTICED: Once = Once::new();
    extern "C" fn in_child() {
        FORKED.store(true, Ordering::Relaxed);
    }
    // Miri has no such call.
    if cfg!(miri) {
        return;
    }
    NOTICED.call_once(|| {
        // SAFETY: a function of ours that touches an atomic, does not unwind, and stays as long as the process.
        let _ = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

/// Ends a child of `fork`. The runtime calls this where the application's code returns to the runtime. The child has
/// one thread of an application whose other threads stayed in its parent, and would write to memory that has one
/// writer.
/// *Real-time*: a load.
#[inline]
pub fn end_if_forked() {
    #[cold]
    fn end() -> ! {
        let _ = crate::terminal::write_error(
            "taut: a child of fork returned to the runtime, which belongs to its parent, so the child ends; \
             call `exec` or `_exit` in it\n",
        );
        exit_now(EXIT_FORKED)
    }
    if FORKED.load(Ordering::Relaxed) {
        end();
    }
}

/// The exit code of such a child of `fork`.
const EXIT_FORKED: i32 = 4;

/// This process's id.
pub fn pid() -> u32 {
    std::process::id()
}

/// The process that started this one; once it has ended, process 1 or another process that adopts orphans.
pub fn parent() -> u32 {
    std::os::unix::process::parent_id()
}

/// When a process started, in clock ticks since boot; together with its id, this identifies a process without reuse.
/// `None` if there is no such process, or if it has ended and its parent has not collected it yet.
pub fn start_time_of(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is a name in parentheses that may hold anything; the third is the state, the 22nd the start.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// Whether the process no longer exists. False for a process that has ended and that its parent has not collected
/// yet. Also false for 0, which stands for a process that has no id in this PID namespace.
pub fn is_gone(pid: u32) -> bool {
    pid != 0 && signals::kill(pid, 0).is_err_and(|error| error.errno == libc::ESRCH)
}

/// The PID namespace of this process, as Linux names it: only there its id means this process. `None` where `/proc` is
/// not mounted.
pub fn pid_namespace() -> Option<String> {
    std::fs::read_link("/proc/self/ns/pid").ok()?.into_os_string().into_string().ok()
}

/// The user whose rights a process has; `None` if there is no such process.
pub fn effective_uid_of(pid: u32) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    // The owner of the folder is root instead if the process has capabilities of its program's file.
    let ids = text.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    ids.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The user whose rights this process has; 0 for root.
pub fn effective_uid() -> u32 {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::geteuid() }
}

/// The group whose rights this process has.
pub fn effective_gid() -> u32 {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::getegid() }
}

/// The number of a group, from its name or from its number in decimal digits. `None` if there is no such group.
pub fn group_id(name: &str) -> Option<u32> {
    if let Ok(number) = name.parse() {
        return Some(number);
    }
    let name = CString::new(name).ok()?;
    let mut buffer = vec![0 as libc::c_char; 1024];
    loop {
        // SAFETY: pointers and integers, for which zero is a value.
        let mut group: libc::group = unsafe { std::mem::zeroed() };
        let mut found = std::ptr::null_mut();
        // SAFETY: all are ours and outlive the call; the buffer is as long as we say.
        let errno = unsafe {
            libc::getgrnam_r(name.as_ptr(), &mut group, buffer.as_mut_ptr(), buffer.len(), &mut found)
        };
        match errno {
            0 if found.is_null() => return None,
            0 => return Some(group.gr_gid),
            libc::ERANGE if buffer.len() < 1 << 20 => buffer.resize(buffer.len() * 2, 0),
            _ => return None,
        }
    }
}

/// A privilege that real-time work needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Real-time policies at any priority: CAP_SYS_NICE.
    SysNice,
    /// Locking any amount of memory: CAP_IPC_LOCK.
    IpcLock,
    /// Raising hard limits: CAP_SYS_RESOURCE.
    SysResource,
}

impl Capability {
    /// Its name in `capabilities(7)`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SysNice => "CAP_SYS_NICE",
            Self::IpcLock => "CAP_IPC_LOCK",
            Self::SysResource => "CAP_SYS_RESOURCE",
        }
    }

    const fn bit(self) -> u32 {
        match self {
            Self::SysNice => 23,
            Self::IpcLock => 14,
            Self::SysResource => 24,
        }
    }
}

/// Whether this process has a capability now; false where `/proc` is not readable.
pub fn capability(capability: Capability) -> bool {
    status_field("CapEff:")
        .and_then(|field| u64::from_str_radix(&field, 16).ok())
        .is_some_and(|set| set & (1 << capability.bit()) != 0)
}

/// Whether a program that this process starts keeps a capability of this process: always for root; for another user if
/// the capability is ambient and does not come only from this program's file.
pub fn inherits(capability: Capability) -> bool {
    let ambient = status_field("CapAmb:").and_then(|field| u64::from_str_radix(&field, 16).ok());
    let root = status_field("Uid:").and_then(|ids| Some(ids.split_ascii_whitespace().nth(1)? == "0"));
    self::capability(capability)
        && (root == Some(true) || ambient.is_some_and(|set| set & (1 << capability.bit()) != 0))
}

fn status_field(name: &str) -> Option<String> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)).map(|field| field.trim().to_owned())
}

/// Something that Linux limits per process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RlimitResource {
    /// The highest SCHED_FIFO priority without CAP_SYS_NICE: RLIMIT_RTPRIO.
    RealTimePriority,
    /// Bytes that may be locked without CAP_IPC_LOCK: RLIMIT_MEMLOCK.
    LockedMemory,
    /// Processor time in microseconds that a real-time thread may use between two waits: RLIMIT_RTTIME.
    RealTimeRun,
    /// Open descriptors: RLIMIT_NOFILE.
    Descriptors,
}

/// A limit; `None` means unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rlimit {
    /// The limit in force.
    pub soft: Option<u64>,
    /// The highest limit that a process without privilege may set.
    pub hard: Option<u64>,
}

/// The limit on a resource.
///
/// # Errors
/// None is expected.
pub fn limit(resource: RlimitResource) -> Result<Rlimit> {
    let number = match resource {
        RlimitResource::RealTimePriority => libc::RLIMIT_RTPRIO,
        RlimitResource::LockedMemory => libc::RLIMIT_MEMLOCK,
        RlimitResource::RealTimeRun => libc::RLIMIT_RTTIME,
        RlimitResource::Descriptors => libc::RLIMIT_NOFILE,
    };
    let mut raw = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `raw` is ours and writable.
    check("getrlimit", unsafe { libc::getrlimit(number, &mut raw) })?;
    let bounded = |value| (value != libc::RLIM_INFINITY).then_some(value);
    Ok(Rlimit { soft: bounded(raw.rlim_cur), hard: bounded(raw.rlim_max) })
}

/// 64 random bits from the kernel, different in every run.
///
/// # Errors
/// ENOSYS on a kernel before 3.17.
pub fn random_u64() -> Result<u64> {
    let mut bytes = [0u8; 8];
    // SAFETY: the buffer is ours and as long as we say; the kernel returns so few bytes whole.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    match check_size("getrandom", got)? {
        8 => Ok(u64::from_ne_bytes(bytes)),
        _ => Err(Error { call: "getrandom", errno: libc::EIO }),
    }
}

/// The range of addresses that holds this process's program: the address that it is loaded at, and the address behind
/// its end. Both 0 if they are unknown.
pub fn program_text() -> [usize; 2] {
    extern "C" fn first(about: *mut libc::dl_phdr_info, _: usize, to: *mut libc::c_void) -> i32 {
        // SAFETY: the loader's, valid for this call; it has as many headers as it says.
        let (base, headers) = unsafe {
            let about = &*about;
            (about.dlpi_addr as usize, std::slice::from_raw_parts(about.dlpi_phdr, about.dlpi_phnum.into()))
        };
        let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        let ends = loaded.map(|header| base.saturating_add((header.p_vaddr + header.p_memsz) as usize));
        // SAFETY: `program_text` passes it, and waits for this call.
        unsafe { *to.cast::<[usize; 2]>() = [base, ends.max().unwrap_or(base)] };
        // Stop here: the first object is the program.
        1
    }
    let mut found = [0; 2];
    if !cfg!(miri) {
        // SAFETY: the function has the required type and never unwinds; `found` outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(first), std::ptr::from_mut(&mut found).cast()) };
    }
    found
}

/// Ends the process at once: no destructor runs, and buffered output is lost.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: no memory involved.
    unsafe { libc::_exit(code) }
}

/// The resident memory of a process, bytes; 0 if there is no such process.
pub fn resident_bytes(pid: u32) -> u64 {
    let pages = |text: String| text.split_whitespace().nth(1)?.parse::<u64>().ok();
    let pages = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok().and_then(pages);
    // SAFETY: no memory involved.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    pages.unwrap_or(0).saturating_mul(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "starts other processes")]
    fn start_times_distinguish_processes() {
        let own = start_time_of(pid()).unwrap();
        let first = start_time_of(1).unwrap();
        assert!(first <= own);
        let mut child = std::process::Command::new("sleep").arg("10").spawn().unwrap();
        assert!(start_time_of(child.id()).unwrap() >= own);
        assert!([0, 1, pid(), child.id()].into_iter().all(|there| !is_gone(there)));
        assert_eq!(effective_uid_of(child.id()), Some(effective_uid()));
        crate::signals::kill(child.id(), crate::signals::SIGKILL).unwrap();
        // The child is dead, but not collected yet: `start_time_of` no longer finds it.
        let deadline = crate::clock::monotonic_ns() + 5_000_000_000;
        while start_time_of(child.id()).is_some() {
            assert!(crate::clock::monotonic_ns() < deadline);
        }
        assert!(!is_gone(child.id()), "nobody has collected it");
        child.wait().unwrap();
        assert!(is_gone(child.id()));
        assert_eq!(start_time_of(child.id()), None);
        assert_eq!(effective_uid_of(child.id()), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls getgrnam_r")]
    fn groups() {
        assert_eq!(group_id("root"), Some(0));
        assert_eq!(group_id("1234"), Some(1234));
        assert_eq!(group_id("no-such-group-here"), None);
        assert_eq!(group_id("nul\0inside"), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls getrlimit")]
    fn privileges_agree_with_what_works() {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        assert!(status.contains("CapEff:"));
        let priority = limit(RlimitResource::RealTimePriority).unwrap();
        let may = capability(Capability::SysNice) || priority.soft.is_none_or(|limit| limit >= 1);
        let can = std::thread::spawn(|| crate::thread::set_fifo(1)).join().unwrap();
        assert_eq!(may, can.is_ok(), "{can:?}");
        for resource in
            [RlimitResource::LockedMemory, RlimitResource::RealTimeRun, RlimitResource::Descriptors]
        {
            let limit = limit(resource).unwrap();
            assert!(limit.hard.is_none_or(|hard| limit.soft.is_some_and(|soft| soft <= hard)));
        }
    }

    #[test]
    fn random_numbers_differ() {
        assert_ne!(random_u64().unwrap(), random_u64().unwrap());
    }
}
