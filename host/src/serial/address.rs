//! Byte links as URLs name them.

use std::path::PathBuf;
use std::str::FromStr;

/// Bit rate of a serial port without `baud` in its URL.
pub const DEFAULT_BAUD: u32 = 115_200;
/// Clock of SPI without `hz` in its URL.
pub const DEFAULT_HZ: u32 = 1_000_000;

/// A byte link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A serial port: `serial:///dev/ttyACM0?baud=3000000&flow=rtscts`.
    Serial {
        /// Its device.
        path: PathBuf,
        /// Bits a second.
        baud: u32,
        /// The hardware's flow control.
        rts_cts: bool,
    },
    /// One end of a pseudo-terminal: `pty:///dev/pts/4`; `pty://` makes a new one.
    Pty {
        /// Its device; `None` for a new one.
        path: Option<PathBuf>,
    },
    /// A TCP connection, such as a serial port server's: `tcp://192.0.2.7:3333`; `tcp://:3333` waits for one.
    Tcp {
        /// Host; empty to wait for a connection.
        host: String,
        /// Port.
        port: u16,
    },
    /// SPI bus and chip select with this host as the master: `spidev://0.0?hz=10M`.
    Spi {
        /// The device of the kernel's spidev driver.
        path: PathBuf,
        /// Clock.
        hz: u32,
        /// SPI mode, 0 to 3.
        mode: u8,
    },
}

/// A URL that names no byte link: the reason, with an example.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AddressError(pub String);

impl Address {
    /// The schemes, without `://`.
    pub const SCHEMES: [&'static str; 4] = ["serial", "pty", "tcp", "spidev"];

    fn error<T>(what: impl Into<String>) -> Result<T, AddressError> {
        Err(AddressError(what.into()))
    }
}

/// The options behind a `?`.
struct Options<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Options<'a> {
    /// Takes the options, which are among `known`.
    fn parse(text: &'a str, known: &[&str]) -> Result<Self, AddressError> {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let pairs: Vec<_> = pairs
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .collect();
        match pairs.iter().find(|(name, _)| !known.contains(name)) {
            Some((name, _)) if known.is_empty() => {
                Address::error(format!("there are no options, but `{name}` is given"))
            }
            Some((name, _)) => Address::error(format!(
                "there is no option `{name}`, but {}",
                known.join(", ")
            )),
            None => Ok(Self(pairs)),
        }
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        let mut pairs = self.0.iter();
        pairs
            .find(|(known, _)| *known == name)
            .map(|(_, value)| *value)
    }

    /// A number with a decimal suffix.
    fn number(&self, name: &str, default: u32) -> Result<u32, AddressError> {
        let Some(text) = self.get(name) else {
            return Ok(default);
        };
        let parsed = crate::quantity::parse_number(text);
        match parsed.and_then(|number| u32::try_from(number).ok()) {
            Some(number) if number > 0 => Ok(number),
            _ => Address::error(format!("{name}={text} is no number such as 3M or 115200")),
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let Some((scheme, rest)) = text.split_once("://") else {
            return Self::error("the scheme is missing, as in serial:///dev/ttyACM0");
        };
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        match scheme {
            "serial" => {
                let options = Options::parse(query, &["baud", "flow"])?;
                if !place.starts_with('/') {
                    return Self::error(format!(
                        "a serial port is a path with three slashes, as in serial:///dev/{}",
                        if place.is_empty() { "ttyACM0" } else { place }
                    ));
                }
                let rts_cts = match options.get("flow") {
                    None | Some("none") => false,
                    Some("rtscts") => true,
                    Some(other) => {
                        return Self::error(format!("flow is none or rtscts, not `{other}`"));
                    }
                };
                Ok(Self::Serial {
                    path: place.into(),
                    baud: options.number("baud", DEFAULT_BAUD)?,
                    rts_cts,
                })
            }
            "pty" => {
                Options::parse(query, &[])?;
                match place {
                    "" => Ok(Self::Pty { path: None }),
                    path if path.starts_with('/') => Ok(Self::Pty {
                        path: Some(path.into()),
                    }),
                    other => Self::error(format!(
                        "a pseudo-terminal is a path with three slashes, as in pty:///dev/pts/{other}"
                    )),
                }
            }
            "tcp" => {
                Options::parse(query, &[])?;
                let parts = place.rsplit_once(':');
                let parsed = parts.and_then(|(host, port)| Some((host, port.parse().ok()?)));
                match parsed {
                    Some((host, port)) if port > 0 => Ok(Self::Tcp {
                        host: host.trim_matches(['[', ']']).to_owned(),
                        port,
                    }),
                    _ => Self::error("host and port are needed, as in tcp://192.0.2.7:3333"),
                }
            }
            "spidev" => {
                let options = Options::parse(query, &["hz", "mode"])?;
                let numbers = place.split_once('.');
                let is_number = |text: &str| text.parse::<u8>().is_ok();
                if !numbers.is_some_and(|(bus, select)| is_number(bus) && is_number(select)) {
                    return Self::error("bus and chip select are needed, as in spidev://0.0");
                }
                let mode = options.get("mode").unwrap_or("0");
                match mode.parse() {
                    Ok(mode @ 0..=3) => Ok(Self::Spi {
                        path: format!("/dev/spidev{place}").into(),
                        hz: options.number("hz", DEFAULT_HZ)?,
                        mode,
                    }),
                    _ => Self::error(format!("mode is 0 to 3, not `{mode}`")),
                }
            }
            other => Self::error(format!(
                "there are {}://, not {other}://",
                Self::SCHEMES.join("://, ")
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_byte_links() {
        let parsed = |text: &str| text.parse::<Address>().expect(text);
        assert_eq!(
            parsed("serial:///dev/ttyACM0?baud=3M&flow=rtscts"),
            Address::Serial {
                path: "/dev/ttyACM0".into(),
                baud: 3_000_000,
                rts_cts: true
            }
        );
        assert_eq!(parsed("pty://"), Address::Pty { path: None });
        assert_eq!(
            parsed("tcp://[::1]:3333"),
            Address::Tcp {
                host: "::1".to_owned(),
                port: 3333
            }
        );
        assert_eq!(
            parsed("spidev://0.1?hz=10M&mode=3"),
            Address::Spi {
                path: "/dev/spidev0.1".into(),
                hz: 10_000_000,
                mode: 3
            }
        );
    }

    #[test]
    fn wrong_urls_are_explained() {
        for (text, part) in [
            ("serial://ttyUSB0", "serial:///dev/ttyUSB0"),
            (
                "serial:///dev/ttyUSB0?speed=9600",
                "no option `speed`, but baud, flow",
            ),
            ("serial:///dev/ttyUSB0?baud=fast", "baud=fast is no number"),
            ("serial:///dev/ttyUSB0?baud=0", "baud=0 is no number"),
            (
                "serial:///dev/ttyUSB0?flow=xonxoff",
                "flow is none or rtscts",
            ),
            ("pty://4", "pty:///dev/pts/4"),
            ("pty://?baud=3", "no options"),
            ("tcp://board", "tcp://192.0.2.7:3333"),
            ("tcp://board:0", "tcp://192.0.2.7:3333"),
            ("spidev://0", "spidev://0.0"),
            ("spidev://0.0?mode=4", "mode is 0 to 3"),
            ("/dev/ttyACM0", "serial:///dev/ttyACM0"),
            ("i2c://1", "there are serial://, pty://"),
        ] {
            let error = text.parse::<Address>().expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
