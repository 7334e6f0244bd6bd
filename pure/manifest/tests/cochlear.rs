// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The manifest of the first application, as it is in the tree.

use taut_manifest::{LoadedManifest, SourceText, load, render};
use taut_model::{
    Arrival, ChainStep, ChannelKind, Class, Evidence, KeyPath, OnMissingPrivilege, PartyId, Size,
};
use taut_time::Duration;

fn cochlear() -> SourceText {
    let text = include_str!("../../../apps/cochlear/taut.toml");
    SourceText { name: "taut.toml".into(), text: text.into() }
}

fn board(text: &str) -> SourceText {
    SourceText { name: "board.toml".into(), text: text.into() }
}

fn shown(loaded: &LoadedManifest, sources: &[&SourceText]) -> String {
    render(&loaded.diagnostics, sources, false, 120)
}

#[test]
fn says_what_it_says() {
    let source = cochlear();
    let loaded = load(&source, &[]);
    assert!(loaded.diagnostics.is_empty(), "{}", shown(&loaded, &[&source]));
    let model = loaded.model.unwrap();
    assert_eq!(model.app().name, "cochlear");
    let platform = model.platform();
    assert_eq!((&platform.cores[..], &platform.housekeeping[..]), (&[0][..], &[1][..]));
    assert_eq!(platform.memory, Size::from_bytes(64 << 20));
    assert_eq!(platform.overheads.release, Duration::from_us(550));
    assert_eq!(platform.on_missing_privilege, OnMissingPrivilege::Degrade);

    let layouts = model.payloads().iter().map(|p| p.layout()).collect::<Vec<_>>();
    assert_eq!(
        layouts,
        [
            "i16*128",
            "frame:u64,levels:u8*176",
            "volume:f32,sensitivity:f32",
            "frame:u64,loudest:u32,pulses:u32"
        ]
    );

    let names = model.tasks().iter().map(|task| task.name.as_str()).collect::<Vec<_>>();
    assert_eq!(names, ["recording", "processing", "output", "source", "logger"]);
    let (id, task, processing) = model.real_time().nth(1).unwrap();
    assert_eq!((task.service.unwrap().index(), processing.priority), (0, Some(70)));
    assert_eq!(processing.wcet.bound(), Some(Duration::from_us(150)));
    assert_eq!(processing.wcet.source, Evidence::Measured);
    assert_eq!(
        processing.arrival,
        Arrival::Periodic { period: Duration::from_ms(8), offset: Duration::from_ms(2) }
    );
    let (output, _, _) = model.real_time().nth(2).unwrap();
    let trigger = model.channel(model.triggers(output)[0]);
    assert_eq!(
        (trigger.name.as_str(), trigger.writer, trigger.kind),
        ("electrodes", PartyId::Task(id), ChannelKind::Queue)
    );
    assert!(matches!(model.tasks()[3].class, Class::BestEffort(_)));
    assert_eq!(model.party_name(model.channels()[3].readers[0]), "ui");
    assert_eq!((model.channels()[0].capacity, model.channels()[1].capacity), (Some(64), Some(8)));
    let chain = &model.chains()[0];
    assert_eq!((chain.path.len(), chain.path[4]), (5, ChainStep::Task(output)));
}

#[test]
fn places_fall_back_to_parents() {
    let source = cochlear();
    let places = load(&source, &[]).places;
    let at = |place: KeyPath| {
        let (file, range) = places.resolve(&place);
        assert_eq!(file, 0);
        &source.text[range]
    };
    assert_eq!(at(KeyPath::value("tasks.output.deadline")), "\"1ms\"");
    assert_eq!(at(KeyPath::key("tasks.output.deadline")), "deadline");
    assert_eq!(at(KeyPath::value("tasks.output.wcet.margin")), "\"100%\"");
    assert_eq!(at(KeyPath::value("chains.0.path.2")), "\"processing\"");
    assert_eq!(at(KeyPath::value("tasks.output.jitter")), "[tasks.output]");
    assert_eq!(at(KeyPath::key("tasks.output.jitter.x.y")), "[tasks.output]");
    assert_eq!(at(KeyPath::key("channels.levels")), "levels");
    assert_eq!(at(KeyPath::value("channels.levels.to.0")), "\"ui\"");
    assert_eq!(at(KeyPath::value("nowhere.at.all")), "");
}

#[test]
fn overlay_changes_the_machine() {
    let overlay = board(
        "[platform]\ncores = [2, 3]\nhousekeeping = [0, 1]\n[platform.overheads]\nrelease = \"30us\"\n\
         [tasks.recording]\ncore = 2\nwcet = { value = \"400us\" }\n[tasks.processing]\ncore = 3\npriority = \"auto\"\n\
         [tasks.output]\ncore = 3\nmemory = { persistent = \"1MiB\", set-up = \"2MiB\" }\n",
    );
    let source = cochlear();
    let loaded = load(&source, std::slice::from_ref(&overlay));
    assert!(loaded.diagnostics.is_empty(), "{}", shown(&loaded, &[&source, &overlay]));
    assert_eq!(loaded.places.resolve(&KeyPath::value("tasks.recording.wcet.value")).0, 1);
    assert_eq!(loaded.places.resolve(&KeyPath::value("tasks.recording.wcet.margin")).0, 0);
    let model = loaded.model.unwrap();
    assert_eq!(model.platform().overheads.release, Duration::from_us(30));
    assert_eq!(model.platform().overheads.context_switch, Duration::from_us(5), "kept");
    let real_time = model.real_time().map(|(_, _, real_time)| real_time).collect::<Vec<_>>();
    assert_eq!(real_time[0].wcet.bound(), Some(Duration::from_us(800)), "new value, old margin");
    assert_eq!(real_time[1].priority, None);
    assert_eq!(model.cpu(real_time[1].core.unwrap()), 3);
    assert_eq!(
        (real_time[2].persistent, real_time[2].release),
        (Size::from_bytes(1 << 20), Size::from_bytes(16 << 10))
    );
    assert_eq!((real_time[1].set_up, real_time[2].set_up), (None, Some(Size::from_bytes(2 << 20))));
}

#[test]
fn an_overlay_says_which_channels_are_recorded() {
    let recorded = |overlays: &[SourceText]| -> Vec<String> {
        let loaded = load(&cochlear(), overlays);
        assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
        let model = loaded.model.unwrap();
        let of = model.channels().iter().filter(|channel| channel.record);
        of.map(|channel| channel.name.clone()).collect()
    };
    let one = board("[channels.audio]\nrecord = true\n[channels.levels]\nrecord = true\n");
    let other = board("[channels.audio]\nrecord = false\n");
    assert_eq!(recorded(&[]), [""; 0]);
    assert_eq!(recorded(std::slice::from_ref(&one)), ["audio", "levels"]);
    assert_eq!(recorded(&[one, other]), ["levels"]);
}

#[test]
fn overlay_faults_point_into_the_right_file() {
    let overlay = board(
        "[app]\nname = \"x\"\n[plattform]\ncores = [1]\n[platform]\ncores = [1]\nmemry = \"1MiB\"\n\
         [tasks.recordng]\ncore = 0\n[tasks.processing]\nwcett = { value = \"1ms\" }\n\
         wcet = { value = \"6ms\" }\nmemory = { release = \"20MB\" }\n[tasks.output]\narrival = { sporadic = \"1ms\" }\n\
         [channels.levls]\nrecord = true\n[channels.levels]\nrecord = 1\n[channels.audio]\ncapacity = 4\n",
    );
    let source = cochlear();
    let loaded = load(&source, std::slice::from_ref(&overlay));
    assert!(loaded.model.is_none());
    insta::assert_snapshot!(shown(&loaded, &[&source, &overlay]));
}

/// All mistakes of an overlay are reported in one go, at their places in the overlay.
#[test]
fn an_overlay_with_several_mistakes() {
    let text = "manifest = 2\n[platform]\ncores = [0, 0]\nhousekeeping = [\"1\"]\nmemory = \"60\"\n\
                on-missing-privilege = \"panic\"\n[platform.overheads]\nrelease = 60\ncontext-swich = \"1us\"\n\
                [tasks.recording]\npriority = 99\ncore = 5\nwcet = { value = \"9ms\", source = \"hope\" }\n\
                deadline = \"1ms\"\n[tasks.processing]\npriority = 75\nmemory = { release = \"1KB\" }\n\
                [tasks.outptu]\ncore = 0\n[clients.other]\n";
    let overlay = board(text);
    let loaded = load(&cochlear(), &[overlay]);
    let found = loaded.diagnostics.iter().map(|d| {
        assert_eq!(d.primary.file, 1, "{d:?}");
        format!("{} {}", d.code, &text[d.primary.range.clone()])
    });
    let expected = [
        "TAUT0109 2",
        "TAUT0502 0",
        "TAUT0104 \"1\"",
        "TAUT0106 \"60\"",
        "TAUT0108 \"panic\"",
        "TAUT0105 60",
        "TAUT0102 context-swich",
        "TAUT0505 99",
        "TAUT0501 5",
        "TAUT0213 \"9ms\"",
        "TAUT0108 \"hope\"",
        "TAUT0309 deadline",
        "TAUT0506 75",
        "TAUT0106 \"1KB\"",
        "TAUT0308 outptu",
        "TAUT0309 clients",
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert!(loaded.model.is_none());
}
