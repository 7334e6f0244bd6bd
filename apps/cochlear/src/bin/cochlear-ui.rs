// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `cochlear-ui`: the wearer's screen, a process of its own.

use std::process::ExitCode;
use std::time::Duration;

use taut_cochlear::Map;
use taut_cochlear::ui::{self, Arguments, Attached, Failure, Link, RealClock, Replay, Screen};

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) if arguments.help => {
            taut::outln!("{}", ui::HELP);
            return ExitCode::SUCCESS;
        }
        Ok(arguments) => arguments,
        Err(message) => {
            taut::errln!("error: {message}");
            return ExitCode::from(2);
        }
    };
    if arguments.demo {
        return show(&mut Replay::start(), &arguments);
    }
    show(&mut Attached::new(&arguments.app), &arguments)
}

/// Shows the observations of `link` in the way that the arguments ask for.
fn show(link: &mut impl Link, arguments: &Arguments) -> ExitCode {
    let screen = Screen::new(Map::default(), arguments.settings);
    let length = arguments.length;
    let result = if arguments.headless {
        let mut output = std::io::stdout().lock();
        ui::headless(link, screen, &mut RealClock::start(), length, &mut output)
    } else {
        picture(link, screen, length)
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            taut::errln!(
                "never attached to `{}`\n\
                 help: start it; if it runs, set TAUT_RUNTIME_DIR to the same folder as for it",
                arguments.app
            );
            ExitCode::FAILURE
        }
        Err(Failure::Refused(refused)) => {
            taut::errln!("error: {}", refused.0);
            ExitCode::from(3)
        }
        Err(Failure::Output(error)) => {
            let (what, help) = if arguments.headless {
                ("cannot write to standard output", "")
            } else {
                ("no usable terminal", "\nhelp: --headless needs none")
            };
            taut::errln!("error: {what}: {error}{help}");
            ExitCode::from(3)
        }
    }
}

/// Draws the picture until the wearer leaves.
#[cfg(feature = "screen")]
fn picture(link: &mut impl Link, screen: Screen, length: Option<Duration>) -> Result<bool, Failure> {
    ui::interactive(link, screen, length).map(|()| true)
}

/// As above, of a program that was built without the picture.
#[cfg(not(feature = "screen"))]
fn picture(_: &mut impl Link, _: Screen, _: Option<Duration>) -> Result<bool, Failure> {
    Err(Failure::Output(std::io::Error::other("this program was built without `--features screen`")))
}
