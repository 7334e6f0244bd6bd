// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Replaces what a job of a running application does: writes machine code over the beginning of its function. So the
//! application is the one that is shipped, without any code for the storm.
//!
//! For a write through `/proc/PID/mem` the kernel copies the page, so no file changes, and no thread is stopped.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

/// What the machine code does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Computes for ever.
    Loops,
    /// Waits in the kernel for ever, again after each signal.
    Waits,
    /// Panics, as `Option::unwrap` does.
    Panics,
    /// Ends the process with `exit_group(0)`.
    Exits,
    /// Uses up its stack.
    Overflows,
    /// Writes to address 0.
    Writes,
    /// Executes an invalid instruction.
    Illegal,
    /// Divides by zero.
    Divides,
}

/// Replaces the function of this name in a running process.
pub(crate) fn replace(pid: u32, program: &Path, function: &str, deed: Deed) -> Result<(), String> {
    if !cfg!(target_arch = "x86_64") {
        return Err("the storm writes machine code for x86-64 alone".to_owned());
    }
    let base = base(pid, program)?;
    let symbols = symbols(program)?;
    let at = base + find(&symbols, function)?;
    let panics = base + find(&symbols, "core::option::unwrap_failed")?;
    let memory = File::options().write(true).open(format!("/proc/{pid}/mem"));
    let memory = memory.map_err(|error| format!("/proc/{pid}/mem: {error}"))?;
    memory.write_all_at(&code(deed, at, panics), at).map_err(|error| format!("/proc/{pid}/mem: {error}"))
}

/// Position-dependent code at `at`. It never returns, so it may destroy anything that its caller needs.
fn code(deed: Deed, at: u64, panics: u64) -> Vec<u8> {
    match deed {
        // jmp .
        Deed::Loops => vec![0xeb, 0xfe],
        // mov eax, SYS_pause; syscall; jmp to the first
        Deed::Waits => vec![0xb8, 34, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xf7],
        // mov eax, SYS_exit_group; xor edi, edi; syscall
        Deed::Exits => vec![0xb8, 231, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05],
        // push rax; jmp to the first
        Deed::Overflows => vec![0x50, 0xeb, 0xfd],
        // xor eax, eax; mov [rax], eax
        Deed::Writes => vec![0x31, 0xc0, 0x89, 0x00],
        // ud2
        Deed::Illegal => vec![0x0f, 0x0b],
        // xor edx, edx; xor ecx, ecx; div ecx
        Deed::Divides => vec![0x31, 0xd2, 0x31, 0xc9, 0xf7, 0xf1],
        Deed::Panics => panic(at, panics),
    }
}

/// A jump to `core::option::unwrap_failed` with a location in `storm.rs`. Because it is a jump, the panic unwinds
/// from the caller of the replaced function, and the code here needs no unwind table.
fn panic(at: u64, panics: u64) -> Vec<u8> {
    const FILE: &[u8] = b"storm.rs";
    const LOCATION: u64 = 24;
    const NAME: u64 = LOCATION + 24;
    // mov rdi, location; mov rax, panics; jmp rax
    let mut code = vec![0x48, 0xbf];
    code.extend((at + LOCATION).to_le_bytes());
    code.extend([0x48, 0xb8]);
    code.extend(panics.to_le_bytes());
    code.extend([0xff, 0xe0]);
    code.resize(LOCATION as usize, 0xcc);
    // A `Location`: address and length of the name, the line, the column.
    code.extend((at + NAME).to_le_bytes());
    code.extend((FILE.len() as u64).to_le_bytes());
    code.extend(1_u32.to_le_bytes());
    code.extend(1_u32.to_le_bytes());
    code.extend(FILE);
    code.push(0);
    code
}

/// The address at which a position-independent program has been loaded.
fn base(pid: u32, program: &Path) -> Result<u64, String> {
    let maps = format!("/proc/{pid}/maps");
    let text = fs::read_to_string(&maps).map_err(|error| format!("{maps}: {error}"))?;
    let program = program.to_string_lossy();
    let first = text.lines().filter(|line| line.ends_with(program.as_ref())).find_map(|line| {
        let mut fields = line.split_whitespace();
        let (range, _, offset) = (fields.next()?, fields.next()?, fields.next()?);
        (u64::from_str_radix(offset, 16) == Ok(0))
            .then(|| u64::from_str_radix(range.split('-').next()?, 16).ok())?
    });
    first.ok_or_else(|| format!("{maps} has nothing of {program}"))
}

/// The program's symbols, as `nm` prints them.
fn symbols(program: &Path) -> Result<String, String> {
    let output = Command::new("nm").arg("--demangle").arg(program).output();
    let output = output.map_err(|error| format!("nm: {error}"))?;
    String::from_utf8(output.stdout).map_err(|error| format!("nm: {error}"))
}

/// The address of the one function of this name.
fn find(symbols: &str, function: &str) -> Result<u64, String> {
    let found = symbols.lines().find_map(|line| {
        let (address, rest) = line.split_once(' ')?;
        let name = rest.get(2..)?;
        (name == function).then(|| u64::from_str_radix(address, 16).ok())?
    });
    found.ok_or_else(|| format!("the program has no function `{function}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_found_by_its_whole_name() {
        let symbols = "0000000000000010 t <a::Running as b::Task>::release\n\
                       0000000000000020 T core::option::unwrap_failed\n                 U free\n";
        assert_eq!(find(symbols, "<a::Running as b::Task>::release"), Ok(0x10));
        assert_eq!(find(symbols, "core::option::unwrap_failed"), Ok(0x20));
        assert!(find(symbols, "release").is_err());
        assert!(find(symbols, "free").is_err());
    }

    #[test]
    fn the_code_of_a_panic_points_at_its_own_location() {
        let code = panic(0x1000, 0x2000);
        let word = |at: usize| u64::from_le_bytes(code[at..at + 8].try_into().unwrap_or_default());
        assert_eq!((word(2), word(12)), (0x1000 + 24, 0x2000));
        let name = (word(24) - 0x1000) as usize;
        assert_eq!(&code[name..name + word(32) as usize], b"storm.rs");
    }

    #[test]
    fn jumps_lead_to_the_beginning() {
        for (deed, end) in [(Deed::Loops, 2), (Deed::Waits, 9), (Deed::Overflows, 3)] {
            let code = code(deed, 0, 0);
            assert_eq!(code.len(), end);
            let back = i64::from(code[end - 1].cast_signed());
            let to = end as i64 + back;
            assert!(to >= 0 && to < end as i64, "{deed:?}");
        }
    }
}
