//! A target whose link is observed from this machine during its transfers.

use std::fs::File;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use linerate_capture::reader::Reader;
use linerate_capture::traffic::Traffic;
use linerate_explain::report::capture_html;
use linerate_explain::traffic::{Report, Source};
use linerate_host::capture::Capture;
use linerate_host::link;
use linerate_results::record::{CaptureFinding, Direction, HostLink, TransferCapture};

use crate::machine::Identity;

use super::{Outcome, RoundTrips, Target, TargetError, TestBoard, Trial, TrialMonitor};

/// Connections in the picture of a capture.
const PICTURES: usize = 3;

/// Where headers are captured.
#[derive(Clone, Debug)]
pub struct CaptureOptions {
    /// The interface; `None`: the one on the route to the target.
    pub interface: Option<String>,
    /// Folder for the files.
    pub folder: PathBuf,
}

/// A target with observations of its frames and of this machine in the outcome of each transfer: the link, the changes of its counters,
/// and a capture of the headers if one was requested.
pub struct Observed {
    target: Box<dyn Target>,
    link: Option<HostLink>,
    capture: Option<CaptureOptions>,
    captures: u32,
}

impl Observed {
    /// Observes `target`.
    #[must_use]
    pub fn new(target: Box<dyn Target>, capture: Option<CaptureOptions>) -> Self {
        let named = capture.as_ref().and_then(|it| it.interface.as_deref());
        let address = target.address();
        let link = match named {
            Some(interface) => Some(link::link_of(interface)),
            None => address.and_then(|it| link::link_to(it.ip())),
        };
        Self {
            target,
            link,
            capture,
            captures: 0,
        }
    }

    /// The interface on the route to the target, if it is known.
    #[must_use]
    pub const fn link(&self) -> Option<&HostLink> {
        self.link.as_ref()
    }

    /// The next capture, if one was requested, of packets from and to `device`.
    fn next_file(&mut self, trial: &Trial, device: IpAddr) -> Option<Result<CaptureFile, String>> {
        let folder = self.capture.as_ref()?.folder.clone();
        self.captures += 1;
        let name = format!("capture-{}-{}", self.captures, trial.file_name());
        let created = std::fs::create_dir_all(&folder).map_err(|error| error.to_string());
        Some(created.map(|()| CaptureFile {
            folder,
            name,
            device,
        }))
    }

    /// Starts a capture, if one was requested; a reason in `notes` if it is not possible. A simulated target records
    /// its wire itself.
    fn start_capture(&mut self, trial: &Trial, notes: &mut Vec<String>) -> Option<RunningCapture> {
        if self.capture.is_none() || self.target.is_simulated() {
            return None;
        }
        let started = (|| {
            let peer = self.target.address().ok_or("the target has no address")?;
            let peer = peer.ip();
            let link = self.link.as_ref();
            let link =
                link.ok_or("the interface on its route is unknown; name it: --capture IFACE")?;
            let interface = link.interface.clone();
            let file = self.next_file(trial, peer);
            let file = file.ok_or("no folder was named")??;
            let capture = Capture::start(&interface, peer, &file.path());
            let capture = capture.map_err(|error| error.to_string())?;
            Ok::<_, String>(RunningCapture { capture, file })
        })();
        match started {
            Ok(running) => Some(running),
            Err(why) => {
                notes.push(format!("measured without a capture: {why}"));
                // The reason is the same for each trial.
                self.capture = None;
                None
            }
        }
    }

    /// Writes and explains the frames that the target recorded, if it did.
    fn recorded(
        &mut self,
        trial: &Trial,
        outcome: &mut Outcome,
    ) -> Option<Result<TransferCapture, String>> {
        let files = &mut outcome.board.as_mut()?.artifacts.files;
        let at = files.iter().position(|(kind, _)| *kind == "pcapng")?;
        let (_, pcapng) = files.swap_remove(at);
        let device = self.target.identity()?.address?;
        Some(self.next_file(trial, device)?.and_then(|file| {
            let written = std::fs::write(file.path(), pcapng);
            written.map_err(|error| error.to_string())?;
            file.explain()
        }))
    }
}

/// A capture of the current trial.
struct RunningCapture {
    capture: Capture,
    file: CaptureFile,
}

impl RunningCapture {
    /// Ends the capture and explains it.
    fn finish(self) -> Result<TransferCapture, String> {
        let counts = self.capture.finish().map_err(|error| error.to_string())?;
        Ok(TransferCapture {
            dropped_frames: counts.dropped,
            ..self.file.explain()?
        })
    }
}

/// The file of a capture.
struct CaptureFile {
    folder: PathBuf,
    /// Without an extension.
    name: String,
    device: IpAddr,
}

impl CaptureFile {
    fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.pcapng", self.name))
    }

    /// Explains the capture and writes its picture.
    fn explain(self) -> Result<TransferCapture, String> {
        let file = format!("{}.pcapng", self.name);
        let report = read(&self.path(), &file).map_err(|error| error.to_string())?;
        let picture = format!("{}.html", self.name);
        let page = capture_html(&report, PICTURES);
        let written = std::fs::write(self.folder.join(&picture), page);
        Ok(TransferCapture {
            picture: written.map(|()| picture).unwrap_or_default(),
            findings: findings(&report, self.device),
            frames: report.captures.iter().map(|it| it.packets).sum(),
            file,
            ..TransferCapture::default()
        })
    }
}

fn read(path: &Path, name: &str) -> io::Result<Report> {
    let mut traffic = Traffic::with_traces();
    let mut reader = Reader::new(File::open(path)?).map_err(io::Error::other)?;
    while let Some(packet) = reader.next() {
        traffic.record_packet(&packet);
    }
    traffic.add_dropped(reader.dropped());
    let source = Source {
        file: name.to_owned(),
        packets: reader.packets(),
        fault: reader.error().map(ToString::to_string),
    };
    Ok(Report::of(traffic, vec![source]))
}

/// The report's findings with their direction: payload sent by `peer` comes from the device.
fn findings(report: &Report, peer: IpAddr) -> Vec<CaptureFinding> {
    let peer = peer.to_string();
    let direction = |sender: &Option<String>| {
        let sender = sender.as_deref()?;
        let is_device = sender.starts_with(&peer) || sender.starts_with(&format!("[{peer}]"));
        Some(if is_device {
            Direction::FromDevice
        } else {
            Direction::ToDevice
        })
    };
    let found = report.findings.iter();
    found
        .map(|it| CaptureFinding {
            direction: direction(&it.sender),
            finding: it.finding.clone(),
        })
        .collect()
}

/// True if the trial transfers payload, so that its link is of interest.
const fn is_transfer(trial: &Trial) -> bool {
    match trial {
        Trial::Stream(_) | Trial::Datagrams(_) => true,
        Trial::RoundTrips(RoundTrips { load, .. }) => load.is_some(),
        Trial::Frames(_) => false,
    }
}

impl Target for Observed {
    fn name(&self) -> String {
        self.target.name()
    }

    fn supports(&self, trial: &Trial) -> Result<(), &'static str> {
        self.target.supports(trial)
    }

    fn supports_as_load(&self, trial: &Trial) -> Result<(), &'static str> {
        self.target.supports_as_load(trial)
    }

    fn test_board(&self) -> Option<TestBoard<'_>> {
        self.target.test_board()
    }

    fn line_bits_per_s(&self) -> Option<u64> {
        self.target.line_bits_per_s()
    }

    fn is_half_duplex(&self) -> bool {
        self.target.is_half_duplex()
    }

    fn identity(&self) -> Option<Identity> {
        self.target.identity()
    }

    fn is_simulated(&self) -> bool {
        self.target.is_simulated()
    }

    fn address(&self) -> Option<SocketAddr> {
        self.target.address()
    }

    fn deadline(&self, trial: &Trial) -> Option<Duration> {
        self.target.deadline(trial)
    }

    fn measure(
        &mut self,
        trial: &Trial,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, TargetError> {
        if !is_transfer(trial) {
            return self.target.run(trial, monitor);
        }
        let mut notes = Vec::new();
        let running = self.start_capture(trial, &mut notes);
        let interface = self.link.as_ref().map(|it| it.interface.clone());
        let counters = || interface.as_deref().and_then(link::counters_of);
        let before = counters();
        let outcome = self.target.run(trial, monitor);
        let after = counters();
        let captured = running.map(RunningCapture::finish);
        let mut outcome = outcome?;
        let captured = captured.or_else(|| self.recorded(trial, &mut outcome));
        let observation = &mut outcome.observation;
        observation.link.clone_from(&self.link);
        observation.interface_counters = after
            .zip(before)
            .map(|(after, before)| link::since(&after, &before));
        match captured {
            Some(Ok(capture)) => observation.capture = Some(capture),
            Some(Err(why)) => notes.push(format!("the capture is not explained: {why}")),
            None => {}
        }
        notes.append(&mut outcome.notes);
        outcome.notes = notes;
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::{Amount, Stream};
    use std::net::Ipv4Addr;

    /// A target behind loopback that transfers nothing.
    struct Local;

    impl Target for Local {
        fn name(&self) -> String {
            "local".to_owned()
        }

        fn supports(&self, _: &Trial) -> Result<(), &'static str> {
            Ok(())
        }

        fn address(&self) -> Option<SocketAddr> {
            Some((Ipv4Addr::LOCALHOST, 5001).into())
        }

        fn measure(&mut self, _: &Trial, _: &mut dyn TrialMonitor) -> Result<Outcome, TargetError> {
            Ok(Outcome::default())
        }
    }

    fn transfer() -> Trial {
        let amount = Amount::Span(Duration::from_secs(1));
        Trial::Stream(Stream::of(Direction::ToDevice, amount))
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_transfer_s_link_and_counters_are_in_its_outcome() {
        let mut target = Observed::new(Box::new(Local), None);
        let mut monitor = crate::endpoint::NoMonitor;
        let outcome = target.run(&transfer(), &mut monitor).expect("it runs");
        let observation = outcome.observation;
        assert_eq!(observation.link.expect("a route").interface, "lo");
        assert!(observation.interface_counters.is_some());
        assert!(observation.capture.is_none() && outcome.notes.is_empty());
    }

    #[test]
    fn a_capture_that_is_not_possible_is_stated_once_and_the_trial_runs() {
        let dir = tempfile::tempdir().expect("a folder");
        let options = CaptureOptions {
            interface: Some("no-such-interface".to_owned()),
            folder: dir.path().to_owned(),
        };
        let mut target = Observed::new(Box::new(Local), Some(options));
        let mut monitor = crate::endpoint::NoMonitor;
        let first = target.run(&transfer(), &mut monitor).expect("it runs");
        assert_eq!(first.notes.len(), 1, "{:?}", first.notes);
        assert!(
            first.notes[0].starts_with("measured without a capture: "),
            "{:?}",
            first.notes
        );
        let second = target.run(&transfer(), &mut monitor).expect("it runs");
        assert!(second.notes.is_empty());
    }
}
