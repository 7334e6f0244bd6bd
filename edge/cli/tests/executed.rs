// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Runs applications for real, and checks what `taut replay` and `taut report` say about their recordings. The
//! decisions are the same with and without real-time privilege.
#![allow(clippy::unwrap_used, reason = "test code")]

#[path = "../../../live/run/tests/app/mod.rs"]
mod app;

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use app::plain::{Quiet, planned};
use app::{TURN, each};
use taut_event::Kind;
use taut_event::file::Run;
use taut_plan::Plan;
use taut_run::{App, Component, Config, Context, Error, Failure, Job, Receiver, StateWriter};
use taut_time::Duration;

/// Runs an application for 300 ms; returns the folder of its recording, and the plan.
fn ran(
    manifest: &str,
    setup: impl for<'p> FnOnce(&mut App<'p>) -> Result<(), Error>,
) -> (tempfile::TempDir, Plan) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let plan = planned(manifest);
    std::fs::write(folder.path().join("taut.toml"), manifest).unwrap();
    let lock = folder.path().join("taut.lock");
    std::fs::write(&lock, plan.to_lock().unwrap()).unwrap();
    let (out, duration) = (Some(folder.path().to_owned()), Some(Duration::from_ms(300)));
    let ending = taut_run::run(
        &Config { lock, out, duration, spawned_ns: None, record_limit: None, applications: None },
        &mut Quiet,
        setup,
    );
    assert!(ending.unwrap().orderly);
    (folder, plan)
}

fn taut(folder: &Path, line: &str) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_taut"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout) + &text(output.stderr))
}

/// The simulator makes every decision of the run. Where a busy machine lost records, the rest is not compared: that
/// is reported, and is no difference.
fn is_replayed(folder: &Path) {
    let (code, said) = taut(folder, "replay run.taut --slack 200ms");
    let lost = said.contains("records were lost");
    assert!(
        code == Some(0) && said.contains(": equal: ") || lost && !said.contains("DIFFERS"),
        "{code:?}\n{said}"
    );
}

fn spend(job: &Job<'_>, micros: u64) {
    let begun = job.now();
    while job.now().since(begun) < Duration::from_us(micros) {}
}

/// Tasks, their cores and periods.
const TASKS: [(&str, u32, u64); 4] =
    [("left", 0, 2_000), ("slow", 0, 5_100), ("right", 1, 2_100), ("far", 1, 3_700)];

fn manifest(scheduler: &str, tables: &str, of_task: &str) -> String {
    let task = |(name, core, period_us): (&str, u32, u64)| {
        format!(
            "[tasks.{name}]\narrival = {{ periodic = \"{period_us}us\" }}\ndeadline = \"{period_us}us\"\n\
             wcet = {{ value = \"50us\", source = \"guess\" }}\ncore = {core}\non-overrun = \"run-on\"\n{of_task}"
        )
    };
    format!(
        "manifest = 1\n[app]\nname = \"buses\"\n[platform]\ncores = [0, 1]\nmemory = \"32MiB\"\nscheduler = \"{scheduler}\"\n\
         on-missing-privilege = \"degrade\"\n[platform.overheads]\nlock = \"1us\"\nkernel-blocking = \"5us\"\nrelease = \"5us\"\n\
         {tables}{}",
        TASKS.map(task).concat()
    )
}

#[test]
fn locks_between_cores() {
    for (scheduler, protocol, reported) in [
        ("fp", "msrp", "MSRP"),
        ("fp", "mpcp", "MPCP"),
        ("fp", "fmlp-plus", "FMLP+"),
        ("edf", "msrp", "MSRP"),
    ] {
        let tables = format!(
            "[resources.own]\n[resources.bus]\nprotocol = \"{protocol}\"\n[payloads]\nPose = {{ type = \"u64\", len = 100 }}\n\
             [channels.pose]\nkind = \"state\"\nfrom = \"slow\"\nto = \"far\"\npayload = \"Pose\"\n{}",
            if protocol == "fmlp-plus" { "" } else { "mechanism = \"msrp\"\n" }
        );
        // The lock of the state comes first, and `own` belongs to core 0.
        let bus = "{ resource = \"bus\", longest = \"20us\" }";
        let both = format!("sections = [{bus}, {{ resource = \"own\", longest = \"5us\" }}]\n");
        let one = format!("sections = [{bus}]\n");
        let manifest = manifest(scheduler, &tables, "");
        let manifest = manifest.replace("core = 0\n", &format!("core = 0\n{both}"));
        let manifest = manifest.replace("core = 1\n", &format!("core = 1\n{one}"));
        let (folder, _) = ran(&manifest, |app| {
            app.resource("own", ())?;
            app.resource("bus", ())?;
            for (name, core, _) in TASKS {
                app.task(name, |create| {
                    let bus = create.resource::<()>("bus")?;
                    let own = if core == 0 { Some(create.resource::<()>("own")?) } else { None };
                    let mut writes =
                        (name == "slow").then(|| create.state_writer::<[u64; 100]>("pose")).transpose()?;
                    let mut reads =
                        (name == "far").then(|| create.state_reader::<[u64; 100]>("pose")).transpose()?;
                    Ok(each(move |job: &mut Job<'_>| {
                        spend(job, 100);
                        job.lock(&bus, |(), job| spend(job, 150))?;
                        if let Some(own) = &own {
                            job.lock(own, |(), job| spend(job, 20))?;
                        }
                        if let Some(writes) = &mut writes {
                            writes.publish(job, [job.number(); 100]).map_err(|_| Failure::Code(1))?;
                        }
                        reads.as_mut().map(|reads| reads.latest(job));
                        Ok(())
                    }))
                })?;
            }
            Ok(())
        });
        is_replayed(folder.path());
        // Usually some job is late, because jobs may exceed their execution times.
        let (code, said) = taut(folder.path(), "report run.taut");
        assert!(matches!(code, Some(0 | 1)), "{said}");
        let row =
            |name: &str| said.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default();
        assert!(row("bus ").contains(reported), "{said}");
    }
}

/// The example that docs/locks.md explains.
#[test]
fn the_example() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/buses/taut.toml");
    let manifest = std::fs::read_to_string(path).unwrap();
    let (folder, plan) = ran(&manifest, |app| {
        app.resource("bus", 0_u64)?;
        app.resource("store", 0_u64)?;
        for (name, resource, micros) in [
            ("sense", "bus", 10),
            ("control", "bus", 15),
            ("record", "store", 800),
            ("upload", "store", 1_500),
        ] {
            app.task(name, |create| {
                let used = create.resource::<u64>(resource)?;
                let writes = name == "sense";
                let mut writes = writes.then(|| create.state_writer::<[f64; 12]>("pose")).transpose()?;
                let reads = matches!(name, "control" | "record");
                let mut reads = reads.then(|| create.state_reader::<[f64; 12]>("pose")).transpose()?;
                Ok(each(move |job: &mut Job<'_>| {
                    if let Some(writes) = &mut writes {
                        writes.publish(job, [1.0; 12]).map_err(|_| Failure::Code(1))?;
                    }
                    let _ = reads.as_mut().and_then(|reads| reads.latest(job));
                    job.lock(&used, |count, job| {
                        *count += 1;
                        spend(job, micros);
                    })?;
                    Ok(())
                }))
            })?;
        }
        Ok(())
    });
    assert_eq!(plan.resources.len(), 2);
    is_replayed(folder.path());
    let (_, said) = taut(folder.path(), "report run.taut");
    for (name, protocol) in [("bus ", "MSRP"), ("store", "MPCP"), ("pose", "MSRP")] {
        let row = said.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        assert!(row.contains(protocol), "{said}");
    }
}

/// Jobs that wait until their inputs are there, some of them late and some dropped: the scheduling rule is notified
/// of a job only then.
#[test]
fn synchronous_flows() {
    for (scheduler, overrun) in
        [("fp", "run-on"), ("fp", "skip-next"), ("edf", "run-on"), ("edf", "skip-next")]
    {
        let flow = |from: &str, to: &str, delayed: &str| {
            format!(
                "[channels.{from}]\nkind = \"state\"\nfrom = \"{from}\"\nto = [{to}]\npayload = \"Pose\"\n\
                 flow = \"synchronous\"\ndelayed = [{delayed}]\n"
            )
        };
        let tables = format!(
            "[payloads]\nPose = {{ type = \"u64\", len = 10 }}\n{}{}",
            flow("left", "\"slow\", \"right\", \"far\"", "\"slow\""),
            flow("right", "\"far\"", "")
        );
        let manifest = manifest(scheduler, &tables, "").replace("run-on", overrun);
        let manifest =
            manifest.replacen("[platform.overheads]", "executor = \"dispatched\"\n[platform.overheads]", 1);
        let (folder, plan) = ran(&manifest, |app| {
            for (name, ..) in TASKS {
                app.task(name, |create| {
                    let from: &[&str] = match name {
                        "slow" | "right" => &["left"],
                        "far" => &["left", "right"],
                        _ => &[],
                    };
                    let mut reads = Vec::new();
                    for from in from {
                        reads.push(create.state_reader::<[u64; 10]>(from)?);
                    }
                    let writes = matches!(name, "left" | "right");
                    let mut writes = writes.then(|| create.state_writer::<[u64; 10]>(name)).transpose()?;
                    Ok(each(move |job: &mut Job<'_>| {
                        for from in &mut reads {
                            let _ = from.latest(job);
                        }
                        // Sometimes late, also by several periods.
                        spend(job, if job.number() % 11 == 5 { 5_000 } else { 100 });
                        if let Some(writes) = &mut writes {
                            writes.publish(job, [job.number(); 10]).map_err(|_| Failure::Code(1))?;
                        }
                        Ok(())
                    }))
                })?;
            }
            Ok(())
        });
        assert!(plan.cores.iter().all(|core| core.dispatched.is_some()));
        is_replayed(folder.path());
        let run = Run::from_bytes(&std::fs::read(folder.path().join("run.taut")).unwrap()).unwrap();
        let reported = |task: &str, kind| {
            let subject = plan.task(task).unwrap() as u16;
            run.records.iter().filter(move |record| record.kind == kind && record.subject == subject)
        };
        // Some jobs waited, and some were dropped.
        assert!(reported("far", Kind::Release).any(|record| record.value > 1_000_000));
        assert!(overrun != "skip-next" || reported("left", Kind::Skip).count() > 5);
    }
}

/// A manifest with one core, under fixed priority.
fn limited(tables: &str) -> String {
    format!(
        "manifest = 1\n[app]\nname = \"limits\"\n[platform]\ncores = [0]\nmemory = \"32MiB\"\nscheduler = \"fp\"\n\
         on-missing-privilege = \"degrade\"\n[platform.overheads]\nkernel-blocking = \"5us\"\nrelease = \"5us\"\n{tables}"
    )
}

/// Some jobs take four times as long as stated.
fn sometimes_long(app: &mut App<'_>, name: &str, micros: u64) -> Result<(), Error> {
    app.task(name, move |_| {
        Ok(each(move |job: &mut Job<'_>| {
            spend(job, if job.number() % 4 == 1 { 4 * micros } else { micros / 2 });
            Ok(())
        }))
    })
}

#[test]
fn jobs_that_use_up_their_budgets_are_replayed_and_reported() {
    let tables = "[tasks.above]\narrival = { periodic = \"5ms\" }\ndeadline = \"5ms\"\nbudget = \"500us\"\n\
                  wcet = { value = \"400us\", source = \"guess\" }\non-overrun = \"demote\"\n\
                  [tasks.below]\narrival = { periodic = \"7ms\" }\ndeadline = \"7ms\"\n\
                  wcet = { value = \"300us\", source = \"guess\" }\n";
    let (folder, _) = ran(&limited(tables), |app| {
        sometimes_long(app, "above", 400)?;
        sometimes_long(app, "below", 50)
    });
    is_replayed(folder.path());
    let (_, said) = taut(folder.path(), "report run.taut");
    assert!(said.contains("used up the budget"), "{said}");
}

/// For every overrun policy: a late job whose budget does not suffice uses up the server's budget.
#[test]
fn tasks_in_servers_are_replayed() {
    for (policy, overrun) in [
        ("polling", "skip-next"),
        ("deferrable", "skip-next"),
        ("sporadic", "skip-next"),
        ("polling", "kill-job"),
        ("deferrable", "kill-job"),
        ("sporadic", "run-on"),
        ("deferrable", "run-on"),
    ] {
        let tables = format!(
            "[servers.share]\npolicy = \"{policy}\"\nbudget = \"1ms\"\nperiod = \"6ms\"\n\
             [tasks.bulk]\narrival = {{ periodic = \"30ms\" }}\ndeadline = \"30ms\"\nserver = \"share\"\n\
             wcet = {{ value = \"2ms\", source = \"guess\" }}\non-overrun = \"{overrun}\"\n\
             [tasks.rest]\narrival = {{ periodic = \"7ms\" }}\ndeadline = \"7ms\"\n\
             wcet = {{ value = \"800us\", source = \"guess\" }}\n"
        );
        let (folder, plan) = ran(&limited(&tables), |app| {
            app.task("bulk", |_| {
                Ok(each(|job: &mut Job<'_>| {
                    let parts = if job.number() % 4 == 1 { 100 } else { 4 };
                    for _ in 0..parts {
                        spend(job, 400);
                        job.checkpoint()?;
                    }
                    Ok(())
                }))
            })?;
            sometimes_long(app, "rest", 300)
        });
        is_replayed(folder.path());
        let overran = recorded(folder.path(), &plan, "bulk", Kind::Overrun);
        assert!(overran > 0, "{policy}, {overrun}");
    }
}

/// Bursts into the queue of an aperiodic task, which runs by its server's budget: the run is replayed, and nothing is lost but what
/// the queue refused.
#[test]
fn aperiodic_tasks_are_replayed() {
    for policy in ["polling", "deferrable", "sporadic"] {
        let tables = format!(
            "[payloads]\nCount = {{ type = \"u64\" }}\n\
             [servers.share]\npolicy = \"{policy}\"\nbudget = \"1ms\"\nperiod = \"8ms\"\n\
             [tasks.takes]\narrival = {{ aperiodic = [\"orders\"] }}\nserver = \"share\"\n\
             wcet = {{ value = \"600us\", source = \"guess\" }}\n\
             [tasks.rest]\narrival = {{ periodic = \"9ms\" }}\ndeadline = \"9ms\"\n\
             wcet = {{ value = \"800us\", source = \"guess\" }}\n\
             [tasks.asks]\nclass = \"best-effort\"\n[tasks.hears]\nclass = \"best-effort\"\n\
             [channels.orders]\nkind = \"queue\"\nfrom = \"asks\"\nto = \"takes\"\npayload = \"Count\"\ncapacity = 3\n\
             [channels.done]\nkind = \"state\"\nfrom = \"takes\"\nto = \"hears\"\npayload = \"Count\"\n"
        );
        let refused = Arc::new(AtomicU64::new(0));
        let counts = Arc::clone(&refused);
        let (folder, plan) = ran(&limited(&tables), move |app| {
            app.best_effort("asks", |create| {
                let mut orders = create.queue_writer::<u64>("orders")?;
                Ok(move |context: &mut Context<'_>| {
                    let mut number = 0;
                    while context.sleep(Duration::from_ms(4 + number % 7)) {
                        for _ in 0..number % 12 {
                            let is_taken = orders.send(context, number).is_ok();
                            counts.fetch_add(u64::from(!is_taken), Ordering::Relaxed);
                        }
                        number += 1;
                    }
                })
            })?;
            app.best_effort("hears", |create| {
                let mut done = create.state_reader::<u64>("done")?;
                Ok(move |context: &mut Context<'_>| {
                    while context.sleep(Duration::from_ms(20)) {
                        let _ = done.latest(context);
                    }
                })
            })?;
            app.receiver::<u64, _>("takes", |create| Ok(Taker(create.state_writer("done")?, 0)))?;
            sometimes_long(app, "rest", 300)
        });
        is_replayed(folder.path());
        let jobs = recorded(folder.path(), &plan, "takes", Kind::Complete);
        let of = |kind| recorded_of_channel(folder.path(), &plan, "orders", kind);
        let (sent, taken) = (of(Kind::Send), of(Kind::Receive));
        assert!(
            jobs > 20 && jobs <= sent && sent - taken <= 4,
            "{policy}: {jobs} jobs, {sent} sent, {taken} taken"
        );
        assert!(refused.load(Ordering::Relaxed) > 0, "{policy}: the queue was never full");
        let woken = woken_by_values(folder.path(), &plan, "takes");
        let apart = woken.windows(2).map(|pair| pair[1] - pair[0]).min();
        assert!(
            woken.len() > 10 && apart >= Some(8_000_000),
            "{policy}: {apart:?} ns apart, a period is 8 ms"
        );
    }
}

/// A job in a server ends 400 us after its deadline, within the server's next budget: the run ends in order.
fn stops_in_a_server(to: &Path) {
    let tables = "[servers.share]\npolicy = \"polling\"\nbudget = \"1ms\"\nperiod = \"6ms\"\n\
                  [tasks.bulk]\narrival = { periodic = \"30ms\" }\ndeadline = \"30ms\"\nserver = \"share\"\n\
                  wcet = { value = \"2ms\", source = \"guess\" }\non-overrun = \"stop-app\"\n\
                  [tasks.rest]\narrival = { periodic = \"7ms\" }\ndeadline = \"7ms\"\n\
                  wcet = { value = \"800us\", source = \"guess\" }\n";
    let (folder, plan) = ran(&limited(tables), |app| {
        app.task("bulk", |_| {
            Ok(each(|job: &mut Job<'_>| {
                let long = Duration::from_us(if job.number() == 3 { 30_400 } else { 1_000 });
                while job.now().since(job.release()) < long {}
                Ok(())
            }))
        })?;
        sometimes_long(app, "rest", 300)
    });
    assert!(recorded(folder.path(), &plan, "bulk", Kind::Overrun) > 0);
    std::fs::copy(folder.path().join("run.taut"), to.join("run.taut")).unwrap();
}

/// Runs in a process of its own: if the machine stalls for all grace periods, the runtime ends the process where it
/// stands, which would end the other tests here.
#[test]
fn a_task_in_a_server_that_stops_the_application_is_replayed() {
    const TO: &str = "TAUT_STOPS_IN_A_SERVER";
    if let Ok(to) = std::env::var(TO) {
        stops_in_a_server(Path::new(&to));
    } else {
        let folder = tempfile::tempdir().unwrap();
        let said = (0..10).find_map(|_| {
            let mut child = Command::new(std::env::current_exe().unwrap());
            child.args([
                "--exact",
                "a_task_in_a_server_that_stops_the_application_is_replayed",
                "--nocapture",
            ]);
            let output = child.env(TO, folder.path()).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            let in_place = output.status.code() == Some(4) && said.contains("ends at once: ");
            assert!(output.status.success() || in_place, "{said}");
            output.status.success().then_some(said)
        });
        assert!(said.is_some(), "one of ten ends in order");
        is_replayed(folder.path());
    }
}

/// How often an event of a task was recorded.
fn recorded(folder: &Path, plan: &Plan, task: &str, kind: Kind) -> usize {
    let run = Run::from_bytes(&std::fs::read(folder.join("run.taut")).unwrap()).unwrap();
    let subject = plan.task(task).unwrap() as u16;
    run.records.iter().filter(|record| record.kind == kind && record.subject == subject).count()
}

/// How many values of a channel have such a record.
fn recorded_of_channel(folder: &Path, plan: &Plan, channel: &str, kind: Kind) -> usize {
    let run = Run::from_bytes(&std::fs::read(folder.join("run.taut")).unwrap()).unwrap();
    let subject = plan.channel(channel).unwrap() as u16;
    run.records.iter().filter(|record| record.kind == kind && record.subject == subject).count()
}

/// When the dispatcher has released a job of a task that had none (ns): it had woken for a value.
fn woken_by_values(folder: &Path, plan: &Plan, task: &str) -> Vec<u64> {
    let run = Run::from_bytes(&std::fs::read(folder.join("run.taut")).unwrap()).unwrap();
    let subject = plan.task(task).unwrap() as u16;
    let (mut woken, mut complete_ns) = (Vec::new(), 0);
    for record in run.records.iter().filter(|record| record.kind.is_of_task() && record.subject == subject) {
        let released_ns = record.at.as_ns() + record.value;
        match record.kind {
            Kind::Complete => complete_ns = record.at.as_ns(),
            Kind::Release if released_ns > complete_ns => woken.push(released_ns),
            _ => {}
        }
    }
    woken
}

/// Takes orders, and publishes how many it has taken.
struct Taker<'p>(StateWriter<'p, u64>, u64);

impl Component for Taker<'_> {}

impl Receiver<u64> for Taker<'_> {
    fn receive(&mut self, job: &mut Job<'_>, _: u64) -> Result<(), Failure> {
        spend(job, 200);
        self.1 += 1;
        self.0.publish(job, self.1).map_err(|_| Failure::Code(1))
    }
}

/// A best-effort task in a server releases a real-time task in another server, which publishes its count to both.
#[test]
fn channels_of_tasks_in_servers_are_replayed() {
    for policy in ["polling", "deferrable", "sporadic"] {
        let server = |name: &str, budget: &str| {
            format!("[servers.{name}]\npolicy = \"{policy}\"\nbudget = \"{budget}\"\nperiod = \"6ms\"\n")
        };
        let tables = format!(
            "[payloads]\nCount = {{ type = \"u64\" }}\n{}{}[tasks.asks]\nclass = \"best-effort\"\nserver = \"background\"\n\
             min-gap = \"20ms\"\n[tasks.takes]\narrival = {{ sporadic = \"20ms\", trigger = \"orders\" }}\n\
             deadline = \"20ms\"\nserver = \"share\"\nwcet = {{ value = \"300us\", source = \"guess\" }}\n\
             [tasks.rest]\narrival = {{ periodic = \"7ms\" }}\ndeadline = \"7ms\"\n\
             wcet = {{ value = \"800us\", source = \"guess\" }}\n\
             [channels.orders]\nkind = \"queue\"\nfrom = \"asks\"\nto = \"takes\"\npayload = \"Count\"\n\
             [channels.done]\nkind = \"state\"\nfrom = \"takes\"\nto = [\"rest\", \"asks\"]\npayload = \"Count\"\n",
            server("share", "500us"),
            server("background", "300us")
        );
        let heard = Arc::new(AtomicU64::new(0));
        let hears = Arc::clone(&heard);
        let (folder, plan) = ran(&limited(&tables), move |app| {
            app.best_effort("asks", |create| {
                let mut orders = create.queue_writer::<u64>("orders")?;
                let mut done = create.state_reader::<u64>("done")?;
                Ok(move |context: &mut Context<'_>| {
                    while context.sleep(Duration::from_ms(20)) {
                        let _ = orders.send(context, 1);
                        hears.fetch_max(done.latest(context).unwrap_or(0), Ordering::Relaxed);
                    }
                })
            })?;
            app.receiver::<u64, _>("takes", |create| Ok(Taker(create.state_writer("done")?, 0)))?;
            app.task("rest", |create| {
                let mut done = create.state_reader::<u64>("done")?;
                Ok(each(move |job: &mut Job<'_>| {
                    let _ = done.latest(job);
                    spend(job, 300);
                    Ok(())
                }))
            })
        });
        is_replayed(folder.path());
        let taken = recorded(folder.path(), &plan, "takes", Kind::Complete);
        assert!(taken > 2 && heard.load(Ordering::Relaxed) > 1, "{policy}: {taken}, {heard:?}");
    }
}

/// Two best-effort tasks in a server, one of which computes without end while the other sleeps from time to time, as
/// any thread may; and a real-time task at a lower priority than the server.
#[test]
fn best_effort_tasks_in_servers_are_replayed() {
    for (policy, budget) in
        [("polling", "1ms"), ("deferrable", "1ms"), ("sporadic", "1ms"), ("deferrable", "5ms")]
    {
        let tables = format!(
            "[servers.share]\npolicy = \"{policy}\"\nbudget = \"{budget}\"\nperiod = \"6ms\"\npriority = 50\n\
             [tasks.bulk]\nclass = \"best-effort\"\nserver = \"share\"\n\
             [tasks.files]\nclass = \"best-effort\"\nserver = \"share\"\n\
             [tasks.rest]\narrival = {{ periodic = \"60ms\" }}\ndeadline = \"60ms\"\npriority = 10\n\
             wcet = {{ value = \"800us\", source = \"guess\" }}\n"
        );
        let sleeps = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&sleeps);
        let (folder, plan) = ran(&limited(&tables), move |app| {
            app.best_effort("bulk", |_| {
                Ok(|context: &mut Context<'_>| {
                    while !context.stopping() {
                        std::hint::black_box(vec![0_u8; 100]);
                    }
                })
            })?;
            app.best_effort("files", |_| {
                Ok(move |context: &mut Context<'_>| {
                    while context.sleep(Duration::from_ms(1)) {
                        counted.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })?;
            sometimes_long(app, "rest", 300)
        });
        is_replayed(folder.path());
        assert!(sleeps.load(Ordering::Relaxed) > 5, "{policy}: {sleeps:?}");
        for task in ["bulk", "files"] {
            let turns = recorded(folder.path(), &plan, task, Kind::Complete);
            assert!(turns > 5, "{policy}, {budget}: {task} had {turns}");
        }
        // Best-effort tasks have no guarantee, so the report does not mention them.
        let (code, said) = taut(folder.path(), "report run.taut");
        assert!(matches!(code, Some(0 | 1)) && !said.contains("bulk"), "{said}");
    }
}
