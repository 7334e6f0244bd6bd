// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! RTDroid's manifests, in each of their vocabularies.

use taut_exchange::{Imported, Options, import};
use taut_time::Duration;

use crate::{RELEASED, SAMPLES, imported, lines, load, lost};

/// As published: `scopeSizes`, `<periodic><period/></periodic>`, `role="observer"`, `implementation`.
const PUBLISHED: &str = SAMPLES[4].1;
/// Figures 4.7 and 4.10 of Yan18: `memSizes`, `<release/>`, `role="publisher"`, `type="rt-msg"`.
const FIGURES: &str = SAMPLES[8].1;
/// Chapter 5 of Yan18: `<time>`, `<mem-size>`.
const VALIDATED: &str = SAMPLES[9].1;

/// A machine that costs nothing, as a part of a manifest.
const FREE: &str = "\n[platform.overheads]\nrelease = \"0ns\"\ncontext-switch = \"0ns\"\nkernel-blocking = \"0ns\"\nlock = \"0ns\"\n";

/// The import of a text, and a line for each of its tasks on a machine that costs nothing.
fn tasks(text: &str) -> (Imported, Vec<String>) {
    let imported = imported(text).0;
    let set = taut_planner::task_set(&load(&format!("{}{FREE}", imported.manifest))).unwrap();
    (imported, lines(&set))
}

/// A manifest of these elements, one a line from line 3 on.
fn manifest(elements: &[&str]) -> String {
    let inside = elements.join("\n");
    format!("<manifest package='org.example.small'>\n<application>\n{inside}\n</application>\n</manifest>\n")
}

/// A service of this name with a task `NAME-task` of this period and priority, and with filters.
fn service(name: &str, period: &str, priority: u8, filters: &str) -> String {
    format!(
        "<service name='{name}' priority='{priority}'><periodic-task name='{name}-task'><priority \
         priority='{priority}'/><release periodic='{period}'/></periodic-task>{filters}</service>"
    )
}

fn filter(role: &str, count: u32, action: &str) -> String {
    format!("<intent-filter role='{role}' count='{count}'><action name='{action}'/></intent-filter>")
}

fn channel(name: &str, kind: &str) -> String {
    format!("<channel name='{name}' type='{kind}'><data size='8B'/></channel>")
}

fn receiver(name: &str, filters: &str) -> String {
    format!("<receiver name='{name}' priority='40'>{filters}</receiver>")
}

/// Imports a text whose manifest loads.
fn of(elements: &[&str]) -> Imported {
    imported(&manifest(elements)).0
}

/// The table of a manifest that begins with this line, without its comments.
fn table(imported: &Imported, head: &str) -> String {
    let text = &imported.manifest;
    let at = text.find(&format!("\n[{head}]")).unwrap_or_else(|| panic!("no [{head}]\n{text}"));
    let rest = &text[at + 1..];
    let end = rest.find("\n\n").unwrap_or(rest.len());
    let lines = rest[..end].lines().skip(1).map(|line| line.split("   #").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether a report, without its place, is there.
fn says(imported: &Imported, what: &str) {
    let all = lost(imported);
    assert!(
        all.iter().any(|one| one.ends_with(what) || one.contains(&format!("{what}; and "))),
        "{what}\n{all:#?}\n{}",
        imported.manifest
    );
}

#[test]
fn the_published_vocabulary() {
    let (imported, lines) = tasks(PUBLISHED);
    assert_eq!(
        lines,
        [
            "sample-task @0 70 Phased(2500000) 10ms 10ms 0ns 500us ",
            "watch-task @0 30 Phased(0) 100ms 100ms 0ns 5ms ",
            "detector @0 50 Sporadic 5ms 5ms 0ns 250us ",
        ]
    );
    // Two values come every 10 ms: the detector handles them one by one, and `watch-task` all of its period.
    let watched = "kind = \"message\"\nfrom = [\"sample-task\"]\nto = \"watch-task\"\npayload = \"Bytes320\"\norder = \"sender\"\n\
                   sends-per-release = 2\ntakes-per-release = 20";
    assert_eq!(table(&imported, "channels.samples-ready-watch-task"), watched);
    assert!(imported.manifest.contains("[services.microphone]   # Microphone\npersistent = \"1048576B\""));
    assert!(
        table(&imported, "tasks.detector")
            .contains("memory = { persistent = \"1048576B\", release = \"524288B\" }")
    );
    assert!(lost(&imported).contains(&RELEASED.to_owned()));
}

/// A broadcast of one task is one channel, to all subscribers; those of several senders and of clients are not.
#[test]
fn broadcasts() {
    let joined = of(&[
        &service("plays", "10ms", 90, &filter("publisher", 1, "sound")),
        &service("shows", "40ms", 50, &filter("subscriber", 4, "sound")),
        &service("keeps", "20ms", 60, &filter("subscriber", 2, "sound")),
        &receiver("hears", &filter("subscriber", 1, "sound")),
        &channel("sound", "rt-broadcast"),
    ]);
    assert_eq!(
        table(&joined, "channels.sound"),
        "kind = \"broadcast\"\nfrom = \"plays-task\"\nto = [\"shows-task\", \"keeps-task\", \"hears\"]\n\
         payload = \"Bytes8\"\ntakes-per-release = 4"
    );
    assert!(table(&joined, "tasks.hears").contains("trigger = \"sound\""), "{}", joined.manifest);
    let plan = taut_planner::Planned::make(&load(&format!("{}{FREE}", joined.manifest)), Vec::new()).plan;
    assert_eq!(plan.broadcasts().len(), 1);
    // A reader by itself has a queue, and a client that stands for what is outside sends to each by a queue.
    let alone = of(&[
        &service("plays", "10ms", 90, &filter("publisher", 1, "sound")),
        &service("keeps", "20ms", 60, &filter("subscriber", 2, "sound")),
        &channel("sound", "rt-broadcast"),
    ]);
    assert!(table(&alone, "channels.sound").starts_with("kind = \"queue\""));
    let outside = of(&[
        &service("shows", "40ms", 50, &filter("subscriber", 1, "sound")),
        &service("keeps", "20ms", 60, &filter("subscriber", 1, "sound")),
        &channel("sound", "rt-broadcast"),
    ]);
    for reader in ["shows", "keeps"] {
        assert!(table(&outside, &format!("channels.sound-{reader}-task")).starts_with("kind = \"queue\""));
    }
}

/// A size counts elements of the type that `mimeType` names; one in bytes counts bytes.
#[test]
fn sizes_of_values() {
    for (mime, size, payload) in [
        ("application/rtdroid.int", "1792", "Bytes7168"),
        ("application/rtdroid.double", "2K", "Bytes16384"),
        ("application/rtdroid.short", "10", "Bytes20"),
        ("application/rtdroid.char", "10", "Bytes20"),
        ("application/rtdroid.long", "5", "Bytes40"),
        ("application/rtdroid.float", "3", "Bytes12"),
        ("application/rtdroid.byte", "256B", "Bytes256"),
        ("application/rtdroid.int", "256B", "Bytes256"),
        ("application/rtdroid.int", "1KiB", "Bytes1024"),
        ("application/octet-stream", "320", "Bytes320"),
    ] {
        let text = PUBLISHED
            .replace("application/octet-stream", mime)
            .replace("size=\"320\"", &format!("size=\"{size}\""));
        let imported = imported(&text).0;
        assert!(
            imported.manifest.contains(&format!("payload = \"{payload}\"")),
            "{mime}: {}",
            imported.manifest
        );
        assert!(!lost(&imported).iter().any(|what| what.contains("type of the values")), "{mime}");
    }
    let odd = imported(&PUBLISHED.replace("application/octet-stream", "application/picture")).0;
    says(&odd, "the type of the values is `application/picture`, of unknown size: `size` is taken as bytes");
}

/// Each attribute and element that has no place in a manifest is reported with its value and its own place.
#[test]
fn what_has_no_place_is_reported() {
    let lost = lost(&imported(PUBLISHED).0);
    for what in [
        "3:15: `maxHeap` of `gc` is left out (32M): there is no garbage collector here",
        "4:16: `label` of `application` is left out (Listen): no task runs it",
        "6:7: `priority` of `service` is left out (FIFO 70): what runs are tasks, which have their own",
        "7:27: `total` of `scopeSizes` is left out (3M): the plan adds up the memory",
        "7:7: the parts of the memory add up to 3407872 bytes, not to the total of 3M",
        "7:54: `release` of `scopeSizes` is left out (2M): what has a scope of this kind here is another component",
        "11:22: `relative` of `startTime` is left out (true): every start is relative to that of the application",
        "40:43: `validation` of `channel` is left out (true): `taut check` judges every manifest",
        "42:7: `drop` (priority_and_FIFO): values of a real-time sender to a real-time task always fit here; any other sender's oldest one gives way",
        "39:5: `activity` of `application` is left out (org.example.listen.Screen): no task runs it",
    ] {
        assert!(lost.iter().any(|other| other == what), "{what}: {lost:#?}");
    }
}

#[test]
fn the_vocabulary_of_the_figures() {
    let (imported, lines) = tasks(FIGURES);
    assert_eq!(
        lines,
        [
            "recording-task @0 90 Phased(0) 8ms 8ms 0ns 1ms ",
            "processing-task @0 89 Phased(0) 8ms 8ms 0ns 1ms ",
            "output-receiver @0 88 Sporadic 8ms 8ms 0ns 1ms ",
        ]
    );
    assert_eq!(
        table(&imported, "channels.msg-handler"),
        "kind = \"message\"\nfrom = [\"recording-task\", \"volume-receiver\", \"configuration-ui\"]\n\
         to = \"processing-task\"\npayload = \"Bytes256\"\norder = \"sender\"\ntakes-per-release = 2\noverflow = \"drop-oldest\""
    );
    assert_eq!(
        table(&imported, "channels.audio-output"),
        "kind = \"broadcast\"\nfrom = \"processing-task\"\nto = [\"output-receiver\", \"configuration-ui\"]\n\
         payload = \"Bytes88\""
    );
    assert!(imported.manifest.contains("[clients.volume-receiver]   # VolumeReceiver\n"));
    assert!(table(&imported, "tasks.recording-task").contains("source = \"guess\""), "{}", imported.manifest);
    for what in [
        "`start` of `service` is left out (0ns): it has no period, so its code is no task: write it as the `start` of its components",
        "activity `ConfigurationUI` is not real-time: it becomes a client, a process of its own",
        "the cost of a receiver, 1ms, is a soft deadline in RTDroid: it is written as its execution time",
    ] {
        says(&imported, what);
    }
}

/// Table 5.3: three tasks of 1 ms every 8 ms respond within 1, 2 and 3 ms, and use 37.5 % of the processor. Each job of ours is
/// charged 10 us for the probe of the platform, at its begin and at its end.
#[test]
fn yan18_table_5_3() {
    let typed = "manifest = 1\n[app]\nname = \"table\"\n[platform]\ncores = [0]\n[payloads]\nSamples = { type = \"i16\", len = 128 }\n\
                 [tasks.recording]\narrival = { periodic = \"8ms\" }\ndeadline = \"8ms\"\nwcet = { value = \"1ms\", source = \"guess\" }\n\
                 priority = 90\n[tasks.processing]\narrival = { periodic = \"8ms\" }\ndeadline = \"8ms\"\n\
                 wcet = { value = \"1ms\", source = \"guess\" }\npriority = 89\n[tasks.output-receiver]\n\
                 arrival = { sporadic = \"8ms\", trigger = \"output\" }\ndeadline = \"8ms\"\n\
                 wcet = { value = \"1ms\", source = \"guess\" }\npriority = 88\n[channels.samples]\nkind = \"message\"\n\
                 from = [\"recording\"]\nto = \"processing\"\npayload = \"Samples\"\n[channels.output]\nkind = \"queue\"\n\
                 from = \"processing\"\nto = \"output-receiver\"\npayload = \"Samples\"\n";
    let read = imported(VALIDATED).0.manifest;
    for text in [typed.to_owned(), read] {
        let input = taut_plan::Input { path: "taut.toml".into(), hash: taut_plan::digest(text.as_bytes()) };
        let planned = taut_planner::Planned::make(&load(&format!("{text}{FREE}")), vec![input]);
        let plan = planned.plan;
        assert!(plan.proven, "{text}");
        assert_eq!(plan.cores[0].utilisation_ppm, 385_000, "{text}");
        let response = |name: &str| match &plan.tasks[plan.task(name).unwrap()].class {
            taut_plan::ClassPlan::RealTime { response, .. } => response.unwrap(),
            taut_plan::ClassPlan::BestEffort {} => panic!("{name}"),
        };
        for (task, us) in [("recording", 1_020), ("processing", 2_030), ("output-receiver", 3_040)] {
            assert_eq!(response(task), Duration::from_us(us), "{task}\n{text}");
        }
    }
}

#[test]
fn the_vocabulary_of_chapter_5() {
    let (imported, lines) = tasks(VALIDATED);
    assert_eq!(
        lines,
        [
            "recording @0 90 Phased(0) 8ms 8ms 0ns 1ms ",
            "processing @0 89 Phased(0) 8ms 8ms 0ns 1ms ",
            "output-receiver @0 88 Sporadic 8ms 8ms 0ns 1ms ",
        ]
    );
    assert!(table(&imported, "channels.samples").ends_with("payload = \"Bytes256\"\norder = \"fifo\""));
    for what in [
        "times without a unit are taken as ms",
        "`execution` is `priority-inheritance`: a receiver executes at its own priority here",
        "`order` is `specified`: `order = \"sender\"` is written, the value of the most urgent sender first",
        "`cost` of `service` is left out (3ms): it has no period, so its code is no task: write it as the `start` of its components",
        "50:9: `start` of `receiver` is left out (1ms): it starts when a value comes",
    ] {
        says(&imported, what);
    }
    assert!(!lost(&imported).iter().any(|what| what.contains("execution times")), "all are stated");
}

/// Where times stand does not matter, nor how names are spelled.
#[test]
fn notations_of_times() {
    let task = |times: &str| {
        let text = manifest(&[&format!(
            "<service name='s' priority='5'><periodic-task name='t'>{times}</periodic-task></service>"
        )]);
        let (imported, mut lines) = tasks(&text);
        (lines.remove(0), imported)
    };
    for times in [
        "<periodic><period ms='8' ns='500'/><startTime ms='1'/></periodic>",
        "<release start='1ms' periodic='8000500ns'/>",
        "<rt:time xmlns:rt='x'><Start>1</Start><periodic>8.0005</periodic></rt:time>",
        "<time><start value='1' unit='ms'/><periodic us='8000' ns='500'/></time>",
        "<time start='1' periodic='8.0005ms'/>",
    ] {
        assert_eq!(task(times).0, "t @0 5 Phased(1000000) 8000.5us 8000.5us 0ns 400.025us ", "{times}");
    }
    let twice = task("<release periodic='8ms'/><time><periodic>9</periodic></time>").1;
    says(&twice, "a second `period` is left out (9): 8ms stands before it");
    let bad = task("<release periodic='8ms'/><time><cost>soon</cost></time>").1;
    says(&bad, "`cost` is `soon`, which is no time from 0 on: write it as in \"8ms\"");
    assert!(bad.manifest.contains("wcet = { value = \"400us\", source = \"guess\" }"));
}

/// Every value counts: a periodic task takes as many as are sent in its period, and a receiver is released often enough.
#[test]
fn rates_of_readers() {
    let slow = of(&[
        &service("fast", "5ms", 20, &filter("publisher", 2, "data")),
        &service("slow", "12ms", 10, &filter("subscriber", 1, "data")),
        &channel("data", "rt-msg"),
    ]);
    // 2 per 5 ms are 4.8 in 12 ms.
    assert!(
        table(&slow, "channels.data").ends_with("sends-per-release = 2\ntakes-per-release = 5"),
        "{}",
        slow.manifest
    );
    says(
        &slow,
        "`slow-task` would take 1 values per release of channel `data`, and 5 come in 12ms: it takes 5",
    );

    let two = of(&[
        &service("a", "10ms", 20, &filter("publisher", 1, "data")),
        &service("b", "15ms", 10, &filter("publisher", 1, "data")),
        &receiver("r", &filter("subscriber", 1, "data")),
        &channel("data", "rt-broadcast"),
    ]);
    // A value every 6 ms on average: one every 10 ms, and one every 15.
    assert!(
        table(&two, "tasks.r")
            .starts_with("arrival = { sporadic = \"6ms\", trigger = \"data\" }\ndeadline = \"6ms\"")
    );
    assert!(
        table(&two, "channels.data")
            .starts_with("kind = \"message\"\nfrom = [\"a-task\", \"b-task\"]\nto = \"r\"")
    );
    says(&two, "`r` has no period: it is released every 6ms at most, as its senders send");

    // The second receiver's rate follows from the first one's, wherever it stands.
    let row = of(&[
        &receiver("last", &filter("subscriber", 1, "second")),
        &receiver("middle", &(filter("subscriber", 1, "first") + &filter("publisher", 3, "second"))),
        &service("a", "30ms", 20, &filter("publisher", 1, "first")),
        &channel("first", "rt-broadcast"),
        &channel("second", "rt-broadcast"),
    ]);
    assert!(table(&row, "tasks.middle").starts_with("arrival = { sporadic = \"30ms\""));
    assert!(table(&row, "tasks.last").starts_with("arrival = { sporadic = \"10ms\""));

    // A stated gap stays: one job takes several values.
    let stated = of(&[
        &service("a", "10ms", 20, &filter("publisher", 1, "data")),
        "<receiver name='r' priority='4'><time><periodic>25ms</periodic></time><intent-filter role='subscriber'><action \
         name='data'/></intent-filter></receiver>",
        &channel("data", "rt-broadcast"),
    ]);
    assert!(table(&stated, "tasks.r").starts_with("arrival = { sporadic = \"25ms\""));
    assert!(table(&stated, "channels.data").starts_with("kind = \"message\""));
    assert!(table(&stated, "channels.data").ends_with("takes-per-release = 3"), "{}", stated.manifest);

    let unknown = of(&[&receiver("r", &filter("subscriber", 1, "keys")), &channel("keys", "rt-msg")]);
    says(
        &unknown,
        "nothing says how often `r` is released: every 100ms at most is a guess; state it as `periodic`",
    );
    says(&unknown, "no component sends on channel `keys`: a client stands for what is outside of this file");
    assert!(
        table(&unknown, "channels.keys")
            .starts_with("kind = \"message\"\nfrom = [\"keys-sender\"]\nto = \"r\"")
    );
}

/// Who sends and receives: tasks of a service, its handler, its thread, and others.
#[test]
fn parties() {
    let handler = of(&[
        "<service name='Work' priority='7'><memSizes persistent='1K' release='2K'/><intent-filter role='subscriber' \
         count='3'><action name='data'/></intent-filter></service>",
        &service("a", "10ms", 20, &filter("publisher", 1, "data")),
        &channel("data", "rt-msg"),
    ]);
    let work = table(&handler, "tasks.work");
    assert!(
        work.starts_with("service = \"work\"\narrival = { sporadic = \"10ms\", trigger = \"data\" }"),
        "{work}"
    );
    assert!(work.contains("priority = 7\nmemory = { release = \"2048B\" }"), "{work}");
    assert!(table(&handler, "channels.data").ends_with("takes-per-release = 3"));

    let thread = of(&[
        "<service name='Noise' priority='7'><intent-filter role='publisher' priority='7'><action name='data'/></intent-filter></service>",
        &service("a", "10ms", 20, &filter("subscriber", 1, "data")),
        &channel("data", "rt-msg"),
    ]);
    assert_eq!(table(&thread, "tasks.noise"), "class = \"best-effort\"\nservice = \"noise\"");
    says(
        &thread,
        "service `Noise` sends without a period: it becomes a best-effort task, for which no bound is given",
    );
    says(
        &thread,
        "`priority` of `intent-filter` is left out (7): values are ordered by the priority of `Noise`, which sends or receives them",
    );

    let many = |priority: &str| {
        let filter =
            format!("<intent-filter role='publisher' {priority}><action name='data'/></intent-filter>");
        let tasks = ["one", "two"].map(|name| {
            let priority = if name == "one" { 11 } else { 12 };
            format!("<periodic-task name='{name}' priority='{priority}'><release periodic='10ms'/></periodic-task>")
        });
        of(&[
            &format!("<service name='s' priority='5'>{}{filter}</service>", tasks.concat()),
            &service("a", "10ms", 20, &self::filter("subscriber", 1, "data")),
            &channel("data", "rt-msg"),
        ])
    };
    assert!(
        table(&many("android:priority='12' xmlns:android='a'"), "channels.data").contains("from = [\"two\"]")
    );
    let first = many("");
    assert!(table(&first, "channels.data").contains("from = [\"one\"]"));
    says(
        &first,
        "the first, `one`, is written; `android:priority` of the filter may name another by its priority",
    );

    let own = of(&["<service name='Own' priority='9'><release start='3ms' periodic='20ms'/></service>"]);
    assert!(
        table(&own, "tasks.own")
            .starts_with("service = \"own\"\narrival = { periodic = \"20ms\", offset = \"3ms\" }")
    );
}

/// What a channel cannot carry as it is.
#[test]
fn channels_that_differ() {
    let bulk = |size: &str| {
        of(&[
            &service("a", "100ms", 20, &filter("publisher", 1, "data")),
            &receiver("r", &filter("subscriber", 1, "data")),
            &format!(
                "<channel name='data' type='rt-bulk'><data size='{size}' type='application/octet-stream'/></channel>"
            ),
        ])
    };
    let blocks = |bytes: &str| {
        format!(
            "kind = \"bulk\"\nfrom = \"a-task\"\nto = \"r\"\npayload = \"Bytes{bytes}\"\noverflow = \"recall\""
        )
    };
    for bytes in ["10000000", "67108864"] {
        let large = bulk(bytes);
        assert_eq!(table(&large, "channels.data"), blocks(bytes));
        assert!(
            table(&large, "tasks.r").starts_with("arrival = { sporadic = \"100ms\", trigger = \"data\" }")
        );
    }
    let number = "a value of 67108865 bytes exceeds the 67108864 of a channel: the channel carries a number of 8 bytes, and the \
                  values go beside it";
    let huge = bulk("67108865");
    says(&huge, number);
    assert_eq!(table(&huge, "channels.data"), blocks("8"));
    // To another process, or from several senders, values are copied.
    let screen = "<activity name='ui'><intent-filter role='subscriber'><action name='data'/></intent-filter></activity>";
    let to_screen = |size: &str| {
        of(&[
            &service("a", "100ms", 20, &filter("publisher", 1, "data")),
            screen,
            &format!(
                "<channel name='data' type='rt-bulk'><data size='{size}' type='application/octet-stream'/></channel>"
            ),
        ])
    };
    let copied = to_screen("1M");
    says(
        &copied,
        "a bulk value is copied here: blocks move from one task to another, of which one is real-time",
    );
    let queue = "kind = \"queue\"\nfrom = \"a-task\"\nto = \"ui\"\npayload = \"Bytes1048576\"";
    assert_eq!(table(&copied, "channels.data"), queue);
    let stands = to_screen("2M");
    says(
        &stands,
        "a value of 2097152 bytes exceeds the 1048576 of a channel: the channel carries a number of 8 bytes, and the values go \
         beside it",
    );
    assert_eq!(table(&stands, "channels.data"), queue.replace("1048576", "8"));

    // Several subscribers get a channel each, whatever kind it is.
    let each = of(&[
        &service("a", "10ms", 20, &filter("publisher", 1, "data")),
        &receiver("r", &filter("subscriber", 1, "data")),
        &receiver("q", &filter("subscriber", 1, "data")),
        &channel("data", "rt-msg"),
    ]);
    assert_eq!(each.manifest.matches("kind = \"message\"").count(), 2, "{}", each.manifest);
    says(&each, "a message channel has one receiver: each subscriber gets every value here");

    let odd = of(&[
        &service("a", "10ms", 20, &(filter("publisher", 1, "data") + &filter("subscriber", 1, "data"))),
        "<activity name='ui'><intent-filter role='publisher'><action name='clicks'/></intent-filter></activity>",
        "<activity name='log'><intent-filter role='subscriber'><action name='clicks'/></intent-filter></activity>",
        &service("b", "10ms", 10, &(filter("publisher", 1, "none") + &filter("listener", 1, "data"))),
        &channel("data", "rt-msg"),
        &channel("data", "rt-msg"),
        &channel("clicks", "rt-pipe"),
        &channel("idle", "rt-msg"),
    ]);
    for what in [
        "`a-task` sends to itself on channel `data`: left out; it may keep the value in its persistent scope",
        "what `ui` sends to `log` is left out: neither is real-time, so the kernel's own means serve them",
        "there is no channel `none`: declare it, as in `<channel name=\"none\" type=\"rt-msg\">`",
        "an intent filter of role `listener` is left out: write `publisher` or `subscriber`",
        "8:1: a second channel `data` is left out",
        "`rt-pipe` is no type of channel known here: it is read as `rt-msg`",
        "channel `idle` is left out: nothing sends or receives on it",
    ] {
        says(&odd, what);
    }
    assert!(!odd.manifest.contains("[channels."), "{}", odd.manifest);
}

/// Receivers that release each other alone would never start.
#[test]
fn a_circle_gets_a_start() {
    let circle = of(&[
        &receiver("r", &(filter("subscriber", 1, "to-r") + &filter("publisher", 1, "to-q"))),
        &receiver("q", &(filter("subscriber", 1, "to-q") + &filter("publisher", 1, "to-r"))),
        &channel("to-r", "rt-broadcast"),
        &channel("to-q", "rt-broadcast"),
    ]);
    says(
        &circle,
        "`r` is released only by tasks that wait for it: a best-effort task that starts them is written",
    );
    assert!(table(&circle, "tasks.r").contains("triggers = [\"to-r\", \"r-event\"]"), "{}", circle.manifest);
}

#[test]
fn errors_have_places_and_remedies() {
    for (text, error) in [
        (
            "<manifest><application>\n<channel name='x'><drop>priority&oldest</drop></channel></application></manifest>",
            "2:33: not XML: `&` begins a reference, as in `&lt;`: write `&amp;` for the character itself",
        ),
        (
            "<manifest><application>\n <service name='s' priority='1'>\n<periodic-task name='t'/></service></application></manifest>",
            "3:1: no task is left: task `t` has no period: give it one, as in `<release periodic=\"8ms\"/>`",
        ),
    ] {
        assert_eq!(import(text, &Options::default()).unwrap_err().to_string(), error);
    }
    let options = Options { source: Some(taut_exchange::SourceFormat::RtDroid), ..Options::default() };
    assert_eq!(
        import("<service name='x'/>", &options).unwrap_err().to_string(),
        "1:1: the first element is `service`, not `manifest`: write `<manifest><application>` around the components"
    );
}
