// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The command line of `cochlear-ui`.

use std::time::Duration;

use crate::Settings;

/// The text of `--help`.
pub const HELP: &str = "\
Electrode levels of a running cochlear application, live; volume and sensitivity at hand.

Usage: cochlear-ui [OPTIONS]

  --app NAME          application to attach to, by name [cochlear]
  --volume V          set the volume, 0 to 1
  --sensitivity DB    set the sensitivity, -18 to 18 dB
  --headless          no screen: one line of JSON per frame seen, on standard output
  --for TIME          leave after this time (2s, 500ms)
  --demo              no application: bundled speech through the chain, in this process
  -h, --help          this text

Keys: up and down volume, left and right sensitivity, r reset, q quit.
Exit code: 0 attached (or screen left), 1 never attached (--headless), 2 usage, 3 terminal, output,
or an application that this screen cannot use.
";

/// A parsed command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments {
    /// Name of the application.
    pub app: String,
    /// Settings that were given; a missing half is the default.
    pub settings: Option<Settings>,
    /// No screen.
    pub headless: bool,
    /// When to leave.
    pub length: Option<Duration>,
    /// Run the chain in this process, without an application.
    pub demo: bool,
    /// Only the help text is wanted.
    pub help: bool,
}

impl Arguments {
    /// Parses arguments (without the program's name).
    ///
    /// # Errors
    /// One sentence for the user.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut parsed = Self {
            app: "cochlear".into(),
            settings: None,
            headless: false,
            length: None,
            demo: false,
            help: false,
        };
        let mut rest = arguments.into_iter();
        while let Some(argument) = rest.next() {
            let (name, attached) = match argument.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (argument, None),
            };
            let flag = |set: &mut bool| {
                *set = true;
                if attached.is_some() { Err(format!("`{name}` takes no value")) } else { Ok(()) }
            };
            match name.as_str() {
                "--headless" => flag(&mut parsed.headless)?,
                "--demo" => flag(&mut parsed.demo)?,
                "-h" | "--help" => flag(&mut parsed.help)?,
                "--app" | "--volume" | "--sensitivity" | "--for" => {
                    let value = attached.or_else(|| rest.next()).ok_or(format!("`{name}` needs a value"))?;
                    parsed.set(&name, value)?;
                }
                _ => return Err(format!("unknown argument `{name}`; see --help")),
            }
        }
        Ok(parsed)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), String> {
        let (low, high) = Settings::SENSITIVITY;
        match name {
            "--volume" => {
                self.settings.get_or_insert_default().volume = number(name, &value, 0.0, 1.0)?;
            }
            "--sensitivity" => {
                self.settings.get_or_insert_default().sensitivity = number(name, &value, low, high)?;
            }
            "--for" => self.length = Some(duration(&value)?),
            _ => self.app = value,
        }
        Ok(())
    }
}

fn number(name: &str, text: &str, low: f32, high: f32) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if (low..=high).contains(&value) => Ok(value),
        _ => Err(format!("`{name} {text}`: use a number from {low} to {high}")),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`--for {text}`: use a time with its unit, such as 2s or 500ms");
    // "ms" first: it ends in "s" too.
    let (digits, unit_ms) = match text.strip_suffix("ms") {
        Some(digits) => (digits, 1),
        None => (text.strip_suffix('s').ok_or_else(wrong)?, 1000),
    };
    let count: u64 = digits.parse().map_err(|_| wrong())?;
    count.checked_mul(unit_ms).map(Duration::from_millis).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, String> {
        Arguments::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn all_options_are_understood() {
        let a = parse("--app other --headless --volume 0.25 --sensitivity=-6 --for 1500ms --demo").unwrap();
        assert_eq!(a.app, "other");
        assert_eq!(a.settings, Some(Settings { volume: 0.25, sensitivity: -6.0 }));
        assert_eq!((a.headless, a.demo, a.length), (true, true, Some(Duration::from_millis(1500))));
        assert_eq!(parse("").unwrap().settings, None);
        assert_eq!(parse("--for 2s").unwrap().length, Some(Duration::from_secs(2)));
        assert!(parse("-h").unwrap().help);
    }

    #[test]
    fn mistakes_are_reported() {
        for (line, message) in [
            ("--volume 1.5", "`--volume 1.5`: use a number from 0 to 1"),
            ("--volume nan", "`--volume nan`: use a number from 0 to 1"),
            ("--sensitivity -19", "`--sensitivity -19`: use a number from -18 to 18"),
            ("--for 2", "`--for 2`: use a time with its unit, such as 2s or 500ms"),
            ("--for -1s", "`--for -1s`: use a time with its unit, such as 2s or 500ms"),
            ("--for", "`--for` needs a value"),
            ("--demo=1", "`--demo` takes no value"),
            ("--loud", "unknown argument `--loud`; see --help"),
        ] {
            assert_eq!(parse(line).unwrap_err(), message);
        }
    }
}
