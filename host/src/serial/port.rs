//! Opens byte links; reads and writes them without blocking.

use super::address::Address;
use super::spi::SpiPort;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serial2::{FlowControl, SerialPort, Settings};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A byte link cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// Its device does not exist.
    #[error("{} does not exist{}", .path.display(), others(.present))]
    Missing {
        /// The device.
        path: PathBuf,
        /// Ports that exist.
        present: Vec<PathBuf>,
    },
    /// This user may not open it.
    #[error(
        "{} belongs to the group {group}: `sudo usermod -aG {group} $USER`, then log in again",
        .path.display()
    )]
    Permission {
        /// The device.
        path: PathBuf,
        /// The group that may.
        group: String,
    },
    /// Another process has it.
    #[error("{} is in use{}", .path.display(), .user.as_ref().map_or_else(String::new, |it| format!(": {it}")))]
    InUse {
        /// The device.
        path: PathBuf,
        /// The process, and what to do about it, if it is known.
        user: Option<String>,
    },
    /// The hardware or its driver does not have this rate.
    #[error("{} does not support {baud} baud{}", .path.display(), .set.map_or_else(String::new, |set| format!(" (its driver set {set})")))]
    Baud {
        /// The device.
        path: PathBuf,
        /// The requested rate.
        baud: u32,
        /// The rate that was set instead.
        set: Option<u32>,
    },
    /// Another failure of the system.
    #[error("{name}: {error}")]
    System {
        /// The port.
        name: String,
        /// The system's error.
        error: io::Error,
    },
}

/// The ports that exist, for an error message.
fn others(present: &[PathBuf]) -> String {
    if present.is_empty() {
        return "; there is no serial port: is the device plugged in?".to_owned();
    }
    let names: Vec<String> = present
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    format!("; there is {}", names.join(", "))
}

/// An open byte link.
pub trait Port: Send {
    /// Waits until octets arrive, or, if `wants_write`, can be sent; at most for `timeout`.
    ///
    /// # Errors
    /// The system's.
    fn wait(&mut self, wants_write: bool, timeout: Duration) -> io::Result<()>;

    /// Reads what has arrived; 0 if nothing has.
    ///
    /// # Errors
    /// The system's; [`ErrorKind::UnexpectedEof`] if the other end is closed.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize>;

    /// Writes as much as can be sent now.
    ///
    /// # Errors
    /// The system's.
    fn write(&mut self, octets: &[u8]) -> io::Result<usize>;
}

/// Opens a byte link; returns it and the path of the other end of a new pseudo-terminal.
///
/// # Errors
/// The reason why it cannot be used, and what to do about it.
pub fn open(address: &Address) -> Result<(Box<dyn Port>, Option<PathBuf>), PortError> {
    let port: Box<dyn Port> = match address {
        Address::Serial {
            path,
            baud,
            rts_cts,
        } => Box::new(serial(path, *baud, *rts_cts)?),
        Address::Pty { path: Some(path) } => Box::new(FdPort(existing_pty(path)?)),
        Address::Pty { path: None } => {
            let (pty, path) = new_pty().map_err(|error| system("pty://", error))?;
            return Ok((Box::new(pty), Some(path)));
        }
        Address::Tcp { host, port } => {
            let name = format!("tcp://{host}:{port}");
            let stream = connection(host, *port).map_err(|error| system(&name, error))?;
            Box::new(FdPort(OwnedFd::from(stream)))
        }
        Address::Spi { path, hz, mode } => {
            let opened = SpiPort::open(path, *hz, *mode);
            Box::new(opened.map_err(|error| failure(path, error))?)
        }
    };
    Ok((port, None))
}

fn system(name: &str, error: io::Error) -> PortError {
    PortError::System {
        name: name.to_owned(),
        error,
    }
}

/// The error of a device that cannot be opened.
fn failure(path: &Path, error: io::Error) -> PortError {
    let path = path.to_owned();
    match error.kind() {
        ErrorKind::NotFound => PortError::Missing {
            path,
            present: SerialPort::available_ports().unwrap_or_default(),
        },
        ErrorKind::PermissionDenied => PortError::Permission {
            group: super::pitfalls::group_of(&path),
            path,
        },
        ErrorKind::ResourceBusy => PortError::InUse {
            user: super::pitfalls::user_of(Path::new("/proc"), &path).map(|it| it.advice()),
            path,
        },
        _ => system(&path.display().to_string(), error),
    }
}

fn serial(path: &Path, baud: u32, rts_cts: bool) -> Result<FdPort<SerialPort>, PortError> {
    let configure = |mut settings: Settings| {
        settings.set_raw();
        settings.set_baud_rate(baud)?;
        settings.set_flow_control(if rts_cts {
            FlowControl::RtsCts
        } else {
            FlowControl::None
        });
        Ok(settings)
    };
    let port = match SerialPort::open(path, configure) {
        Ok(port) => port,
        Err(error) if error.kind() == ErrorKind::InvalidInput => {
            return Err(PortError::Baud {
                path: path.to_owned(),
                baud,
                set: None,
            });
        }
        Err(error) => return Err(failure(path, error)),
    };
    exclude_others(path, &port)?;
    let set = port.get_configuration().and_then(|it| it.get_baud_rate());
    match set {
        // Drivers choose the nearest rate that they have.
        Ok(set) if set.abs_diff(baud) > baud / 50 => Err(PortError::Baud {
            path: path.to_owned(),
            baud,
            set: Some(set),
        }),
        _ => Ok(FdPort(port)),
    }
}

/// From now on, nobody else opens it; refuses one that somebody else has open.
fn exclude_others(path: &Path, port: &impl AsFd) -> Result<(), PortError> {
    if let Some(user) = super::pitfalls::user_of(Path::new("/proc"), path) {
        return Err(PortError::InUse {
            path: path.to_owned(),
            user: Some(user.advice()),
        });
    }
    // Not every port can be locked; octets are then shared, which the link notices.
    let _ = rustix::termios::ioctl_tiocexcl(port);
    Ok(())
}

fn existing_pty(path: &Path) -> Result<SerialPort, PortError> {
    let raw = |mut settings: Settings| {
        settings.set_raw();
        Ok(settings)
    };
    // The program at the other end may keep this one open, too: nobody is excluded.
    SerialPort::open(path, raw).map_err(|error| failure(path, error))
}

/// A new pseudo-terminal, of which this process keeps both ends: others may come and go.
fn new_pty() -> io::Result<(FdPort<PtyPair>, PathBuf)> {
    let (controller, user) = SerialPort::pair()?;
    let name = rustix::pty::ptsname(&controller, Vec::new())?;
    let path = PathBuf::from(name.to_string_lossy().into_owned());
    for end in [&controller, &user] {
        rustix::fs::fcntl_setfl(end, rustix::fs::OFlags::NONBLOCK)?;
    }
    Ok((
        FdPort(PtyPair {
            controller,
            _user: user,
        }),
        path,
    ))
}

struct PtyPair {
    controller: SerialPort,
    _user: SerialPort,
}

impl AsFd for PtyPair {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.controller.as_fd()
    }
}

fn connection(host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = if host.is_empty() {
        TcpListener::bind((Ipv4Addr::LOCALHOST, port))?.accept()?.0
    } else {
        TcpStream::connect((host, port))?
    };
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

/// A port with a file descriptor that does not block.
struct FdPort<F>(F);

impl<F: AsFd + Send> Port for FdPort<F> {
    fn wait(&mut self, wants_write: bool, timeout: Duration) -> io::Result<()> {
        let mut flags = PollFlags::IN;
        flags.set(PollFlags::OUT, wants_write);
        let timeout = timeout.try_into().unwrap_or(rustix::event::Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        });
        match poll(&mut [PollFd::new(&self.0, flags)], Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match rustix::io::read(&self.0, into) {
            // With EIO, the other end of a pseudo-terminal is closed, or a USB adapter was unplugged.
            Ok(0) | Err(Errno::IO) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => Ok(count),
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match rustix::io::write(&self.0, octets) {
            Ok(count) => Ok(count),
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }
}
