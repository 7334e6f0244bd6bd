// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Levels, ceilings and floors of a set-up: those that follow from what tasks list, and those that the application
//! states.

use taut_policy::Attribute;
use taut_policy::LocalRule;
use taut_time::Duration;

use crate::error::SetupError;
use crate::ready::rule::Attributes;
use crate::resource::CoreResource;
use crate::setup::{CoreSetup, Setup};
use crate::task::{TaskId, TaskSetup};

impl Setup<'_> {
    /// A task's level: its priority, or under EDF the relative deadline that is its preemption level. `None` if the
    /// task is of another set-up.
    pub fn level(&self, task: TaskId) -> Option<Attribute> {
        let core = self.cores.iter().find(|core| core.brand == task.brand)?;
        core.tasks.get(task.task as usize).map(|task| core.level(task))
    }

    /// Changes a task's level, as [`TaskSetup::priority`] or [`TaskSetup::deadline`] does before the task is added.
    ///
    /// # Errors
    /// [`SetupError::Attribute`]; [`SetupError::Shares`] for a priority, once the task uses a resource of several
    /// cores; [`SetupError::ForeignResource`] if the task is of another set-up.
    pub fn set_level(&mut self, task: TaskId, to: Attribute) -> Result<(), SetupError> {
        let core = self.cores.iter_mut().find(|core| core.brand == task.brand);
        let core = core.ok_or(SetupError::ForeignResource { task: format!("{task:?}") })?;
        core.has(to)?;
        let slot = &mut core.tasks[task.task as usize];
        match to {
            Attribute::Priority(_) if slot.shares => {
                return Err(SetupError::Shares { task: slot.name.clone() });
            }
            Attribute::Priority(priority) => slot.priority = priority,
            Attribute::Deadline(deadline) => slot.deadline = Some(deadline),
        }
        Ok(())
    }

    /// A resource's ceiling, or floor: the level of the most urgent of its users so far, unless another one has been
    /// stated. `None` if the resource is of another set-up.
    pub fn ceiling<T>(&self, resource: &CoreResource<T>) -> Option<Attribute> {
        let core = self.cores.iter().find(|core| core.brand == resource.brand)?;
        let Attributes { ceilings, floors, .. } = core.attributes();
        let at = resource.index() as usize;
        Some(if core.goes_by_deadlines() {
            Attribute::Deadline(*floors.get(at)?)
        } else {
            Attribute::Priority(*ceilings.get(at)?)
        })
    }

    /// States a ceiling, or floor, in place of the one that follows from the users. It must be at least as urgent as
    /// each of them, or [`Setup::run`] refuses it. For users that will become more urgent later.
    ///
    /// # Errors
    /// [`SetupError::Attribute`]; [`SetupError::ForeignResource`] if the resource is of another set-up.
    pub fn set_ceiling<T>(&mut self, resource: &CoreResource<T>, to: Attribute) -> Result<(), SetupError> {
        let core = self.cores.iter_mut().find(|core| core.brand == resource.brand);
        let core = core.ok_or(SetupError::ForeignResource { task: format!("{resource:?}") })?;
        core.has(to)?;
        core.stated.resize(core.resources.len(), None);
        core.stated[resource.index() as usize] = Some(to);
        Ok(())
    }
}

impl CoreSetup<'_> {
    fn goes_by_deadlines(&self) -> bool {
        matches!(self.rule, LocalRule::Srp | LocalRule::Dfp)
    }

    pub(crate) fn level(&self, task: &TaskSetup) -> Attribute {
        if self.goes_by_deadlines() {
            Attribute::Deadline(task.relative())
        } else {
            Attribute::Priority(task.priority)
        }
    }

    /// Whether the core's rule has such an attribute.
    fn has(&self, attribute: Attribute) -> Result<(), SetupError> {
        let is_of_it = matches!(attribute, Attribute::Deadline(_)) == self.goes_by_deadlines();
        if is_of_it { Ok(()) } else { Err(SetupError::Attribute { cpu: self.cpu }) }
    }

    /// Checks that no stated ceiling is less urgent than a user.
    pub(crate) fn check_stated(&self) -> Result<(), SetupError> {
        for task in &self.tasks {
            for (_, resource) in &task.uses {
                let stated = self.stated.get(*resource as usize).copied().flatten();
                if stated.is_some_and(|stated| !stated.is_at_least(self.level(task))) {
                    let resource = self.resources[*resource as usize];
                    return Err(SetupError::Ceiling { task: task.name.clone(), resource });
                }
            }
        }
        Ok(())
    }

    /// The stated ceilings: resource and value.
    pub(crate) fn stated_values(&self) -> Box<[(u32, u64)]> {
        let all = (0..).zip(&self.stated);
        all.filter_map(|(resource, stated)| Some((resource, stated.as_ref()?.number()))).collect()
    }

    /// The attributes of the core's rule. Ceilings and floors follow from the users, unless stated.
    pub(crate) fn attributes(&self) -> Attributes {
        // Servers come after the tasks, as taut-policy expects them.
        let priorities = self.tasks.iter().map(|task| task.priority);
        let priorities = priorities.chain(self.servers.iter().map(|server| server.priority));
        let deadlines = self.tasks.iter().map(TaskSetup::relative);
        let deadlines = deadlines.chain(self.servers.iter().map(|server| server.period));
        let mut attributes = Attributes {
            priorities: priorities.collect(),
            deadlines: deadlines.collect(),
            ceilings: vec![0; self.resources.len()],
            floors: vec![Duration::MAX; self.resources.len()],
        };
        #[cfg(test)]
        if self.no_ceilings {
            return attributes;
        }
        for task in &self.tasks {
            for (_, resource) in &task.uses {
                let at = *resource as usize;
                attributes.ceilings[at] = attributes.ceilings[at].max(task.priority);
                attributes.floors[at] = attributes.floors[at].min(task.relative());
            }
        }
        for (at, stated) in self.stated.iter().enumerate() {
            match stated {
                Some(Attribute::Priority(ceiling)) => attributes.ceilings[at] = *ceiling,
                Some(Attribute::Deadline(floor)) => attributes.floors[at] = *floor,
                None => {}
            }
        }
        attributes
    }
}
