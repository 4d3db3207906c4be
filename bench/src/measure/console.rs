//! The machine lines on the firmware's console: `@ ` and one JSON object.

use std::collections::BTreeMap;

use serde::Deserialize;

/// What a machine line says.
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
    /// A ping was answered.
    Ping {
        /// Its sequence number.
        seq: u64,
        /// Round trip on the device's clock.
        rtt_us: u64,
    },
    /// A ping was not answered in time.
    PingLost {
        /// Its sequence number.
        seq: u64,
    },
    /// A download is complete.
    Get(Transfer),
    /// An upload is complete and the peer has answered.
    Put(Transfer),
    /// The link came up, went down or changed.
    Link(LinkEvent),
    /// Test frames that the station accepted.
    Checked {
        /// How many.
        frames: u64,
        /// Their octets.
        octets: u64,
        /// Those whose content is not what it should be.
        wrong: u64,
    },
    /// The counters, from power-on.
    Counters(BTreeMap<String, u64>),
    /// The program has no more to do.
    Done,
    /// Something went wrong.
    Error {
        /// What.
        what: String,
    },
    /// Something that this version does not know.
    #[serde(other)]
    Other,
}

/// A finished download or upload, as the device saw it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Transfer {
    /// What was asked for.
    pub path: String,
    /// Bytes of the body.
    pub body_bytes: u64,
    /// CRC-32 (IEEE) of the body as it received or sent it.
    pub crc32: u32,
    /// From the connect call to the last byte consumed, or to the peer's answer.
    pub duration_us: u64,
}

/// What the device says of its link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LinkEvent {
    /// `up` or `down`.
    pub state: String,
    /// `half` or `full`.
    pub duplex: String,
    /// "auto-negotiation", "parallel detection" or "forced".
    pub by: String,
    /// What it offers, in words.
    pub partner: String,
}

impl DeviceEvent {
    /// Reads a line of the console; `None` when it is for people.
    ///
    /// # Errors
    /// What is wrong with a machine line.
    pub fn parse(line: &str) -> Option<Result<Self, String>> {
        let json = line.trim_start().strip_prefix("@ ")?;
        Some(
            serde_json::from_str(json)
                .map_err(|error| format!("the console line {json:?} cannot be read: {error}")),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> DeviceEvent {
        DeviceEvent::parse(line)
            .expect("a machine line")
            .expect("readable")
    }

    #[test]
    fn every_machine_line_is_read() {
        assert_eq!(parse(r#"@ {"event":"done"}"#), DeviceEvent::Done);
        assert_eq!(
            parse(r#"@ {"event":"ping","seq":3,"rtt_us":812}"#),
            DeviceEvent::Ping {
                seq: 3,
                rtt_us: 812
            }
        );
        assert_eq!(
            parse(r#"@ {"event":"ping_lost","seq":3}"#),
            DeviceEvent::PingLost { seq: 3 }
        );
        assert_eq!(
            parse(
                r#"@ {"event":"boot","program":"ping","variant":"windowed","mac":"02:00:00:00:00:02"}"#
            ),
            DeviceEvent::Boot {
                program: "ping".into(),
                variant: "windowed".into()
            }
        );
        assert_eq!(
            parse(
                r#"@ {"event":"get","path":"/10","body_bytes":10,"crc32":4294967295,"duration_us":17000}"#
            ),
            DeviceEvent::Get(Transfer {
                path: "/10".into(),
                body_bytes: 10,
                crc32: u32::MAX,
                duration_us: 17_000
            })
        );
        assert_eq!(
            parse(r#"@ {"event":"checked","frames":9,"octets":576,"wrong":1}"#),
            DeviceEvent::Checked {
                frames: 9,
                octets: 576,
                wrong: 1
            }
        );
        assert_eq!(
            parse(
                r#"@ {"event":"link","state":"up","duplex":"half","by":"parallel detection","partner":"10BASE-T half"}"#
            ),
            DeviceEvent::Link(LinkEvent {
                state: "up".into(),
                duplex: "half".into(),
                by: "parallel detection".into(),
                partner: "10BASE-T half".into(),
            })
        );
        let counters = BTreeMap::from([("RxFrames".to_owned(), 123)]);
        assert_eq!(
            parse(r#"@ {"event":"counters","RxFrames":123}"#),
            DeviceEvent::Counters(counters)
        );
        assert_eq!(
            parse(r#"@ {"event":"error","what":"no"}"#),
            DeviceEvent::Error { what: "no".into() }
        );
        assert_eq!(parse(r#"@ {"event":"later","x":1}"#), DeviceEvent::Other);
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
}
