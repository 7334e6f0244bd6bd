// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The listener under attack. Its owner runs in a process of its own; hostile clients must not keep others out.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "test code")]

mod support;

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use support::*;
use taut_segment::{Error, Liveness, OfferedClients, attach_in, offered_in};
use taut_sys::memory::{self, Seals};
use taut_sys::{signals, socket};

#[test]
fn role() {
    match support::role().as_deref() {
        Some("keeper") => keep_listening(),
        Some(other) => panic!("unknown role {other}"),
        None => println!("no test: for processes that tests start"),
    }
}

fn keeper(folder: &Path) -> Process {
    let keeper = Process::start("keeper", folder);
    let _ = keeper.told_after("ready");
    keeper
}

fn knock(folder: &Path) -> UnixStream {
    // Unlike taut's own connect, this waits while the backlog is full.
    let stream = UnixStream::connect(folder.join("cochlear.sock")).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// A request as a program in another language would make it: bytes from the documentation.
fn request(client: &[u8]) -> Vec<u8> {
    [b"TAUTDOOR\x05\x00", &(client.len() as u16).to_le_bytes()[..], client].concat()
}

/// The code and the text of the reply to a request.
fn reply(folder: &Path, request: &[u8]) -> (u16, String) {
    let mut stream = knock(folder);
    stream.write_all(request).unwrap();
    let mut reply = Vec::new();
    // If the listener has not read the whole request, the connection ends with a reset; the reply comes before it.
    let _ = stream.read_to_end(&mut reply);
    assert_eq!(&reply[..10], b"TAUTDOOR\x05\x00");
    let text = u32::from_le_bytes(reply[12..16].try_into().unwrap()) as usize;
    assert_eq!(reply.len(), 48 + text);
    assert!(reply[16..48].iter().all(|&byte| byte == 0));
    let said = String::from_utf8(reply[48..].to_vec()).unwrap();
    (u16::from_le_bytes([reply[10], reply[11]]), said)
}

/// Attaches within two seconds. A process that another test of this program is just starting holds this process's
/// connections until it executes its own program, so a released name can stay taken for a moment.
fn others_still_attach(folder: &Path) {
    let limit = Instant::now() + Duration::from_secs(2);
    for client in ["ui", "viewer"] {
        let attached = loop {
            match attach_in(folder, APP, client) {
                Err(Error::NameTaken { .. }) if Instant::now() < limit => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                attached => break attached.unwrap(),
            }
        };
        assert_eq!(attached.alive(), Liveness::Alive);
    }
}

#[test]
fn nonsense_gets_its_reply() {
    let folder = folder();
    let mut keeper = keeper(folder.path());
    let malformed = "the request is malformed";
    let requests: [(&[u8], u16, &str); 7] = [
        (b"GET / HTTP/1.1\r\n\r\n", 1, malformed),
        (&[0xff; 4096], 1, malformed),
        (&request(b""), 1, malformed),
        (&request(b"../ui"), 1, malformed),
        (&[&request(b"ui")[..], b"more"].concat(), 1, malformed),
        (b"TAUTDOOR\x04\x00", 2, "this application speaks version 5"),
        (&request(b"stranger"), 3, "the clients of the application are ui, viewer"),
    ];
    for (request, code, said) in requests {
        assert_eq!(reply(folder.path(), request), (code, said.to_owned()), "{request:?}");
    }
    let _ui = attach_in(folder.path(), APP, "ui").unwrap();
    let taken = format!("process {} holds it: end that process first", std::process::id());
    assert_eq!(reply(folder.path(), &request(b"ui")), (4, taken));
    assert_eq!(ask(&mut keeper)["refused"], "8");
    let mut random = Random(0x7a07_0002);
    for _ in 0..200 {
        let mut stream = knock(folder.path());
        let noise: Vec<u8> = (0..random.below(300)).map(|_| random.below(256) as u8).collect();
        let valid = request(b"viewer");
        let start = &valid[..random.below(valid.len() as u64) as usize];
        // The listener may have closed before the whole request was sent.
        let _ = stream.write_all(start);
        let _ = stream.write_all(&noise);
    }
    assert!(attach_in(folder.path(), APP, "viewer").is_ok());
    keeper.release();
}

/// A stranger may ask what there is: it takes no name, whoever holds one, and learns how many do.
#[test]
fn the_list_takes_no_name() {
    let folder = folder();
    let mut keeper = keeper(folder.path());
    let seen = |offer: &OfferedClients| {
        assert!(offer.complete);
        let all = offer.clients.iter().map(|of| (of.client.clone(), of.max_attached, of.attached));
        all.collect::<Vec<_>>()
    };
    let both = |ui| [("ui".to_owned(), 1, ui), ("viewer".to_owned(), 1, 0)];
    assert_eq!(seen(&offered_in(folder.path(), APP).unwrap()), both(0));
    let ui = attach_in(folder.path(), APP, "ui").unwrap();
    for _ in 0..5 {
        let offer = offered_in(folder.path(), APP).unwrap();
        assert_eq!(seen(&offer), both(1));
        assert_eq!(offer.clients[0].directory, *ui.directory());
    }
    drop(ui);
    others_still_attach(folder.path());
    assert_eq!(ask(&mut keeper)["refused"], "0");
    keeper.release();
    assert!(matches!(offered_in(folder.path(), APP), Err(Error::NotRunning { .. })));
}

#[test]
fn byte_by_byte_is_a_request_too() {
    let folder = folder();
    let keeper = keeper(folder.path());
    let mut stream = knock(folder.path());
    for byte in request(b"viewer") {
        stream.write_all(&[byte]).unwrap();
        std::thread::sleep(Duration::from_millis(2));
    }
    let mut reply = [0; 48];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(&reply[..12], b"TAUTDOOR\x05\x00\x00\x00");
    drop(stream);
    keeper.release();
}

#[test]
fn silence_times_out_and_the_listener_continues() {
    let folder = folder();
    let mut keeper = keeper(folder.path());
    let open = ask(&mut keeper).remove("open");
    let mut silent: Vec<_> = (0..200).map(|_| knock(folder.path())).collect();
    for (index, stream) in silent.iter_mut().enumerate() {
        if index % 2 == 0 {
            let _ = stream.write_all(b"TAUTD");
        }
    }
    others_still_attach(folder.path());
    let number = |text: Option<&String>| text.unwrap().parse::<usize>().unwrap();
    let held = number(ask(&mut keeper).get("open")) - number(open.as_ref());
    assert!(held <= 34, "{held} descriptors of 200 are held");
    eventually("they are shown out", || ask(&mut keeper).get("open") == open.as_ref());
    let report = ask(&mut keeper);
    assert!(report["dropped"].parse::<u32>().unwrap() >= 200, "{report:?}");
    for stream in &mut silent {
        assert!(matches!(stream.read(&mut [0; 1]), Ok(0) | Err(_)), "closed, not left hanging");
    }
    others_still_attach(folder.path());
    keeper.release();
}

#[test]
fn a_flood_of_connections() {
    let folder = folder();
    let mut keeper = keeper(folder.path());
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let flood = scope.spawn(|| {
            let mut held = Vec::new();
            let mut count = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                if let Ok(fd) = socket::connect(&folder.path().join("cochlear.sock"), Duration::ZERO) {
                    count += 1;
                    let _ = socket::send(fd.as_fd(), &request(b"stranger"), &[]);
                    held.push(fd);
                }
                if held.len() > 200 {
                    held.clear();
                }
            }
            count
        });
        let mut attempts = Vec::new();
        let end = Instant::now() + Duration::from_secs(1);
        while Instant::now() < end {
            attempts.push(attach_in(folder.path(), APP, "ui").map(drop));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let strangers = flood.join().unwrap();
        let attached = attempts.iter().filter(|attempt| attempt.is_ok()).count();
        eprintln!("{attached} of {} attached beside {strangers} strangers", attempts.len());
        // A flood by the same user can win for two seconds; it must not win always, nor break the listener.
        assert!(attached > 0, "{attempts:?}");
    });
    eventually("all have left", || ask(&mut keeper)["attached"].is_empty());
    others_still_attach(folder.path());
    keeper.release();
}

/// Clients that come and go need one connection each time: the listener refuses none because it has not noticed yet
/// that the last one left, and none must try again, which takes a sleep. The duration depends on when Linux runs both
/// threads.
#[test]
fn an_attach_is_one_conversation() {
    const EACH: usize = 500;
    let folder = folder();
    let mut keeper = keeper(folder.path());
    std::thread::scope(|scope| {
        for client in ["ui", "viewer"] {
            let folder = folder.path();
            scope.spawn(move || (0..EACH).for_each(|_| drop(attach_in(folder, APP, client).unwrap())));
        }
    });
    // A client may have left before the listener thread, which sent the reply, has counted it.
    let mut report = ask(&mut keeper);
    eventually("all are counted, and have left", || {
        report = ask(&mut keeper);
        let ends = ["granted", "refused", "dropped"].map(|what| report[what].parse::<usize>().unwrap());
        ends.iter().sum::<usize>() >= 2 * EACH && report["attached"].is_empty()
    });
    let count = |what: &str| report[what].parse::<usize>().unwrap();
    assert_eq!([count("granted"), count("refused"), count("dropped")], [2 * EACH, 0, 0]);
    keeper.release();
}

#[test]
fn a_client_that_never_reads_delays_no_other_client() {
    let folder = folder();
    let mut keeper = keeper(folder.path());
    let open = ask(&mut keeper).remove("open");
    let mut mute: Vec<_> = (0..50).map(|_| knock(folder.path())).collect();
    for stream in &mut mute {
        // The listener has dropped the oldest already.
        let _ = stream.write_all(&request(b"stranger"));
    }
    others_still_attach(folder.path());
    eventually("they are shown out", || ask(&mut keeper).get("open") == open.as_ref());
    keeper.release();
}

#[test]
fn an_end_and_a_successor_in_one_round() {
    let folder = folder();
    let mut keeper = keeper(folder.path());
    let open: usize = ask(&mut keeper)["open"].parse().unwrap();
    let first = attach_in(folder.path(), APP, "ui").unwrap();
    let mut second = knock(folder.path());
    eventually("both are inside", || ask(&mut keeper)["open"] == (open + 2).to_string());
    // The listener is stopped while one client leaves and the other asks: it finds both events at once.
    signals::kill(keeper.child.id(), signals::SIGSTOP).unwrap();
    drop(first);
    second.write_all(&request(b"ui")).unwrap();
    signals::kill(keeper.child.id(), signals::SIGCONT).unwrap();
    let mut head = [0; 48];
    second.read_exact(&mut head).unwrap();
    assert_eq!(&head[..12], b"TAUTDOOR\x05\x00\x00\x00", "granted");
    eventually("the second is listed", || ask(&mut keeper)["attached"] == "ui");
    keeper.release();
}

#[test]
fn talk_after_the_grant_costs_the_name() {
    let folder = folder();
    let mut keeper = keeper(folder.path());
    let mut stream = knock(folder.path());
    stream.write_all(&request(b"ui")).unwrap();
    let mut head = [0; 48];
    stream.read_exact(&mut head).unwrap();
    eventually("it is attached", || ask(&mut keeper)["attached"] == "ui");
    for _ in 0..1000 {
        if stream.write_all(&[0; 4096]).is_err() {
            break;
        }
    }
    eventually("it is shown out", || ask(&mut keeper)["attached"].is_empty());
    assert_eq!(ask(&mut keeper)["dropped"], "1");
    others_still_attach(folder.path());
    keeper.release();
}

#[test]
fn descriptors_sent_to_the_listener_are_closed() {
    let folder = folder();
    let mut keeper = keeper(folder.path());
    let open = ask(&mut keeper).remove("open");
    let file = memory::memfd(c"gift", 4096, Seals::NONE).unwrap();
    for _ in 0..100 {
        let fd = knock(folder.path());
        socket::send(fd.as_fd(), b"T", &[file.as_fd(); socket::FD_LIMIT]).unwrap();
    }
    eventually("they are closed", || ask(&mut keeper).get("open") == open.as_ref());
    keeper.release();
}

/// Processor time that a process has used, in ticks of 10 ms.
fn ticks(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    after_name.split_ascii_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

/// A silent client gives the listener no work until its time is over, and clients that have hung up give it none at
/// all.
#[test]
fn the_listener_sleeps_while_no_client_writes() {
    let folder = folder();
    let keeper = keeper(folder.path());
    let silent = knock(folder.path());
    for asked in [&b""[..], &request(b"viewer")] {
        let mut stream = knock(folder.path());
        stream.write_all(asked).unwrap();
        drop(stream);
    }
    let before = ticks(keeper.child.id());
    std::thread::sleep(Duration::from_secs(1));
    let took = ticks(keeper.child.id()) - before;
    assert!(took <= 4, "{took} ticks of 100");
    drop(silent);
    keeper.release();
}
