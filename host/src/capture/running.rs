//! A capture on its own thread.

use super::pcapng::Writer;
use super::select::is_of_peer;
use super::{CaptureCounts, CaptureError, SNAP_OCTETS};
use linerate_ring::ReceiveRing;
use std::fs::File;
use std::io::{self, BufWriter};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Size of the ring: a second of full-size frames at 1 Gbit/s, of which it stores the headers only.
const RING_MIB: usize = 16;
/// Maximum time of a wait for frames.
const WAIT: Duration = Duration::from_millis(20);
/// The same at the end: longer than the kernel keeps a partly filled block.
const LAST_WAIT: Duration = Duration::from_millis(150);

/// A running capture. It ends when it is finished or dropped.
#[derive(Debug)]
pub struct Capture {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<CaptureCounts, CaptureError>>>,
}

impl Capture {
    /// Begins to capture the headers of packets from and to `peer` on `interface` into `path`, a pcapng file.
    /// Frames of Ethernet itself (ARP, pause) and broadcasts are kept, too.
    ///
    /// # Errors
    /// The interface is missing or down, the user lacks `CAP_NET_RAW`, or the file cannot be created.
    pub fn start(interface: &str, peer: IpAddr, path: &Path) -> Result<Self, CaptureError> {
        let ring = ReceiveRing::open_capture(interface, SNAP_OCTETS, RING_MIB)?;
        let failed = |error| CaptureError::File {
            path: path.to_owned(),
            error,
        };
        let file = File::create(path).map_err(failed)?;
        let writer = Writer::new(BufWriter::new(file), interface, SNAP_OCTETS).map_err(failed)?;
        let stop = Arc::new(AtomicBool::new(false));
        let recorder = Recorder {
            ring,
            writer,
            peer,
            path: path.to_owned(),
            frames: 0,
            stop: Arc::clone(&stop),
        };
        let thread = std::thread::Builder::new()
            .name("capture".to_owned())
            .spawn(move || recorder.run())
            .map_err(failed)?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }

    /// Ends the capture, after the frames that have arrived so far.
    ///
    /// # Errors
    /// The interface was removed, or the file could not be written.
    pub fn finish(mut self) -> Result<CaptureCounts, CaptureError> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take();
        let joined = thread.map(JoinHandle::join);
        match joined {
            None => Ok(CaptureCounts::default()),
            Some(Ok(counts)) => counts,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

struct Recorder {
    ring: ReceiveRing,
    writer: Writer<BufWriter<File>>,
    peer: IpAddr,
    path: PathBuf,
    frames: u64,
    stop: Arc<AtomicBool>,
}

impl Recorder {
    fn run(mut self) -> Result<CaptureCounts, CaptureError> {
        loop {
            // Read before the frames: none that arrived earlier is missed.
            let is_last = self.stop.load(Ordering::Relaxed);
            self.ring.wait(if is_last { LAST_WAIT } else { WAIT })?;
            while self.take()? {}
            if is_last {
                break;
            }
        }
        let dropped = self.ring.statistics()?.dropped;
        let path = self.path;
        let ended = self.writer.finish(dropped);
        ended.map_err(|error| CaptureError::File { path, error })?;
        Ok(CaptureCounts {
            frames: self.frames,
            dropped,
        })
    }

    /// Writes the frames of a block; false if there is none.
    fn take(&mut self) -> Result<bool, CaptureError> {
        let (writer, peer) = (&mut self.writer, self.peer);
        let mut written: io::Result<u64> = Ok(0);
        let taken = self.ring.take(|frame| {
            if let Ok(count) = &mut written
                && is_of_peer(frame.octets, peer)
            {
                *count += 1;
                if let Err(error) = writer.frame(frame.octets, frame.len, frame.at_ns) {
                    written = Err(error);
                }
            }
        });
        self.frames += written.map_err(|error| CaptureError::File {
            path: self.path.clone(),
            error,
        })?;
        Ok(taken.is_some())
    }
}
