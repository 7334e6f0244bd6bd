// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::collections::BTreeSet;
use std::fmt::Write;

use super::Case;

/// The head of a manifest, above its data.
pub(super) struct Head<'a> {
    /// The name of the application.
    pub(super) name: &'a str,
    /// A description in comments, one line each.
    pub(super) comment: &'a [&'a str],
    pub(super) description: &'a str,
    /// The load of each core, in permille.
    pub(super) load: u64,
}

/// The case as `taut.toml`: tasks bound to cores, and resources as state channels whose mechanism the plan chooses.
pub(super) fn manifest(case: &Case, head: &Head) -> String {
    let mut text = String::from("manifest = 1\n\n");
    for line in head.comment {
        text += format!("# {line}").trim_end();
        text.push('\n');
    }
    let _ = write!(
        text,
        "\n[app]\nname = \"{}\"\ndescription = \"{}\"\n\n[platform]\ncores = [0, 1]\n# All jobs are dispatched, so that a lock costs what it takes and no dispatcher.\nexecutor = \"dispatched\"\n\n\
         # Assumed: a small kernel, and what a lock and a copy cost.\n[platform.overheads]\nrelease = \"20us\"\n\
         context-switch = \"3us\"\nkernel-blocking = \"5us\"\nlock = \"1us\"\ncopy = \"150ns\"\n\n[payloads]\n",
        head.name, head.description
    );
    let sizes: BTreeSet<u64> = case.objects.iter().map(|object| object.bytes).collect();
    for size in sizes {
        let _ = writeln!(text, "Bytes{size} = {{ type = \"u8\", len = {size} }}");
    }
    for task in &case.tasks {
        let period = task.period.as_ns() / 1_000_000;
        let cost = task.cost(head.load).as_ns().div_ceil(1_000);
        let _ = write!(
            text,
            "\n[tasks.{}]\narrival = {{ periodic = \"{period}ms\" }}\ndeadline = \"{period}ms\"\n\
             wcet = {{ value = \"{cost}us\", source = \"guess\" }}\ncore = {}\n",
            task.name, task.core
        );
    }
    for (at, object) in case.objects.iter().enumerate() {
        let name = |task: usize| format!("\"{}\"", case.tasks[task].name);
        let readers: Vec<String> = object.readers.iter().map(|&reader| name(reader)).collect();
        let _ = write!(
            text,
            "\n[channels.resource-{at}]\nkind = \"state\"\nfrom = {}\nto = [{}]\npayload = \"Bytes{}\"\n",
            name(object.writer),
            readers.join(", "),
            object.bytes
        );
    }
    text
}
