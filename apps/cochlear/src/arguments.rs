// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::ffi::OsString;
use std::path::PathBuf;

use taut_cochlear::speech::{Speech, SpeechError};

/// The parsed command line.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    wav: Option<PathBuf>,
    out: Option<PathBuf>,
}

/// The text of `--help`.
pub(crate) const USAGE: &str = "\
usage: cochlear [--wav FILE] [--out FOLDER]
  --wav FILE    16 kHz mono WAV to process, once; without it the bundled speech, again and again
  --out FOLDER  for electrodogram.svg and vocoded.wav; without it the folder of the recording (TAUT_OUT)
By `taut run`: taut run apps/cochlear -- --wav FILE
";

impl Arguments {
    /// Parses arguments, without the program's name; `None` if only the usage is wanted.
    ///
    /// # Errors
    /// A message that says what is wrong, and the usage.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Option<Self>, String> {
        let mut parsed = Self::default();
        while let Some(argument) = arguments.next() {
            let mut value = |name| {
                arguments
                    .next()
                    .map(PathBuf::from)
                    .ok_or(format!("{name} needs a value\n{}", USAGE.trim_end()))
            };
            match argument.to_str() {
                Some("--wav") => parsed.wav = Some(value("--wav")?),
                Some("--out") => parsed.out = Some(value("--out")?),
                Some("--help" | "-h") => return Ok(None),
                _ => return Err(format!("unknown argument {}\n{}", argument.display(), USAGE.trim_end())),
            }
        }
        Ok(Some(parsed))
    }

    /// The recording to process.
    ///
    /// # Errors
    /// [`SpeechError`] if the file is no 16 kHz mono 16-bit WAV.
    pub(crate) fn speech(&self) -> Result<Speech, SpeechError> {
        match &self.wav {
            Some(path) => Speech::open(path),
            None => Ok(Speech::bundled().repeated()),
        }
    }

    /// The folder for output files; with `None` none are written.
    pub(crate) fn out(&self) -> Option<PathBuf> {
        self.out.clone().or_else(|| std::env::var_os("TAUT_OUT").map(PathBuf::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        let parse = |line: &str| Arguments::parse(line.split_whitespace().map(OsString::from));
        let parsed = |line| parse(line).unwrap().unwrap();
        assert_eq!(parsed("--wav a.wav --out b").wav, Some(PathBuf::from("a.wav")));
        assert!(parse("--wav").unwrap_err().starts_with("--wav needs a value"));
        assert!(parse("--volume 3").unwrap_err().starts_with("unknown argument --volume"));
        assert!(parse("--wav x --help").unwrap().is_none());
        assert!(parsed("").speech().is_ok());
        assert!(parsed("--wav /nonexistent.wav").speech().is_err());
    }
}
