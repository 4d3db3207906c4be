//! `serial://`, `pty://`, `tcp://`, `spidev://`: a device with `linerate-link` and its responder on a byte link.

mod exchange;
mod plan;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::{Duration, Instant};

use linerate_host::serial::address::DEFAULT_BAUD;
use linerate_host::serial::end::CONTROL;
use linerate_host::serial::pitfalls::PortFacts;
use linerate_host::serial::{Address, LinkEnd, port};
use linerate_link::measure::{Identity, Message};
use linerate_results::record::Transport;

use super::deadline;
use super::{Options, Outcome, Target, TargetError, Trial, TrialMonitor, Url};
use exchange::Exchange;
use plan::Plan;

/// Interval at which a device is asked who it is until it answers.
const IDENTIFY_INTERVAL: Duration = Duration::from_millis(200);
/// Longest wait for octets in one turn.
const TURN: Duration = Duration::from_millis(5);

/// A device at the other end of a byte link.
struct LinkTarget {
    address: Address,
    url: String,
    timeout: Duration,
    /// The link and the device's name, since the first trial.
    opened: Option<(LinkEnd, Identity)>,
    /// Notes for the reader of the next result.
    notes: Vec<String>,
    train: u8,
}

/// Opens the device that `url` names. The port is opened by the first trial.
pub(super) fn open(url: &Url, options: &Options) -> Result<Box<dyn Target>, TargetError> {
    let address = url.text.parse().map_err(|error| TargetError::Url {
        url: url.text.clone(),
        what: format!("{error}"),
    })?;
    if address == (Address::Pty { path: None }) {
        return Err(TargetError::Url {
            url: url.text.clone(),
            what: "start `linerate serve pty://`, which prints the path of its other end"
                .to_owned(),
        });
    }
    Ok(Box::new(LinkTarget {
        address,
        url: url.text.clone(),
        timeout: options.timeout,
        opened: None,
        notes: Vec::new(),
        train: 0,
    }))
}

/// Name of a device without the padding.
fn name_of(identity: &Identity) -> String {
    let octets = identity
        .name
        .iter()
        .copied()
        .take_while(|octet| *octet != 0);
    String::from_utf8_lossy(&octets.collect::<Vec<u8>>()).into_owned()
}

impl LinkTarget {
    /// Opens the port and waits until the device has identified itself.
    fn connect(&self) -> Result<(LinkEnd, Identity), TargetError> {
        let (port, _) =
            port::open(&self.address).map_err(|error| self.failure(error.to_string()))?;
        let session = LinkEnd::new_session();
        let mut end = LinkEnd::new(port, session);
        let until = Instant::now() + self.timeout;
        let mut ask_at = Instant::now();
        while Instant::now() < until {
            end.turn(TURN)
                .map_err(|error| self.failure(error.to_string()))?;
            if end.link.is_up() && Instant::now() >= ask_at {
                let mut octets = [0; Message::MAX];
                let len = Message::Identify.emit(&mut octets);
                // Without room, the next one will do.
                let _ = end
                    .link
                    .send(CONTROL, octets.get(..len).unwrap_or_default());
                ask_at = Instant::now() + IDENTIFY_INTERVAL;
            }
            let mut octets = [0; 512];
            while let Some(len) = end.link.read(CONTROL, &mut octets) {
                let octets = octets.get(..len).unwrap_or(&octets);
                if let Some(Message::Identity(identity)) = Message::parse(octets) {
                    return Ok((end, identity));
                }
            }
        }
        let what = if end.link.is_up() {
            "there is a link, but no responder answers on channel 0".to_owned()
        } else {
            let frames = end.link.counters().frames;
            end.heard.other_end(session, frames).advice()
        };
        Err(self.failure(format!("{what} (waited {} s)", self.timeout.as_secs())))
    }

    /// Notes on the port and the device, for the first result.
    fn introduce(&mut self, identity: &Identity) {
        let (path, baud) = match &self.address {
            Address::Serial { path, baud, .. } => (path.as_path(), *baud),
            Address::Pty { .. } | Address::Tcp { .. } => (Path::new(""), DEFAULT_BAUD),
            Address::Spi { path, .. } => (path.as_path(), DEFAULT_BAUD),
        };
        let facts = PortFacts::of(Path::new("/sys"), path);
        self.notes.extend(facts.description());
        self.notes.extend(facts.pitfalls(baud));
        let name = name_of(identity);
        if !name.is_empty() {
            self.notes.push(format!("the device calls itself {name}"));
        }
    }
}

impl Target for LinkTarget {
    fn name(&self) -> String {
        format!("link at {}", self.url)
    }

    fn supports(&self, trial: &Trial) -> Result<(), &'static str> {
        plan::check(trial)
    }

    fn transport(&self, of: Transport) -> Transport {
        match of {
            Transport::Udp | Transport::LinkDatagrams => Transport::LinkDatagrams,
            Transport::Tcp | Transport::LinkStream => Transport::LinkStream,
        }
    }

    fn deadline(&self, trial: &Trial) -> Option<Duration> {
        Some(deadline::of(trial, self.timeout))
    }

    fn measure(
        &mut self,
        trial: &Trial,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, TargetError> {
        let (mut end, identity) = if let Some(opened) = self.opened.take() {
            opened
        } else {
            let (end, identity) = self.connect()?;
            self.introduce(&identity);
            (end, identity)
        };
        self.train = self.train.wrapping_add(1) & 0x7F;
        let plan = Plan::of(trial, self.train);
        let limit = deadline::of(trial, self.timeout);
        let exchanged = Exchange::new(&mut end, &plan, self.timeout).run(limit, monitor);
        let mut outcome = exchanged.map_err(|what| self.failure(what))?;
        // After a failure, the next trial begins with a new session.
        self.opened = Some((end, identity));
        outcome.notes.splice(0..0, self.notes.drain(..));
        Ok(outcome)
    }
}
