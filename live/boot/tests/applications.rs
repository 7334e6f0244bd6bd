// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Applications that ask for admission, each a process of its own: this test binary, started again.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::fs::{File, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use taut_boot::{AdmissionError, Applications, Conflict, Guarantee, Guarantees};
use taut_plan::Plan;
use taut_sys::{process, signals};

const ROLE: &str = "TAUT_TEST_ROLE";
const NOBODY: u32 = 65534;

fn plan(app: &str, cpu: u16) -> Plan {
    let text = format!(
        "manifest = 1\napp.name = \"{app}\"\n[platform]\ncores = [{cpu}]\nmemory = \"8MiB\"\n[tasks.t]\n\
         arrival = {{ periodic = \"100ms\" }}\ndeadline = \"100ms\"\n\
         wcet = {{ value = \"62ms\", source = \"guess\" }}\n"
    );
    let source = taut_manifest::SourceText { name: "taut.toml".to_owned(), text };
    let loaded = taut_manifest::load(&source, &[]);
    let model = loaded.model.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    taut_planner::Planned::make(&model, Vec::new()).plan
}

/// An application in a process of its own.
struct Process {
    child: Child,
    reported: BufReader<std::process::ChildStderr>,
}

impl Process {
    /// Starts a process that asks for admission: `role` is a name, a CPU, whether it may be real-time, and when it asks.
    fn start(folder: &Path, role: &str, change: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        change(&mut command);
        command.args(["--exact", "role", "--nocapture", "--test-threads=1"]);
        command.env(ROLE, role).env("TAUT_APPLICATIONS_DIR", folder);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let reported = BufReader::new(child.stderr.take().unwrap());
        Self { child, reported }
    }

    fn asks(folder: &Path, app: &str, cpu: u16) -> (Self, String) {
        let mut process = Self::start(folder, &format!("{app} {cpu} yes 0"), |_| {});
        let answer = process.answer();
        (process, answer)
    }

    /// `admitted`, or why not.
    fn answer(&mut self) -> String {
        let mut answer = String::new();
        for line in (&mut self.reported).lines().map_while(Result::ok) {
            match line.strip_prefix('@') {
                Some("end") => return answer.trim_end().to_owned(),
                Some(line) => answer += &format!("{line}\n"),
                None => {}
            }
        }
        panic!("the process ended without an answer: {answer}");
    }

    fn kill(mut self) -> u32 {
        signals::kill(self.child.id(), signals::SIGKILL).unwrap();
        self.child.wait().unwrap();
        self.child.id()
    }

    /// Lets the application end in order.
    fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

/// What a process of [`Process::start`] does.
#[test]
fn role() {
    if let Ok(role) = std::env::var(ROLE) {
        ask(&role);
    }
}

fn ask(role: &str) {
    let [app, cpu, real_time, at_ns]: [&str; 4] = role.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let mut guarantees = Guarantees::default();
    if real_time == "no" {
        guarantees.lose(Guarantee::Priorities, "taken away");
    }
    let plan = plan(app, cpu.parse().unwrap());
    // The runtime's guardian is such a thread, if it has the right to be one.
    let (ready, is_ready) = std::sync::mpsc::channel();
    let wants = real_time == "yes";
    std::thread::spawn(move || {
        let _ = wants.then(|| taut_sys::thread::set_fifo(1));
        ready.send(()).unwrap();
        std::thread::park();
    });
    is_ready.recv().unwrap();
    while taut_sys::clock::monotonic_ns() < at_ns.parse().unwrap() {
        std::hint::spin_loop();
    }
    let admission = Applications::of_machine().admit(&plan, &guarantees);
    let answer = match &admission {
        Ok(_) => "admitted".to_owned(),
        Err(error) => error.to_string(),
    };
    let mut all = String::new();
    answer.lines().chain(["end"]).for_each(|line| all += &format!("@{line}\n"));
    std::io::stderr().write_all(all.as_bytes()).unwrap();
    // Until the parent closes it.
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    drop(admission);
}

fn names(folder: &Path) -> Vec<String> {
    let names =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn a_cpu_belongs_to_one_application() {
    let folder = tempfile::tempdir().unwrap();
    let (first, answer) = Process::asks(folder.path(), "first", 0);
    assert_eq!(answer, "admitted");
    let (second, answer) = Process::asks(folder.path(), "second", 1);
    assert_eq!(answer, "admitted");
    let (third, answer) = Process::asks(folder.path(), "third", 0);
    let (pid, uid) = (first.child.id(), process::effective_uid());
    let lines: Vec<&str> = answer.lines().collect();
    let [head, conflict, help] = lines[..] else { panic!("{answer}") };
    assert_eq!(head, "TAUT0603: `third` does not fit beside the applications that run");
    let tenths = plan("first", 0).cores[0].utilisation_ppm.div_ceil(1_000);
    assert!(tenths > 620, "the execution time, and what the machine adds");
    let needs = format!("{}.{} %", tenths / 10, tenths % 10);
    let expected = format!(
        "  CPU 0: `first` (process {pid} of user {uid}) has real-time threads there, which need {needs} of it; this \
         application needs {needs}"
    );
    assert_eq!(conflict, expected);
    assert!(
        help.starts_with("  help: end what is in the way, or give this application CPUs of its own ("),
        "{help}"
    );
    third.end();
    let running = Applications::at(folder.path().to_owned()).running().unwrap();
    let said: Vec<_> = running.iter().map(|one| (one.app.as_str(), one.pid, one.cores[0].cpu)).collect();
    assert_eq!(said, [("first", first.child.id(), 0), ("second", second.child.id(), 1)]);
    assert!(running.iter().all(|one| one.uid == uid && one.real_time && one.memory.as_bytes() > 0));
    first.end();
    let (third, answer) = Process::asks(folder.path(), "third", 0);
    assert_eq!(answer, "admitted", "the first one has ended");
    third.end();
    second.end();
    assert_eq!(names(folder.path()), [""; 0], "an application that ends removes its file");
}

#[test]
fn a_killed_application_gives_its_cpus_back() {
    let folder = tempfile::tempdir().unwrap();
    let (first, answer) = Process::asks(folder.path(), "first", 0);
    assert_eq!(answer, "admitted");
    let left = names(folder.path());
    first.kill();
    assert_eq!(names(folder.path()), left, "the file of a killed application stays");
    assert_eq!(Applications::at(folder.path().to_owned()).running().unwrap(), []);
    let (second, answer) = Process::asks(folder.path(), "second", 0);
    assert_eq!(answer, "admitted");
    let now = names(folder.path());
    assert!(now.len() == 1 && now != left, "the next application removes it: {now:?}");
    second.end();
}

/// A child of `fork` may hold the lock of an application that was killed, and a process of another name may have its
/// number by now.
#[test]
fn a_lock_that_outlives_its_application_counts_for_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (first, _) = Process::asks(folder.path(), "first", 0);
    let path = folder.path().join(&names(folder.path())[0]);
    let text = std::fs::read_to_string(&path).unwrap();
    let running = || Applications::at(folder.path().to_owned()).running().unwrap().len();
    assert_eq!(running(), 1);
    let pid = first.kill();
    let file = File::open(&path).unwrap();
    file.lock().unwrap();
    assert_eq!(running(), 0, "process {pid} is gone");
    let is_this = |text: &str| text.replace(&format!("pid {pid}"), &format!("pid {}", process::pid()));
    std::fs::write(&path, is_this(&text)).unwrap();
    assert_eq!(running(), 0, "this process started at another instant");
    let started = |pid| format!("started {}", process::start_time_of(pid).unwrap());
    let line = text.lines().find(|line| line.starts_with("started ")).unwrap();
    std::fs::write(&path, is_this(&text).replace(line, &started(process::pid()))).unwrap();
    assert_eq!(running(), 1);
}

#[test]
fn of_many_that_start_at_once_one_is_admitted() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..5 {
        // The folder itself is made by one of them.
        let folder = folder.path().join(round.to_string());
        let at_ns = taut_sys::clock::monotonic_ns() + 150_000_000;
        let start = |number| Process::start(&folder, &format!("app-{number} 0 yes {at_ns}"), |_| {});
        let mut all: Vec<Process> = (0..6).map(start).collect();
        let answers: Vec<String> = all.iter_mut().map(Process::answer).collect();
        let admitted = answers.iter().filter(|answer| *answer == "admitted").count();
        let refused = answers.iter().filter(|answer| answer.starts_with("TAUT0603")).count();
        assert_eq!((admitted, refused), (1, 5), "{answers:?}");
        all.into_iter().for_each(Process::end);
    }
}

#[test]
fn a_name_belongs_to_one_application_of_a_user() {
    let folder = tempfile::tempdir().unwrap();
    let (first, answer) = Process::asks(folder.path(), "same", 0);
    assert_eq!(answer, "admitted");
    let (second, answer) = Process::asks(folder.path(), "same", 1);
    let (pid, uid) = (first.child.id(), process::effective_uid());
    let expected = format!("  `same` (process {pid} of user {uid}) has the same name");
    assert_eq!(answer.lines().nth(1), Some(expected.as_str()), "{answer}");
    second.end();
    first.kill();
}

/// Without real-time threads an application disturbs nobody, and what runs beside it does not matter.
#[test]
fn an_application_without_priorities_takes_no_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let degraded = |app: &str| {
        let mut process = Process::start(folder.path(), &format!("{app} 0 no 0"), |_| {});
        let answer = process.answer();
        (process, answer)
    };
    let (one, first) = degraded("one");
    let (two, second) = Process::asks(folder.path(), "two", 0);
    let (three, third) = degraded("three");
    assert_eq!([first, second, third], ["admitted"; 3]);
    let running = Applications::at(folder.path().to_owned()).running().unwrap();
    assert_eq!(running.iter().map(|one| one.real_time).collect::<Vec<_>>(), [false, false, true]);
    [one, two, three].into_iter().for_each(Process::end);
}

/// Root and another user share the CPUs of a machine, and its folder, whoever made it and with whatever umask.
#[test]
fn the_cpus_of_a_machine_are_those_of_all_users() {
    if process::effective_uid() != 0 {
        println!("skipped: only root can start processes of another user");
        return;
    }
    let outer = tempfile::tempdir().unwrap();
    std::fs::set_permissions(outer.path(), Permissions::from_mode(0o1777)).unwrap();
    // The other user may not be able to reach the folder that the compiler wrote this program to.
    let program = outer.path().join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    const RIGHTS: [&str; 2] = ["--inh-caps=+sys_nice", "--ambient-caps=+sys_nice"];
    let setpriv = |uid: u32, rights: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args([format!("--reuid={uid}"), format!("--regid={uid}"), "--clear-groups".to_owned()]);
        command.args(rights).current_dir("/");
        command
    };
    let works = |rights: &[&str]| {
        let output = setpriv(NOBODY, rights).args(["chrt", "-f", "1", "true"]).output();
        output.is_ok_and(|output| output.status.success())
    };
    if !works(&RIGHTS) || works(&[]) {
        println!(
            "skipped: no `setpriv` or `chrt`, or rights to real-time priorities cannot be given to a user, or any has them"
        );
        return;
    }
    let start_with = |folder: &Path, uid: u32, rights: &[&str], role: &str| {
        let mut process = Process::start(folder, role, |command| {
            *command = setpriv(uid, rights);
            command.args(["sh", "-c", "umask 077; exec \"$0\" \"$@\""]).arg(&program);
        });
        let answer = process.answer();
        (process, answer)
    };
    let start = |folder: &Path, uid: u32, role: &str| {
        start_with(folder, uid, if uid == 0 { &[] } else { &RIGHTS }, role)
    };
    for (name, one, two) in [("of-root", 0, NOBODY), ("of-nobody", NOBODY, 0)] {
        let folder = outer.path().join(name);
        let (first, answer) = start(&folder, one, "first 0 yes 0");
        assert_eq!(answer, "admitted", "{name}");
        let (second, answer) = start(&folder, two, "second 0 yes 0");
        let owner =
            format!("`first` (process {} of user {one}) has real-time threads there", first.child.id());
        assert!(answer.contains(&owner), "{name}: {answer}");
        second.end();
        let (third, answer) = start(&folder, two, "first 1 yes 0");
        assert_eq!(answer, "admitted", "{name}: another user's application may have the same name");
        assert_eq!(Applications::at(folder.clone()).running().unwrap().len(), 2);
        first.kill();
        let (fourth, answer) = start(&folder, two, "fourth 0 yes 0");
        assert_eq!(answer, "admitted", "{name}: what another user's application left is in nobody's way");
        fourth.end();
        third.end();
        // Root removes what others left. Another user can do so only in a folder of his own.
        assert_eq!(names(&folder).len(), usize::from(one == 0 && two == NOBODY), "{name}");
        assert_eq!(std::fs::metadata(&folder).unwrap().uid(), one);
    }
    // Without the right to real-time threads nobody takes a CPU or memory from another user, whatever he registers.
    let folder = outer.path().join("untrue");
    let (mut first, answer) = start_with(&folder, NOBODY, &[], "first 0 yes 0");
    assert_eq!(answer, "admitted");
    let applications = Applications::at(folder.clone());
    let [ref seen] = applications.running().unwrap()[..] else { panic!() };
    assert_eq!((seen.uid, seen.real_time, seen.memory.as_bytes()), (NOBODY, false, 0));
    let (second, answer) = start(&folder, 0, "second 0 yes 0");
    assert_eq!(answer, "admitted");
    // Nor by the process of another.
    let own = names(&folder).into_iter().find(|name| name.starts_with("second")).unwrap();
    let text = std::fs::read_to_string(folder.join(own)).unwrap().replace("core 0", "core 5");
    let held = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        let file = File::open(&path).unwrap();
        file.lock().unwrap();
        file
    };
    let _locks = [held("of-another.0.application", &text), held("garbage.0.application", "garbage")];
    let fits = || applications.check(&plan("third", 5), &Guarantees::default());
    assert_eq!(fits(), Ok(()));
    chown(folder.join("of-another.0.application"), Some(0), Some(0)).unwrap();
    assert!(fits().is_err(), "of root's own it is believed");
    assert!(first.child.try_wait().unwrap().is_none());
    first.end();
    second.end();
    // Another user can take the name, and keep everybody out: then nobody knows which applications run.
    let taken = outer.path().join("taken");
    std::fs::create_dir(&taken).unwrap();
    std::fs::set_permissions(&taken, Permissions::from_mode(0o700)).unwrap();
    chown(&taken, Some(1), Some(1)).unwrap();
    let (process, answer) = start(&taken, NOBODY, "first 0 yes 0");
    let expected =
        format!("applications cannot register in {}: open: Permission denied (EACCES)", taken.display());
    assert_eq!(answer, expected);
    process.end();
}

/// What no version of this crate wrote is removed if nobody holds it, and is in the way if somebody does.
#[test]
fn an_unknown_registration_is_in_the_way_while_it_is_held() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("later.0.application");
    std::fs::write(&path, "taut-application 2\n").unwrap();
    let held = File::open(&path).unwrap();
    held.lock().unwrap();
    let applications = Applications::at(folder.path().to_owned());
    let admit = || applications.admit(&plan("first", 0), &Guarantees::default());
    let refused = admit().unwrap_err();
    let AdmissionError::Refused { conflicts, .. } = &refused else { panic!("{refused}") };
    assert_eq!(*conflicts, [Conflict::Unreadable { path: path.clone(), uid: process::effective_uid() }]);
    assert!(refused.to_string().contains("this version cannot read what it uses"), "{refused}");
    assert_eq!(applications.check(&plan("first", 0), &Guarantees::default()), Err(refused));
    drop(held);
    std::fs::write(folder.path().join("killed.1.new"), "").unwrap();
    let target = folder.path().join("other");
    std::os::unix::fs::symlink(&target, folder.path().join("link.2.application")).unwrap();
    std::fs::write(folder.path().join("other"), "").unwrap();
    let admission = admit().unwrap();
    assert!(admission.others().is_empty());
    assert_eq!(names(folder.path()).len(), 2, "the admitted application, and a file that is none of ours");
    assert!(folder.path().join("other").exists());
}

/// Where the folder cannot be used, nobody knows which applications run: a guarantee is lost, and nothing is refused.
#[test]
fn a_folder_that_cannot_be_used_loses_a_guarantee() {
    let folder = tempfile::tempdir().unwrap();
    let (file, locked) = (folder.path().join("file"), folder.path().join("locked"));
    std::fs::write(&file, "").unwrap();
    std::fs::create_dir(&locked).unwrap();
    let held = File::open(&locked).unwrap();
    held.lock().unwrap();
    for (path, call) in [(file, "open: "), (locked, "flock: "), (folder.path().join("no/such"), "mkdir: ")] {
        let begun = Instant::now();
        let applications = Applications::at(path.clone());
        let error = applications.admit(&plan("first", 0), &Guarantees::default()).unwrap_err();
        let said = error.to_string();
        assert!(
            said.starts_with(&format!("applications cannot register in {}: {call}", path.display())),
            "{said}"
        );
        assert!(begun.elapsed() < Duration::from_secs(10));
        let mut guarantees = Guarantees::default();
        error.lose_exclusive(&mut guarantees).unwrap();
        assert!(!guarantees.keeps(Guarantee::Exclusive) && !guarantees.is_degraded());
        assert_eq!(guarantees.lost[0].why, said);
    }
    drop(held);
    let conflicts = vec![];
    let refused = AdmissionError::Refused { app: "first".to_owned(), conflicts, free: vec![] };
    assert_eq!(refused.clone().lose_exclusive(&mut Guarantees::default()), Err(refused));
}
