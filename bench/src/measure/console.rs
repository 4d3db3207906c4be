//! The machine lines on the firmware's console: `@ ` and one JSON object. Here is what every program
//! tells; what only some tell is read by their procedures.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::MeasureError;

/// What a machine line of any program says.
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
    /// The program has no more to do.
    Done,
    /// Something went wrong.
    Error {
        /// What.
        what: String,
    },
    /// Something that is for the program's observer, if for anyone.
    #[serde(other)]
    Other,
}

impl DeviceEvent {
    /// Reads a line of the console; `None` when it is for people.
    ///
    /// # Errors
    /// What is wrong with a machine line.
    pub fn parse(line: &str) -> Option<Result<Self, String>> {
        parse(line)
    }
}

/// What the machine line in `line` says to an observer, which brings the events that its program
/// tells as `T`; `None` when it is for people.
///
/// # Errors
/// [`MeasureError`] says what is wrong with a machine line.
pub fn read<T: DeserializeOwned>(line: &str) -> Result<Option<T>, MeasureError> {
    let event = parse(line).transpose();
    event.map_err(|what| MeasureError::Unexpected { what })
}

/// The same, with what is wrong in words.
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

    fn told(line: &str) -> DeviceEvent {
        DeviceEvent::parse(line)
            .expect("a machine line")
            .expect("readable")
    }

    #[test]
    fn what_every_program_tells_is_read() {
        assert_eq!(told(r#"@ {"event":"done"}"#), DeviceEvent::Done);
        assert_eq!(
            told(
                r#"@ {"event":"boot","program":"ping","variant":"windowed","mac":"02:00:00:00:00:02"}"#
            ),
            DeviceEvent::Boot {
                program: "ping".into(),
                variant: "windowed".into()
            }
        );
        assert_eq!(
            told(r#"@ {"event":"error","what":"no"}"#),
            DeviceEvent::Error { what: "no".into() }
        );
        assert_eq!(told(r#"@ {"event":"later","x":1}"#), DeviceEvent::Other);
    }

    #[test]
    fn lines_for_people_are_left_alone_and_broken_ones_are_named() {
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
