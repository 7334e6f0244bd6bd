// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_analysis::{Bound, BoundTerm, Verdict, Why};
use taut_model::{
    Channel, ChannelId, ChannelKind, Class, Client, Fault, Model, NO_DEADLINE, PartyId, RealTime, Severity,
};
use taut_plan::{
    Arrival, ChainPlan, ChannelPlan, ChoicePlan, ClassPlan, ClientLimit, CorePlan, DecisionPlan, Input,
    LanePlan, Overrides, Plan, ReaderPlan, Region, ReplyPlan, ServerPlan, ServicePlan, SourcePlan, TaskPlan,
    TermPlan, WriterPlan,
};
use taut_time::Duration;

use crate::advice::deadline;
use crate::channels::chains;
use crate::channels::flow::{self, Realisation};
use crate::memory::{Map, memory};
use crate::modes;
use crate::overheads::{self, watched};
use crate::overrides;
use crate::overrides::OverrideError;
use crate::placement::dispatch;
use crate::placement::{Placement, Placements, Who};
use crate::response;
use crate::response::proof::{Effort, Proof};
use crate::response::serve;
use crate::response::shared::Shared;
use crate::response::waits;
use crate::selection::decide;

/// The largest integer that TOML can hold; stands for any utilisation above it, in millionths.
pub(crate) const PPM_MAX: u64 = i64::MAX as u64;

/// A plan and its faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The decisions, even where they are not proven: then [`Plan::proven`] is false.
    pub plan: Plan,
    /// The application with all decisions: the model for [`crate::task_set`] and [`crate::advise_task`].
    pub model: Model,
    /// Where each mode is proven by itself, the application in each of them, in their order: tasks that do not run in it
    /// execute nothing. Empty otherwise.
    pub modes: Vec<Model>,
    /// Why the plan is not proven, in the order mechanisms, cores, tasks, changes of mode, channels, chains, memory.
    pub faults: Vec<Fault>,
}

impl Planned {
    /// The application in which a task has its bound: where each mode is proven by itself, in the first mode with that
    /// bound.
    pub fn model_of(&self, task: &str) -> &Model {
        let whole = self.plan.task(task).and_then(|at| match &self.plan.tasks[at].class {
            ClassPlan::RealTime { response, .. } => Some(*response),
            ClassPlan::BestEffort {} => None,
        });
        let has = |mode: &taut_plan::ModePlan| {
            mode.bounds.iter().any(|bound| bound.task == task && Some(bound.response) == whole)
        };
        let at = self.plan.modes.iter().position(has);
        at.and_then(|at| self.modes.get(at)).unwrap_or(&self.model)
    }

    /// The application in a mode: as it is in that mode if each mode is proven by itself, otherwise with the tasks of all
    /// modes. Without a name, in the mode at release 0. `None` if there is no such mode.
    pub fn model_in(&self, mode: Option<&str>) -> Option<&Model> {
        let at = match mode {
            Some(name) => self.plan.mode(name)?,
            None => self.plan.first_mode().unwrap_or(0),
        };
        Some(self.modes.get(at).unwrap_or(&self.model))
    }

    /// Decides what the manifest leaves open, and proves the whole plan.
    ///
    /// The result depends on the model alone; `inputs` are copied. The same model gives the same plan. 100 tasks with
    /// 100 channels take a few milliseconds. If states may have locks, it takes a tenth of a second, or at most about
    /// one second if the search for the best locks reaches its limit.
    pub fn make(model: &Model, inputs: Vec<Input>) -> Self {
        Self::of(model.clone(), inputs, Overrides::default())
    }

    /// Makes a plan with overrides of the manifest.
    ///
    /// # Errors
    /// [`OverrideError`] if the overrides cannot be applied.
    pub fn make_with(model: &Model, inputs: Vec<Input>, overrides: Overrides) -> Result<Self, OverrideError> {
        Ok(Self::of(overrides::overridden(&overrides, model)?, inputs, overrides))
    }

    fn of(open: Model, inputs: Vec<Input>, overrides: Overrides) -> Self {
        let mut faults = Vec::new();
        let aim = overrides.minimise.unwrap_or(open.platform().minimise);
        let decided = decide::decide(open, aim, &mut faults);
        let model = &decided.model;
        let mut of_whole = Vec::new();
        let whole = Proof::find(model, Effort::Whole, &mut of_whole);
        let together =
            if model.modes().is_empty() { None } else { modes::together(model, &whole.placements) };
        let by_mode = !model.modes().is_empty() && together.is_none();
        let models = if by_mode { modes::models(model, &whole.placements) } else { Vec::new() };
        let proofs = modes::prove(model, &models, &mut faults);
        if !by_mode {
            deadline::report(model, &whole, &mut of_whole);
            faults.append(&mut of_whole);
        }
        watched::report(model, &whole.placements, &mut faults);
        let bounds = if by_mode { modes::bounds(model, &proofs) } else { whole.bounds.clone() };
        let served = if by_mode { proofs.iter().all(|proof| proof.served) } else { whole.served };
        let proven = Proven { model, whole: &whole, models: &models, modes: &proofs };
        let (placements, shared) = (&whole.placements, whole.shared.as_ref());
        let mode_plans = modes::plans(model, &proofs, &whole);
        let changes = modes::changes(model, &proofs, &bounds, &mut faults);
        let channels: Vec<Realisation> =
            model.channel_ids().map(|id| flow::realise(model, id, &bounds, &mut faults)).collect();
        let chains = model.chains().iter().enumerate();
        let places = chains::Places::of(model, placements);
        let known = chains::Known { model, places: &places, bounds: &bounds };
        let chains: Vec<_> =
            chains.map(|(at, chain)| chains::follow(&known, at, chain, &mut faults)).collect();
        let (map, memory) = memory(model, &channels, placements, shared, &mut faults);
        let shown = served && chains.iter().all(ChainPlan::kept);
        let platform = model.platform();
        let cores = platform.cores.iter().enumerate().map(|(at, &cpu)| CorePlan {
            cpu,
            dispatched: dispatch::reason(model, placements, at),
            scheduler: platform.scheduler,
            utilisation_ppm: proven.all().map(|proof| modes::used(&proof.placements, at)).max().unwrap_or(0),
        });
        let is_proven = shown && faults.iter().all(|fault| fault.severity != Severity::Error);
        if !is_proven {
            deadline::unsaid(model, &bounds, &mut faults);
        }
        let choice = |id: ChannelId| decide::choice(&decided, &bounds, id, &channels[id.index()]);
        // The search judged the alternatives with the tasks of all modes together.
        let is_judged = is_proven && !by_mode;
        let choices: Vec<Option<ChoicePlan>> =
            model.channel_ids().map(|id| choice(id).filter(|_| is_judged)).collect();
        let plan = Plan {
            lock: Plan::FORMAT,
            app: model.app().name.clone(),
            description: model.app().description.clone(),
            proven: is_proven,
            on_missing_privilege: platform.on_missing_privilege,
            safe_state: model.app().safe_state,
            on_failure: model.app().on_failure,
            first_mode: model.first_mode().map(|mode| model.mode(mode).name.clone()),
            together,
            group: platform.group.clone(),
            housekeeping: platform.housekeeping.clone(),
            inputs,
            overrides,
            decision: decided.decision.clone().map(|of| DecisionPlan { best: of.best && !by_mode, ..of }),
            overheads: overheads::overheads(model, watched::any(model, placements)),
            memory,
            cores: cores.collect(),
            resources: shared.map_or(Vec::new(), |shared| shared.resources(model)),
            servers: proven.servers(),
            services: services(model, &map),
            modes: mode_plans,
            changes,
            tasks: proven.tasks(&map),
            clients: model.clients().iter().map(|client| client.name.clone()).collect(),
            client_limits: client_limits(model),
            channels: channel_plans(model, &channels, &map, choices),
            chains,
        };
        Self { plan, model: decided.model, modes: models, faults }
    }
}

fn services(model: &Model, map: &Map) -> Vec<ServicePlan> {
    let plans = model.services().iter().zip(&map.services);
    plans
        .map(|(service, &(persistent, memory))| ServicePlan {
            name: service.name.clone(),
            persistent,
            memory,
            start: service.start,
            on_failure: service.on_failure,
        })
        .collect()
}

/// What is proven: of the application as a whole, or of each mode.
struct Proven<'a> {
    model: &'a Model,
    /// Has the placements, which are the same in all modes.
    whole: &'a Proof<'a>,
    /// The application in each mode; empty if the whole is proven.
    models: &'a [Model],
    modes: &'a [Proof<'a>],
}

impl<'a> Proven<'a> {
    /// The proof of the whole, or those of the modes.
    fn all(&self) -> impl Iterator<Item = &'a Proof<'a>> {
        let whole = self.modes.is_empty().then_some(self.whole);
        whole.into_iter().chain(self.modes)
    }

    /// The proof that has the largest bound of a placement, and its model.
    fn of(&self, placement: usize) -> (&'a Model, &'a Proof<'a>) {
        if self.modes.is_empty() {
            return (self.model, self.whole);
        }
        let worst = modes::worst(self.model, self.modes, placement);
        (&self.models[worst], &self.modes[worst])
    }

    fn servers(&self) -> Vec<ServerPlan> {
        let of = |model, proof: &Proof<'_>| serve::servers(model, &proof.placements, proof.shared.as_ref());
        let mut servers = of(self.model, self.whole);
        for (at, placement) in self.whole.placements.placements.iter().enumerate() {
            let Who::Server(server) = placement.who else { continue };
            let (model, proof) = self.of(at);
            let ServerPlan { response, served, .. } = of(model, proof).swap_remove(server);
            (servers[server].response, servers[server].served) = (response, served);
        }
        servers
    }

    fn tasks(&self, map: &Map) -> Vec<TaskPlan> {
        let (model, placements) = (self.model, &self.whole.placements);
        let tasks = model.task_ids().zip(model.tasks());
        tasks
            .map(|(id, task)| {
                let placement =
                    placements.placements.iter().position(|placement| placement.who == Who::Task(id));
                TaskPlan {
                    name: task.name.clone(),
                    service: task.service.map(|id| model.services()[id.index()].name.clone()),
                    value_ring: map.value_rings[id.index()],
                    class: match (&task.class, placement, map.tasks[id.index()]) {
                        (Class::RealTime(_), Some(placement), Some(scopes)) => {
                            self.real_time(placement, scopes)
                        }
                        (Class::RealTime(task), None, Some(scopes)) => {
                            in_server(model, placements, self.whole.shared.as_ref(), task, scopes)
                        }
                        _ => ClassPlan::BestEffort {},
                    },
                }
            })
            .collect()
    }

    fn real_time(&self, at: usize, scopes: (Region, Region)) -> ClassPlan {
        let (model, proof) = self.of(at);
        let found = match &proof.shared {
            Some(shared) => shared.found(model, &proof.placements, at),
            None => found(model, &proof.placements, at),
        };
        let placement = &self.whole.placements.placements[at];
        class(self.model, placement, placement.task, found, scopes)
    }
}

/// What the analysis found about a task: R if it is proven, the test, and the terms of R.
fn found(model: &Model, placements: &Placements<'_>, at: usize) -> (Option<Duration>, String, Vec<TermPlan>) {
    let placement = &placements.placements[at];
    if let Some(Verdict::Schedulable(bound)) = &placement.in_phase {
        let test = format!("{} (sufficient)", response::TEST_IN_PHASE);
        return (Some(bound.from_arrival), test, terms(model, placements, placement, bound));
    }
    let verdict = placements.verdict(at);
    let (bound, holds) = match &verdict {
        Ok(Verdict::Schedulable(bound)) => (Some(bound), true),
        Ok(Verdict::Unschedulable(past) | Verdict::NotShown(Why::Passes(past))) => (Some(past), false),
        _ => (None, false),
    };
    let analysis = placements.cores[placement.core].analysis.as_ref().ok();
    let exact = analysis.and_then(|core| core.is_exact(placement.at).ok()).unwrap_or(false);
    let kind = if exact { "exact" } else { "sufficient: takes all tasks to be at their worst together" };
    let response = bound.filter(|_| holds).map(|bound| bound.from_arrival);
    let terms = bound.map_or_else(Vec::new, |bound| terms(model, placements, placement, bound));
    (response, format!("{} ({kind})", response::TEST), terms)
}

/// A task in a server: its core and priority are the server's.
fn in_server(
    model: &Model,
    placements: &Placements<'_>,
    shared: Option<&Shared>,
    task: &RealTime,
    scopes: (Region, Region),
) -> ClassPlan {
    let at = placements
        .placements
        .iter()
        .position(|placement| task.server.map(Who::Server) == Some(placement.who));
    let (Some(at), Some(server)) = (at, task.server) else { return ClassPlan::BestEffort {} };
    let found = serve::response(model, placements, shared, server, task);
    class(model, &placements.placements[at], task, (found.response, found.test, found.terms), scopes)
}

fn class(
    model: &Model,
    placement: &Placement<'_>,
    task: &RealTime,
    (response, test, terms): (Option<Duration>, String, Vec<TermPlan>),
    (persistent, release): (Region, Region),
) -> ClassPlan {
    let served = task.server.map(|at| format!("that of server `{}`", model.servers()[at].name));
    ClassPlan::RealTime {
        cpu: model.platform().cores[placement.core],
        cpu_reason: served.clone().or_else(|| placement.core_reason.clone()),
        priority: placement.priority,
        priority_reason: served.or_else(|| placement.priority_reason.clone()),
        arrival: match &task.arrival {
            Arrival::Periodic { period, offset } => Arrival::Periodic { period: *period, offset: *offset },
            Arrival::Clocked(clock) => Arrival::Clocked(clock.clone()),
            Arrival::Sporadic { min_gap, triggers, device } => {
                let triggers = triggers.iter().map(|trigger| model.channel(*trigger).name.clone());
                let (triggers, device) = (triggers.collect(), device.clone());
                Arrival::Sporadic { min_gap: *min_gap, triggers, device }
            }
            Arrival::Aperiodic { triggers } => {
                let triggers = triggers.iter().map(|trigger| model.channel(*trigger).name.clone());
                Arrival::Aperiodic { triggers: triggers.collect() }
            }
        },
        deadline: deadline_of(model, task, response),
        wcet: task.wcet.bound().unwrap_or(Duration::MAX),
        wcet_source: task.wcet.source,
        wcet_evidence: task.evidence.clone(),
        response,
        test,
        terms,
        on_overrun: task.on_overrun,
        budget: task.budget,
        heap: task.heap,
        persistent,
        release,
        set_up: task.set_up,
    }
}

/// The deadline of a job. If an aperiodic task states none, it is the job's bound, or if none is shown, the server's period.
fn deadline_of(model: &Model, task: &RealTime, response: Option<Duration>) -> Duration {
    let period = || task.server.map_or(Duration::MAX, |at| model.servers()[at].period());
    if task.deadline == NO_DEADLINE { response.unwrap_or_else(period) } else { task.deadline }
}

/// The terms of a bound, with names, in the order of the equation.
fn terms(
    model: &Model,
    placements: &Placements<'_>,
    placement: &Placement<'_>,
    bound: &Bound,
) -> Vec<TermPlan> {
    let members = &placements.cores[placement.core].members;
    let devices = watched::of_terms(model, placements, (placement.core, bound));
    let named = |of: &watched::Watched<'_>| format!("device thread, for {}", of.device);
    let term = |term: &taut_analysis::Term| {
        let task = |local: usize| {
            let placement = &placements.placements[members[local]];
            Some(if placement.is_server() {
                format!("server {}", placement.name)
            } else {
                placement.name.to_owned()
            })
        };
        let (kind, of) = match term.kind {
            BoundTerm::Own => ("own", None),
            BoundTerm::Section(j) => ("blocking", task(j)),
            BoundTerm::Kernel => ("blocking", Some("kernel".to_owned())),
            BoundTerm::Interference(j) => ("interference", task(j)),
            BoundTerm::Backlog => ("interference", Some("jobs that came before, some its own".to_owned())),
            BoundTerm::InPhase => {
                ("others", Some("jitter, blocking and more urgent tasks, by their offsets".to_owned()))
            }
            BoundTerm::Probe => ("interference", Some("platform probe".to_owned())),
            BoundTerm::Device(at) => ("interference", devices.get(at).map(named)),
            BoundTerm::Switches => ("overhead", Some("context switch".to_owned())),
            BoundTerm::Jitter => ("jitter", waits::whose(model, placement.task)),
            BoundTerm::Release => ("overhead", Some("release".to_owned())),
        };
        TermPlan { kind: kind.to_owned(), of, count: term.count, time: term.time }
    };
    let mut terms: Vec<TermPlan> = bound.terms.iter().map(term).collect();
    let switching = placement.task.waits.switching;
    if let Some(own) = terms.iter_mut().find(|term| term.kind == "own" && !switching.is_zero()) {
        own.time = own.time.saturating_sub(switching);
        let of = Some(waits::SWITCHING.to_owned());
        terms.insert(1, TermPlan { kind: "overhead".to_owned(), of, count: None, time: switching });
    }
    terms
}

/// What makes a channel a lane of a message; `rank` is its place among the lanes.
fn lane_plan(channel: &Channel, rank: usize) -> Option<LanePlan> {
    let lane = channel.lane.as_ref()?;
    Some(LanePlan {
        message: lane.message.clone(),
        order: lane.order,
        by: lane.by.clone(),
        rank: u16::try_from(rank).unwrap_or(u16::MAX),
        takes: channel.takes_per_release,
        late: lane.late,
    })
}

/// The clients of which several processes may be attached.
fn client_limits(model: &Model) -> Vec<ClientLimit> {
    let several = model.clients().iter().filter(|client| client.max_attached > 1);
    let limit =
        |client: &Client| ClientLimit { client: client.name.clone(), max_attached: client.max_attached };
    several.map(limit).collect()
}

/// What makes a channel a source of a state.
fn source_plan(channel: &Channel) -> Option<SourcePlan> {
    let source = channel.source.as_ref()?;
    let place = u16::try_from(source.place).unwrap_or(u16::MAX);
    Some(SourcePlan { state: source.state.clone(), place })
}

fn channel_plans(
    model: &Model,
    channels: &[Realisation],
    map: &Map,
    choices: Vec<Option<ChoicePlan>>,
) -> Vec<ChannelPlan> {
    let client = |party: &PartyId| matches!(party, PartyId::Client(_));
    let one = |(id, choice): (ChannelId, Option<ChoicePlan>)| {
        let channel = model.channel(id);
        let (realisation, (place, region)) = (&channels[id.index()], map.channels[id.index()]);
        let payload = &model.payloads()[channel.payload];
        let reader = |(at, party): (usize, &PartyId)| ReaderPlan {
            name: model.party_name(*party).to_owned(),
            client: client(party),
            delayed: channel.delayed.get(at).copied().unwrap_or(false),
            triggered: model.releases(id, *party),
            way: realisation.ways.get(at).copied(),
            event_count: map.event_counts[id.index()][at],
            reservation: map.reservations[id.index()].filter(|_| client(party)),
            waiting: realisation.readers.get(at).and_then(|bound| bound.waiting),
            latency: realisation.readers.get(at).and_then(|bound| bound.latency),
        };
        ChannelPlan {
            name: channel.name.clone(),
            kind: channel.kind,
            flow: channel.flow,
            writer: WriterPlan {
                name: model.party_name(channel.writer).to_owned(),
                client: client(&channel.writer),
            },
            readers: channel.readers.iter().enumerate().map(reader).collect(),
            layout: payload.layout(),
            // The model has refused payloads that are larger.
            size: payload.size().unwrap_or(u32::MAX),
            mechanism: realisation.mechanism,
            reason: realisation.reason.clone(),
            choice,
            buffers: realisation.buffers,
            capacity: realisation.capacity,
            capacity_reason: realisation.capacity_reason.clone(),
            history: channel.history,
            overflow: channel.overflow,
            sends_per_release: channel.sends_per_release,
            takes_per_release: if channel.kind == ChannelKind::Bulk { channel.takes_per_release } else { 1 },
            lane: lane_plan(channel, realisation.rank),
            source: source_plan(channel),
            answers: channel.answers.as_ref().map(|reply| ReplyPlan { request: reply.request.clone() }),
            broadcast: channel.broadcast,
            record: channel.record,
            place,
            region,
            latency: realisation.latency,
        }
    };
    model.channel_ids().zip(choices).map(one).collect()
}
