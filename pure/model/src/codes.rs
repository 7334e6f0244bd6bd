// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! All codes that a fault of a manifest, an analysis or a plan can have, in one table. Each code has a page in
//! `docs/errors`. A number is never reused for another meaning.

use crate::Code;

/// A row is a number, a name and a title. `$` comes first, for the macro that this one defines.
macro_rules! codes {
    ($d:tt $($number:literal $name:ident $title:literal)*) => {
        $(
            #[doc = $title]
            pub const $name: Code = Code($number);
        )*
        /// All codes with their titles, by number.
        pub const ALL: &[(Code, &str)] = &[$(($name, $title)),*];

        /// Passes all numbers to another macro, which can make a literal path of each.
        #[doc(hidden)]
        #[macro_export]
        macro_rules! with_all_codes {
            ($d then:ident) => {
                $d then! { $($number)* }
            };
        }
    };
}

codes! { $
    101 SYNTAX "the text is not TOML"
    102 UNKNOWN_KEY "no such key"
    103 MISSING_KEY "a key is missing"
    104 WRONG_TYPE "a value of the wrong type"
    105 BAD_DURATION "not a duration"
    106 BAD_SIZE "not an amount of memory"
    107 BAD_PERCENT "not a percentage"
    108 UNKNOWN_WORD "not one of the words that fit here"
    109 FORMAT_VERSION "the manifest's format is missing or unknown"
    110 NOT_IN_THIS_VERSION "known, but not in this version"
    111 BAD_SCALAR "not a type of payload"
    112 OUT_OF_RANGE "a number out of range"
    113 MISPLACED_KEY "a key that does not go with another"
    201 DEADLINE_MISSED "a task can miss its deadline"
    202 CORE_OVERLOADED "a core is overloaded"
    203 CHAIN_TOO_SLOW "a chain's latency is not kept"
    204 NOT_SHOWN "a response time is not shown"
    211 ZERO_PERIOD "a period of zero"
    212 BAD_DEADLINE "a deadline that is zero or longer than the period"
    213 WCET_OVER_DEADLINE "an execution time longer than the deadline"
    214 BAD_WCET "an execution time that is zero or too long"
    215 BAD_JITTER "release jitter that leaves no time"
    216 BAD_NON_PREEMPTIVE "a non-preemptive stretch longer than the job"
    217 LATE_OFFSET "an offset of a period or more"
    218 BAD_SECTION "critical sections that do not fit their task"
    219 LOCKING_MISFIT "a locking protocol that does not fit"
    220 NESTED_GLOBAL "a resource of several cores inside or around another"
    221 BAD_SERVER "a server that does not fit its period or its tasks"
    222 SERVER_LATE "a server that is not shown to get its budget"
    223 BAD_BUDGET "an execution budget shorter than the execution time"
    224 GUESSED "a proof that rests on a guess"
    301 DUPLICATE_NAME "a name is given twice"
    302 DANGLING_NAME "a name that is not defined"
    303 BAD_NAME "a name that is not well formed"
    304 BROKEN_CHAIN "a chain whose steps do not connect"
    305 TRIGGER_CYCLE "tasks that trigger each other in a circle"
    306 UNUSED "defined and never used"
    307 TOO_MANY "more entries than this version can number"
    308 OVERLAY_UNKNOWN "an overlay of something that the manifest does not have"
    309 OVERLAY_FORBIDDEN "an overlay of something that only the manifest may set"
    401 NO_WRITER "a channel without a writer"
    402 NO_READER "a channel without a reader"
    403 MANY_WRITERS "a channel with more than one writer"
    404 MANY_READERS "a queue with more than one reader"
    405 PARTY_TWICE "a channel names a party twice"
    406 BAD_TRIGGER "a trigger that cannot release its task"
    407 RATE_OVERFLOW "a queue receives more values than its reader takes"
    408 BAD_CAPACITY "a capacity that does not fit"
    409 STATE_CAPACITY "a state channel with a capacity"
    410 NO_MECHANISM "no mechanism for these parties"
    411 MECHANISM_MISFIT "the mechanism does not fit the parties"
    412 BAD_OVERFLOW "an overflow policy that the mechanism does not have"
    413 BAD_LAYOUT "a payload whose layout has holes"
    414 RECEIVER_TAKES "a receiver that takes more than one value"
    415 BAD_FLOW "a flow that its channel or its parties cannot have"
    416 FLOW_CYCLE "tasks that read each other without a delay in a circle"
    417 FLOW_ORDER "a reader more urgent than the writer that it waits for"
    418 BAD_RECEPTION "readers that cannot wait for a value"
    419 NO_DELIVERY "a message, a queue or a broadcast whose delivery has no bound"
    421 BAD_ALARM "an alarm that cannot be set"
    425 BAD_ORDER "a message that cannot be ordered as it asks"
    427 BAD_BULK "blocks filled by another process"
    430 SEVERAL_PAYLOADS "several payloads where a channel can have one"
    440 BAD_APERIODIC "an aperiodic task that a server cannot bound"
    441 APERIODIC_CHANNEL "a channel that an aperiodic task cannot have"
    450 BAD_SOURCES "several sources where one is needed"
    451 BAD_REQUEST "a request that cannot be answered"
    460 BLOCKS_NOT_RECORDED "blocks that no ring of recorded values takes"
    475 SEVERAL_PROCESSES "an end for one process, of a client of several"
    476 BAD_HISTORY "a history that no reader can begin with"
    480 BAD_CLOCK "a device's clock that no task can follow"
    481 CLOCKED_CHAIN "a chain through a task that follows a device's clock"
    501 CORE_NOT_OWNED "a core that does not belong to the application"
    502 CORE_TWICE "a core is listed twice"
    503 NO_CORES "real-time tasks without a core"
    504 MEMORY_EXCEEDED "more memory than the platform gives"
    505 PRIORITY_RANGE "a priority out of range"
    506 PRIORITY_SHARED "two real-time tasks with one priority"
    507 CORE_FULL "more real-time tasks than priorities"
    508 IDLE_PRIORITY "a priority on cores that ignore it"
    509 EXECUTOR_MISFIT "an executor that cannot enforce what the manifest asks"
    510 DEVICES_EXCEEDED "more devices than one core watches"
    601 LOCK_STALE "taut.lock is missing or out of date"
    602 LOCK_EDITED "taut.lock is not what `taut plan` wrote"
    603 NOT_ADMITTED "an application that does not fit beside those that run"
    604 SET_UP_EXCEEDED "a set-up that left more of the heap in use than the manifest states"
    701 NOT_CARRIED_OVER "something that another tool's format does not express"
}

/// The title of a code; `None` for a number that has no meaning.
pub fn title(code: Code) -> Option<&'static str> {
    ALL.binary_search_by_key(&code, |(code, _)| *code).ok().map(|at| ALL[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise() {
        assert!(ALL.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(title(DEADLINE_MISSED), Some("a task can miss its deadline"));
        assert_eq!(title(Code(999)), None);
    }
}
