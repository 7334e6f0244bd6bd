// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How the machine affects real-time threads: throttling, power latency; and facts for reports.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::{Error, Result};

/// How much of each period real-time threads may use in total, `(runtime, period)` in µs, before Linux throttles
/// them; `None` if it does not throttle them.
///
/// # Errors
/// ENOENT where `/proc` is not mounted; EINVAL if a file there holds no number.
pub fn rt_throttle() -> Result<Option<(u64, u64)>> {
    rt_throttle_in(Path::new("/proc/sys/kernel"))
}

fn rt_throttle_in(folder: &Path) -> Result<Option<(u64, u64)>> {
    let number = |name, call| {
        let text = fs::read_to_string(folder.join(name)).map_err(|error| Error::from_io(call, &error))?;
        text.trim().parse::<i64>().map_err(|_| Error { call, errno: libc::EINVAL })
    };
    let runtime = number("sched_rt_runtime_us", "read /proc/sys/kernel/sched_rt_runtime_us")?;
    let period = number("sched_rt_period_us", "read /proc/sys/kernel/sched_rt_period_us")?;
    let pair = u64::try_from(runtime).ok().zip(u64::try_from(period).ok());
    Ok(pair.filter(|(runtime, period)| runtime < period))
}

/// Bytes of memory that the machine has, without swap; `None` if it cannot be read.
pub fn memory_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Whether the kernel is a PREEMPT_RT kernel.
pub fn realtime_kernel() -> bool {
    read("/sys/kernel/realtime").as_deref() == Some("1")
}

/// While it lives, no CPU enters an idle state with a long exit latency.
#[derive(Debug)]
pub struct DmaLatencyHold {
    _file: fs::File,
}

/// Requests a wake-up latency of 0 µs from all CPUs, for as long as the result lives. It costs power; on the machine
/// where this was measured it reduced the median wake-up latency by 9 µs.
///
/// # Errors
/// EACCES without root (or a rule for `/dev/cpu_dma_latency`); ENOENT where the kernel has no such device.
pub fn dma_latency_hold() -> Result<DmaLatencyHold> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .open("/dev/cpu_dma_latency")
        .map_err(|error| Error::from_io("open /dev/cpu_dma_latency", &error))?;
    file.write_all(&0i32.to_ne_bytes())
        .map_err(|error| Error::from_io("write /dev/cpu_dma_latency", &error))?;
    Ok(DmaLatencyHold { _file: file })
}

/// The stolen time of a CPU so far, in ns: the time in which the hypervisor ran something else. Coarse (10 ms), and
/// it does not count every stall. `None` if it cannot be read.
pub fn stolen_ns(cpu: u16) -> Option<u64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let prefix = format!("cpu{cpu} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&prefix))?;
    // USER_HZ is 100 on every architecture that taut runs on.
    line.split_ascii_whitespace().nth(7)?.parse::<u64>().ok()?.checked_mul(10_000_000)
}

/// Facts about the machine for a report, `(name, value)` in a fixed order, without those that cannot be read.
pub fn machine_facts() -> Vec<(String, String)> {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |names: &[&str]| {
        cpuinfo.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            names.contains(&name.trim()).then(|| value.trim().to_owned())
        })
    };
    let flags = field(&["flags", "Features"]);
    let hypervisor = flags.is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    let facts = [
        ("kernel", read("/proc/sys/kernel/osrelease")),
        ("preemption", preemption()),
        ("cpu", field(&["model name", "Processor", "CPU part"])),
        ("cpus", Some(crate::thread::online_cpus().len().to_string())),
        ("hypervisor", Some(if hypervisor { "yes" } else { "none seen" }.to_owned())),
        ("clocksource", read("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        (
            "throttling",
            Some(match rt_throttle() {
                Ok(Some((runtime, period))) => format!("{runtime} us of every {period} us"),
                Ok(None) => "off".to_owned(),
                Err(error) => format!("not known ({error})"),
            }),
        ),
        (
            "secret memory",
            Some(match crate::memory::secret_file(1) {
                Ok(_) => "yes".to_owned(),
                Err(error) => format!("no ({error})"),
            }),
        ),
        (
            "isolated cpus",
            read("/sys/devices/system/cpu/isolated")
                .map(|list| if list.is_empty() { "none".to_owned() } else { list }),
        ),
        ("frequency governor", read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        ("idle driver", read("/sys/devices/system/cpu/cpuidle/current_driver")),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// The preemption model: as set at boot where that can be read, else as compiled.
fn preemption() -> Option<String> {
    if realtime_kernel() {
        return Some("PREEMPT_RT".to_owned());
    }
    if let Some(text) = read("/sys/kernel/debug/sched/preempt") {
        // The active model stands in parentheses: `none voluntary (full) lazy`.
        if let Some((_, rest)) = text.split_once('(') {
            return rest.split(')').next().map(str::to_owned);
        }
    }
    let version = read("/proc/sys/kernel/version")?;
    version.split(' ').find(|word| word.starts_with("PREEMPT")).map(|word| format!("{word} (as compiled)"))
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "calls memfd_secret")]
    fn facts_are_there() {
        let facts = machine_facts();
        for name in ["kernel", "cpus", "hypervisor", "clocksource", "throttling", "secret memory"] {
            assert!(facts.iter().any(|(fact, value)| fact == name && !value.is_empty()), "{name}: {facts:?}");
        }
        println!("{facts:#?}");
        if let Some((runtime, period)) = rt_throttle().unwrap() {
            assert!(runtime < period);
        }
        assert!(memory_bytes().is_some_and(|bytes| bytes > 1 << 20));
        assert!(stolen_ns(crate::thread::current_cpu()).is_some());
        assert_eq!(stolen_ns(u16::MAX), None);
    }

    #[test]
    fn an_unreadable_setting_is_not_off() {
        let folder = std::env::temp_dir().join(format!("taut-sys-throttle-{}", std::process::id()));
        let error = rt_throttle_in(&folder).unwrap_err();
        assert_eq!((error.call, error.errno), ("read /proc/sys/kernel/sched_rt_runtime_us", libc::ENOENT));
        fs::create_dir(&folder).unwrap();
        let with = |runtime, period| {
            fs::write(folder.join("sched_rt_runtime_us"), runtime).unwrap();
            fs::write(folder.join("sched_rt_period_us"), period).unwrap();
            rt_throttle_in(&folder).map_err(|error| error.errno)
        };
        assert_eq!(with("950000\n", "1000000\n"), Ok(Some((950_000, 1_000_000))));
        assert_eq!(with("-1\n", "1000000\n"), Ok(None));
        assert_eq!(with("1000000\n", "1000000\n"), Ok(None));
        assert_eq!(with("much\n", "1000000\n"), Err(libc::EINVAL));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    #[cfg_attr(miri, ignore = "a write to a device may be cut short")]
    fn latency_can_be_held() {
        match dma_latency_hold() {
            Ok(hold) => drop(hold),
            Err(error) => {
                assert!(error.is_privilege() || error.errno == libc::ENOENT, "{error}");
                println!("skipped: {error}");
            }
        }
    }
}
