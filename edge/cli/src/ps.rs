// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut ps`: the applications that run on this machine.

use std::fmt::Write;

use taut_boot::{Applications, RunningApplication};
use taut_segment::{ChannelEntry, Error, OfferedClient, OfferedClients, offered};
use taut_sys::{clock, process};
use taut_time::shown;

use crate::arguments::{Format, Ps};
use crate::columns::columns;
use crate::outcome::{Failure, Outcome};
use crate::say::{out, outln};

/// The version of the JSON format.
const SCHEMA_VERSION: u32 = 1;

pub(crate) fn ps(arguments: &Ps) -> Result<Outcome, Failure> {
    let running = Applications::of_machine().running();
    let running = running.map_err(|error| Failure::Environment(error.to_string()))?;
    let now_ns = clock::monotonic_ns();
    match arguments.format {
        Format::Human if running.is_empty() => outln!("no application runs"),
        Format::Human if arguments.channels => {
            running.iter().for_each(|of| out!("{}", channels(&of.app, &offer_of(of))));
        }
        Format::Human => out!("{}", table(&running, now_ns)),
        Format::Json => {
            let one = |of: &RunningApplication| {
                let mut one = json(of, now_ns);
                if arguments.channels {
                    one["offers"] = json_of_offer(&offer_of(of));
                }
                one
            };
            let applications: Vec<_> = running.iter().map(one).collect();
            outln!(
                "{:#}",
                serde_json::json!({ "schema_version": SCHEMA_VERSION, "applications": applications })
            );
        }
    }
    Ok(Outcome::Yes)
}

fn table(running: &[RunningApplication], now_ns: u64) -> String {
    let row = |of: &RunningApplication| {
        let cpus: Vec<String> = of.cores.iter().map(|core| core.cpu.to_string()).collect();
        let cpus = if cpus.is_empty() { "-".to_owned() } else { cpus.join(",") };
        let real_time = if of.real_time { "yes" } else { "no" };
        let runs_for = shown::time(now_ns.saturating_sub(of.since_ns));
        [
            of.app.clone(),
            of.pid.to_string(),
            of.uid.to_string(),
            cpus,
            real_time.to_owned(),
            shown::size(of.memory.as_bytes()),
            runs_for,
        ]
    };
    let rows: Vec<_> = running.iter().map(row).collect();
    columns(["application", "process", "user", "cpus", "real-time", "memory", "runs for"], &rows)
}

/// What an application offers to clients; if this is not known, why. Applications of other users have other folders.
fn offer_of(of: &RunningApplication) -> Result<OfferedClients, String> {
    if of.uid != process::effective_uid() {
        return Err(format!("not listed: it belongs to user {}", of.uid));
    }
    match offered(&of.app) {
        // An application without clients has no listener.
        Err(Error::NotRunning { .. }) => Ok(OfferedClients { clients: Vec::new(), complete: true }),
        offer => offer.map_err(|error| error.to_string()),
    }
}

/// What an application offers to clients, in lines.
fn channels(app: &str, offer: &Result<OfferedClients, String>) -> String {
    let mut text = format!("  {app}\n");
    let offer = match offer {
        Ok(offer) if offer.clients.is_empty() => return text + "    has no clients\n",
        Ok(offer) => offer,
        Err(why) => return text + &format!("    {why}\n"),
    };
    for OfferedClient { client, max_attached, attached, directory } in &offer.clients {
        let _ = writeln!(text, "    {client}: {attached} of {max_attached} attached");
        for of in directory.entries() {
            let bytes = shown::size(of.value_size.into());
            let _ = write!(text, "      {} {}: {}, {bytes}", of.role, of.channel, of.layout);
            let _ = if of.history > 0 { write!(text, ", begins with {} before", of.history) } else { Ok(()) };
            text.push('\n');
        }
    }
    if !offer.complete {
        text += "    and more than a reply holds\n";
    }
    text
}

/// What an application offers to clients: `clients`, and whether these are all; or `error`.
fn json_of_offer(offer: &Result<OfferedClients, String>) -> serde_json::Value {
    let offer = match offer {
        Ok(offer) => offer,
        Err(why) => return serde_json::json!({ "error": why }),
    };
    let channel = |of: &ChannelEntry| {
        serde_json::json!({
            "channel": of.channel,
            "does": of.role.word(),
            "mechanism": of.mechanism,
            "layout": of.layout,
            "value_bytes": of.value_size,
            "capacity": of.capacity,
            "history": of.history,
        })
    };
    let client = |of: &OfferedClient| {
        let channels: Vec<_> = of.directory.entries().iter().map(channel).collect();
        serde_json::json!({
            "client": of.client,
            "max_attached": of.max_attached,
            "attached": of.attached,
            "channels": channels,
        })
    };
    let clients: Vec<_> = offer.clients.iter().map(client).collect();
    serde_json::json!({ "clients": clients, "complete": offer.complete })
}

fn json(of: &RunningApplication, now_ns: u64) -> serde_json::Value {
    let cores: Vec<_> = of
        .cores
        .iter()
        .map(|core| serde_json::json!({ "cpu": core.cpu, "utilisation_ppm": core.utilisation_ppm }))
        .collect();
    serde_json::json!({
        "app": of.app,
        "pid": of.pid,
        "uid": of.uid,
        "real_time": of.real_time,
        "cores": cores,
        "memory_bytes": of.memory.as_bytes(),
        "runs_for_ns": now_ns.saturating_sub(of.since_ns),
    })
}

#[cfg(test)]
mod tests {
    use taut_boot::CoreUse;
    use taut_plan::Size;

    use super::*;

    #[test]
    fn what_an_application_offers() {
        let line = "forces reads mechanism=broadcast value=12 capacity=64 readers=1 offset=128 size=8192 triggered=no waits=no \
                    history=20 service=no layout=stroke:u64,newtons:f32\n";
        let client = |client: &str, max_attached, text| OfferedClient {
            client: client.to_owned(),
            max_attached,
            attached: 1,
            directory: taut_segment::Directory::from_text(text).expect("a directory"),
        };
        let clients = vec![client("panel", 8, line), client("ui", 1, "")];
        let offer = Ok(OfferedClients { clients, complete: false });
        let expected = "  press\n    panel: 1 of 8 attached\n      reads forces: stroke:u64,newtons:f32, 12 B, begins with 20 before\n    \
                        ui: 1 of 1 attached\n    and more than a reply holds\n";
        assert_eq!(channels("press", &offer), expected);
        let said = json_of_offer(&offer);
        assert_eq!((&said["complete"], &said["clients"][0]["max_attached"]), (&false.into(), &8.into()));
        let channel = &said["clients"][0]["channels"][0];
        let fields = ["channel", "does", "layout", "value_bytes", "capacity", "history"]
            .map(|key| channel[key].clone());
        let expected = serde_json::json!(["forces", "reads", "stroke:u64,newtons:f32", 12, 64, 20]);
        assert_eq!(serde_json::Value::from(fields.to_vec()), expected);
        let unknown = Err("not listed".to_owned());
        assert_eq!(channels("press", &unknown), "  press\n    not listed\n");
        assert_eq!(json_of_offer(&unknown), serde_json::json!({ "error": "not listed" }));
        let none = Ok(OfferedClients { clients: Vec::new(), complete: true });
        assert_eq!(channels("press", &none), "  press\n    has no clients\n");
    }

    #[test]
    fn each_application_is_a_line() {
        let core = |cpu| CoreUse { cpu, utilisation_ppm: Some(630_000) };
        let mut one = RunningApplication {
            app: "arm".to_owned(),
            pid: 42,
            uid: 1000,
            since_ns: 1_000_000_000,
            memory: Size::from_bytes(32 << 20),
            real_time: true,
            cores: vec![core(0), core(3)],
        };
        let mut other = one.clone();
        (other.app, other.real_time, other.cores) = ("idle".to_owned(), false, Vec::new());
        let expected = "  application  process  user  cpus  real-time    memory  runs for\n  \
                        arm               42  1000   0,3        yes  32.0 MiB    2.50 s\n  \
                        idle              42  1000     -         no  32.0 MiB    2.50 s\n";
        assert_eq!(table(&[one.clone(), other], 3_500_000_000), expected);
        one.cores[1].utilisation_ppm = None;
        let said = json(&one, 3_500_000_000);
        let cores = serde_json::json!([
            { "cpu": 0, "utilisation_ppm": 630_000 },
            { "cpu": 3, "utilisation_ppm": null },
        ]);
        assert_eq!((&said["cores"], &said["runs_for_ns"]), (&cores, &2_500_000_000_u64.into()));
    }
}
