// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Texts that are cut off, made up, or written to do harm: none makes the import panic or run on, and every manifest
//! that it writes loads.
#![allow(clippy::unwrap_used, reason = "test code")]

use taut_exchange::{Options, SourceFormat, import};
use taut_model::Severity;

const SAMPLES: [(SourceFormat, &str); 10] = [
    (SourceFormat::Cheddar, include_str!("../samples/flight.xmlv3")),
    (SourceFormat::Cheddar, include_str!("../samples/lift.xmlv3")),
    (SourceFormat::SchedCat, include_str!("../samples/two-partitions.xml")),
    (SourceFormat::Amalthea, include_str!("../samples/drive.amxmi")),
    (SourceFormat::Mast, include_str!("../samples/robot.mast")),
    (SourceFormat::Mast, include_str!("../samples/cell.mast")),
    (SourceFormat::Mast, include_str!("../samples/cell-mast.xml")),
    (SourceFormat::RtDroid, include_str!("../samples/listen-manifest.xml")),
    (SourceFormat::RtDroid, include_str!("../samples/figure-manifest.xml")),
    (SourceFormat::RtDroid, include_str!("../samples/validated-manifest.xml")),
];

/// What an import reports. If it writes a manifest, that loads.
fn said(text: &str) -> Result<Vec<String>, String> {
    match import(text, &Options::default()) {
        Ok(imported) => {
            let source =
                taut_manifest::SourceText { name: "taut.toml".into(), text: imported.manifest.clone() };
            let loaded = taut_manifest::load(&source, &[]);
            let faults = loaded.diagnostics.iter().filter(|fault| fault.severity == Severity::Error);
            let faults: Vec<_> = faults.map(|fault| fault.message.clone()).collect();
            let model = loaded.model.unwrap_or_else(|| panic!("{faults:#?}\n{}", imported.manifest));
            taut_planner::task_set(&model).unwrap();
            Ok(imported.lost.iter().map(ToString::to_string).collect())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Each sample, cut off after each of its characters, or after every n-th if it is long.
#[test]
fn cut_off() {
    for (_, text) in SAMPLES {
        let step = text.len().div_ceil(600);
        for end in (0..text.len()).step_by(step).filter(|end| text.is_char_boundary(*end)) {
            let _ = said(&text[..end]);
        }
        assert!(said(text).is_ok());
    }
}

/// Line endings of other systems, and a byte order mark.
#[test]
fn dressed_otherwise() {
    for (source, text) in SAMPLES {
        let plain = import(text, &Options::default()).unwrap();
        let dressed =
            import(&format!("\u{feff}{}", text.replace('\n', "\r\n")), &Options::default()).unwrap();
        assert_eq!(
            (dressed.source, &dressed.manifest, &dressed.lost),
            (source, &plain.manifest, &plain.lost)
        );
    }
}

/// No text of one language reads as another.
#[test]
fn of_another_kind() {
    for (source, text) in SAMPLES {
        for (name, other) in SourceFormat::ALL {
            let result = import(text, &Options { source: Some(other), ..Options::default() });
            match source == other {
                true => assert!(result.is_ok()),
                false => {
                    let why = result.unwrap_err().to_string();
                    assert!(
                        why.starts_with(&format!("it looks like {}, not", source.title())),
                        "{name}: {why}"
                    );
                }
            }
        }
    }
}

#[test]
fn entities() {
    let bomb = "<!DOCTYPE x [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;\"><!ENTITY c \"&b;&b;&b;&b;\">]><cheddar>&c;</cheddar>";
    let outside = "<!DOCTYPE x SYSTEM \"file:///etc/passwd\"><cheddar/>";
    let file = "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY f SYSTEM \"file:///etc/passwd\">]><taskset>&f;</taskset>";
    for text in [bomb, outside, file] {
        let why = said(text).unwrap_err();
        assert!(why.contains("a `<!DOCTYPE>`, with what it defines or fetches, is not read"), "{why}");
    }
    assert!(said("<cheddar>&lol;</cheddar>").unwrap_err().contains("not XML"));
}

/// Elements, lists and comments nested without end.
#[test]
fn deep() {
    const DEEP: usize = 50_000;
    let nested = |open: &str, close: &str| format!("{}{}", open.repeat(DEEP), close.repeat(DEEP));
    let sections = nested("<critical_section res_id='1' length='9'>", "</critical_section>");
    let texts = [
        format!("<cheddar>{}</cheddar>", nested("<tasks>", "</tasks>")),
        format!(
            "<taskset><task period='90' wcet='10'><critical_sections>{sections}</critical_sections></task></taskset>"
        ),
        format!("Operation {};", nested("(a => ", ")")),
        format!("<manifest>{}</manifest>", nested("<application>", "</application>")),
        format!("<am:Amalthea xmlns:am='x'>{}</am:Amalthea>", nested("<swModel>", "</swModel>")),
    ];
    for text in texts {
        let _ = said(&text);
    }
}

/// Things that consist of, follow, or wait for themselves.
#[test]
fn circles() {
    let cell = SAMPLES[5].1;
    let operation = cell
        .replace("Composite_Operation_List => (Sum_Up, Note)", "Composite_Operation_List => (Report, Note)");
    let lost = said(&operation).unwrap().join("\n");
    assert!(lost.contains("its operation `Report` is of others more than 16 deep"), "{lost}");
    let events = cell.replace("Output_Event => Noted", "Output_Event => Tick");
    assert!(said(&events).is_ok());
    let secondary = cell.replace("Scheduler => Cell,", "Scheduler => Inner,");
    let inner = "Scheduler (Type => Secondary_Scheduler, Name => Inner, Server => Logger, Policy => (Type => EDF));\n";
    let lost = said(&format!("{secondary}{inner}")).unwrap().join("\n");
    assert!(lost.contains("`Logger`: it is on no processor that is known"), "{lost}");

    let lift = SAMPLES[1].1;
    let back = "<precedence_sink ref=\"id_10\"/>\n   <precedence_source ref=\"id_12\"/>";
    let circle =
        lift.replace("<precedence_sink ref=\"id_13\"/>\n   <precedence_source ref=\"id_15\"/>", back);
    let lost = said(&circle).unwrap().join("\n");
    assert!(lost.contains("is left out: they wait for each other"), "{lost}");

    let drive = SAMPLES[3].1;
    let runnable = "<items xsi:type=\"am:RunnableCall\" runnable=\"Read_Wheels?type=Runnable\"/>";
    let calls = drive.replacen(
        "<items xsi:type=\"am:Ticks\">",
        &format!("{runnable}<items xsi:type=\"am:Ticks\">"),
        1,
    );
    let lost = said(&calls).unwrap().join("\n");
    assert!(lost.contains("`Read_Wheels` calls itself; the call is left out"), "{lost}");
    let trigger = drive.replace(
        "stimuli=\"every_10ms?type=PeriodicStimulus\"",
        "stimuli=\"wheels_read?type=InterProcessStimulus\"",
    );
    let lost = said(&trigger).unwrap().join("\n");
    assert!(lost.contains("is triggered by no task with a known rate"), "{lost}");
}

/// More consecutive tasks than a chain is written for.
#[test]
fn rows() {
    const ROW: usize = 120;
    let all = |one: &dyn Fn(usize) -> String| (0..ROW).map(one).collect::<String>();
    let tasks = all(&|at| {
        format!(
            "<periodic_task id='t{at}'><name>task{at}</name><task_type>PERIODIC_TYPE</task_type><cpu_name>cpu{}</cpu_name>\
             <capacity>1</capacity><deadline>900</deadline><period>900</period><priority>{}</priority></periodic_task>",
            at % 2,
            at / 2 + 1
        )
    });
    let waits = all(&|at| {
        format!(
            "<dependency><type_of_dependency>PRECEDENCE_DEPENDENCY</type_of_dependency><precedence_sink ref='t{}'/>\
             <precedence_source ref='t{at}'/></dependency>",
            at + 1
        )
    });
    let cores = "<mono_core_processor><name>cpu0</name></mono_core_processor><mono_core_processor><name>cpu1</name></mono_core_processor>";
    let text = format!(
        "<cheddar><processors>{cores}</processors><tasks>{tasks}</tasks><dependencies>{waits}</dependencies></cheddar>"
    );
    let lost = said(&text).unwrap().join("\n");
    assert!(
        lost.contains("the wait of `task101` for `task100` is left out: too many wait in a row"),
        "{lost}"
    );
    assert!(lost.contains("`task98` releases `task99`"), "{lost}");

    let servers = all(&|at| {
        format!(
            "Scheduling_Server (Type => Regular, Name => v{at}, Server_Processing_Resource => p{},\
             Server_Sched_Parameters => (Type => Fixed_Priority_Policy, The_Priority => {at}));\n",
            at % 2
        )
    });
    let handlers = all(&|at| {
        format!(
            "(Type => Activity, Input_Event => e{at}, Output_Event => e{}, Activity_Operation => o, Activity_Server => v{at}),",
            at + 1
        )
    });
    let text = format!(
        "Processing_Resource (Type => Regular_Processor, Name => p0);\n\
         Processing_Resource (Type => Regular_Processor, Name => p1);\n\
         Operation (Type => Simple, Name => o, Worst_Case_Execution_Time => 1.0);\n{servers}\
         Transaction (Type => Regular, Name => x, External_Events => ((Type => Periodic, Name => e0, Period => 900)),\n\
         Event_Handlers => ({}));",
        handlers.trim_end_matches(',')
    );
    let lost = said(&text).unwrap().join("\n");
    assert!(lost.contains("transaction `x`: more than 100 tasks: what follows is left out"), "{lost}");
}

/// Times that are not times, and numbers beyond every limit.
#[test]
fn numbers() {
    for number in [
        "-1",
        "NaN",
        "inf",
        "1e308",
        "99999999999999999999",
        "0x10",
        "1e-400",
        "",
        "1 2",
        "١",
        "1_000",
        "+5",
        "0.0",
    ] {
        let text =
            format!("<taskset><task period='{number}' wcet='1'/><task period='9' wcet='2'/></taskset>");
        let lost = said(&text).unwrap();
        assert!(number == "+5" || lost.iter().any(|what| what.contains("task `1`")), "{number}: {lost:?}");
        let sections = format!(
            "<taskset><task period='900' wcet='9'><resources><requirement max_writes='{number}' max_write_length='{number}'/>\
             </resources></task></taskset>"
        );
        said(&sections).unwrap();
        let _ = said(&SAMPLES[5].1.replace("=> 10000", &format!("=> \"{number}\"")));
        let _ = said(&SAMPLES[1].1.replace(">40<", &format!(">{number}<")));
        let _ = said(&SAMPLES[3].1.replace("value=\"10\"", &format!("value=\"{number}\"")));
        let _ = said(&SAMPLES[7].1.replace("\"10\"", &format!("\"{number}\"")));
    }
    let tasks = |count: usize| {
        format!("<taskset>{}</taskset>", "<task period='9000000' wcet='1' partition='7'/>".repeat(count))
    };
    assert!(said(&tasks(98)).is_ok());
    assert_eq!(said(&tasks(99)).unwrap_err(), "99 tasks on a core; at most 98 have priorities of their own");
    assert_eq!(said(&tasks(20_000)).unwrap_err(), "20000 tasks; at most 10000 are carried over");
    let many = "<taskset><task period='9' wcet='1' partition='18446744073709551615'/></taskset>";
    assert_eq!(said(many).unwrap_err(), "18446744073709551615 partitions");
}

/// Names that are taken, empty, or keywords of a manifest.
#[test]
fn names() {
    let wild = [
        "",
        "a",
        "a",
        "A",
        "a-event",
        "a-event-source",
        "\"]\n[tasks.x]",
        "# no",
        "tasks",
        "true",
        "1",
        "Ünïçødé",
        "名前",
        "😀",
        "a\\u0000b",
        "-",
        "__proto__",
        "\u{202e}abc",
    ];
    let long = "n".repeat(10_000);
    let escape = |name: &str| {
        name.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('\n', "&#10;")
    };
    let tasks: Vec<String> = wild
        .iter()
        .copied()
        .chain([long.as_str()])
        .map(|name| {
            let name = escape(name);
            format!(
                "<sporadic_task><name>{name}</name><task_type>SPORADIC_TYPE</task_type><cpu_name>{name}</cpu_name>\
                 <capacity>1</capacity><deadline>500</deadline><period>500</period><priority>3</priority></sporadic_task>"
            )
        })
        .collect();
    let resources: Vec<String> = wild
        .iter()
        .map(|name| {
            let name = escape(name);
            format!(
                "<resource><name>{name}</name><protocol>{name}</protocol><critical_sections><task_name>{name}</task_name>\
                 <critical_section><task_begin>1</task_begin><task_end>1</task_end></critical_section></critical_sections></resource>"
            )
        })
        .collect();
    let cores = "<processors><mono_core_processor><name>\n\"]#</name></mono_core_processor></processors>";
    let text = format!(
        "<cheddar>{cores}<tasks>{}</tasks><resources>{}</resources></cheddar>",
        tasks.concat(),
        resources.concat()
    );
    let imported = import(&text, &Options { name: "x\n\"".into(), ..Options::default() }).unwrap();
    said(&text).unwrap();
    // Each task also gets a task that stands for its releasing event.
    assert_eq!(imported.manifest.matches("\n[tasks.").count(), 2 * tasks.len());
    assert!(
        imported.lost.iter().all(|lost| !lost.what.contains('\n') && lost.what.len() < 400),
        "{:?}",
        imported.lost
    );

    assert!(!imported.manifest.contains('\u{202e}') && imported.manifest.contains("# 名前"));
    assert!(imported.manifest.lines().all(|line| line.chars().count() < 300));

    let quoted = SAMPLES[5]
        .1
        .replace("Name => Buttons", "Name => \"tasks.\\\"x\"")
        .replace("Name => Parts", "Name => \"名前 # ]\"");
    let _ = said(&quoted);
}
