//! The machine-readable lines on the firmware's console: `@ ` and one JSON object. This module has
//! the events of every program; events of single programs are read by their measurements.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::MeasureError;

/// An event of any program.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum DeviceEvent {
    /// The program started.
    Boot {
        /// Its name.
        program: String,
        /// Its variant.
        variant: String,
    },
    /// The program is done.
    Done,
    /// Something went wrong.
    Error {
        /// The message.
        what: String,
    },
    /// Another event, for the program's observer.
    #[serde(other)]
    Other,
}

impl DeviceEvent {
    /// Parses a line of the console; `None` if it is not machine-readable.
    ///
    /// # Errors
    /// The error in a machine-readable line.
    pub fn parse(line: &str) -> Option<Result<Self, String>> {
        parse(line)
    }
}

/// Parses `line` for an observer; `T` has the events of its program. `None` if it is not
/// machine-readable.
///
/// # Errors
/// [`MeasureError`] if a machine-readable line is invalid.
pub fn read<T: DeserializeOwned>(line: &str) -> Result<Option<T>, MeasureError> {
    let event = parse(line).transpose();
    event.map_err(|what| MeasureError::Unexpected { what })
}

/// The same, with the error as text.
pub(crate) fn parse<T: DeserializeOwned>(line: &str) -> Option<Result<T, String>> {
    let json = line.trim_start().strip_prefix("@ ")?;
    Some(
        serde_json::from_str(json)
            .map_err(|error| format!("the console line {json:?} cannot be read: {error}")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(line: &str) -> DeviceEvent {
        DeviceEvent::parse(line)
            .expect("a machine line")
            .expect("readable")
    }

    #[test]
    fn events_of_every_program_are_read() {
        assert_eq!(event(r#"@ {"event":"done"}"#), DeviceEvent::Done);
        assert_eq!(
            event(
                r#"@ {"event":"boot","program":"ping","variant":"windowed","mac":"02:00:00:00:00:02"}"#
            ),
            DeviceEvent::Boot {
                program: "ping".into(),
                variant: "windowed".into()
            }
        );
        assert_eq!(
            event(r#"@ {"event":"error","what":"no"}"#),
            DeviceEvent::Error { what: "no".into() }
        );
        assert_eq!(event(r#"@ {"event":"later","x":1}"#), DeviceEvent::Other);
    }

    #[test]
    fn other_lines_are_ignored_and_broken_ones_are_named() {
        assert_eq!(DeviceEvent::parse("INFO - Booted up!"), None);
        assert_eq!(DeviceEvent::parse(""), None);
        let error = DeviceEvent::parse("@ {\"event\":\"ping\"")
            .expect("a machine line")
            .expect_err("cut");
        assert!(error.contains("cannot be read"), "{error}");
    }

    #[test]
    fn a_procedure_reads_its_own_events_and_names_broken_ones() {
        #[derive(Debug, PartialEq, Deserialize)]
        #[serde(tag = "event", rename_all = "snake_case")]
        enum Own {
            Ping {
                seq: u64,
            },
            #[serde(other)]
            Other,
        }
        let own = |line| read::<Own>(line).map_err(|error| error.to_string());
        assert_eq!(
            own(r#"@ {"event":"ping","seq":3,"rtt_us":812}"#),
            Ok(Some(Own::Ping { seq: 3 }))
        );
        assert_eq!(own(r#"@ {"event":"done"}"#), Ok(Some(Own::Other)));
        assert_eq!(own("INFO - Booted up!"), Ok(None));
        let error = own(r#"@ {"event":"ping","seq":"three"}"#).expect_err("no number");
        assert!(error.contains("three"), "{error}");
    }
}
