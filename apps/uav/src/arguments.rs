// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Command lines: options with a value each.

use std::ffi::OsString;

use taut::Duration;

/// Splits a command line into its options, in the order of `names`; the last of several values counts. `None`: help was asked for.
///
/// # Errors
/// What is wrong.
pub fn options<const N: usize>(
    mut arguments: impl Iterator<Item = OsString>,
    names: [&str; N],
) -> Result<Option<[Option<String>; N]>, String> {
    let mut values = [const { None }; N];
    while let Some(argument) = arguments.next() {
        let argument = argument.to_string_lossy();
        if ["--help", "-h"].contains(&&*argument) {
            return Ok(None);
        }
        let at = names.iter().position(|name| *name == argument);
        let at = at.ok_or_else(|| format!("unknown argument {argument}"))?;
        let value = arguments.next().ok_or_else(|| format!("{argument} needs a value"))?;
        values[at] = Some(value.into_string().map_err(|value| format!("{value:?} is not UTF-8"))?);
    }
    Ok(Some(values))
}

/// A time such as `8s`.
///
/// # Errors
/// What is wrong.
pub fn time(value: Option<&String>) -> Result<Option<Duration>, String> {
    let parsed =
        |value: &String| value.parse().map_err(|_| format!("`{value}` is no time, as in 8s or 500ms"));
    value.map(parsed).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_values() {
        let parse = |line: &str| options(line.split_whitespace().map(OsString::from), ["--out", "--for"]);
        let text = |value: &str| Some(value.to_owned());
        assert_eq!(parse(""), Ok(Some([None, None])));
        assert_eq!(parse("--for 3s --out a --for 4s"), Ok(Some([text("a"), text("4s")])));
        assert_eq!(parse("--for"), Err("--for needs a value".to_owned()));
        assert_eq!(parse("--fro 1s"), Err("unknown argument --fro".to_owned()));
        assert_eq!(parse("--out a -h"), Ok(None));
        assert_eq!(time(text("1500ms").as_ref()), Ok(Some(Duration::from_ms(1_500))));
        assert_eq!(time(None), Ok(None));
        assert!(time(text("soon").as_ref()).is_err());
    }
}
