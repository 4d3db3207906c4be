//! Named network namespaces, as `ip netns` manages them.

use super::error::RelayError;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::os::fd::AsFd;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

/// Directory of `ip netns`.
const FOLDER: &str = "/run/netns";
/// Namespace of the calling thread.
const OWN: &str = "/proc/thread-self/ns/net";

/// Network namespace. If created here, it is removed on drop, also after a panic.
#[derive(Debug)]
pub struct Namespace {
    name: Option<String>,
    handle: File,
    is_owned: bool,
}

impl Namespace {
    /// Returns the namespace of the calling thread.
    ///
    /// # Errors
    /// There is no `/proc`.
    pub fn current() -> Result<Self, RelayError> {
        let handle = File::open(OWN).map_err(|error| RelayError::Enter {
            name: "of this process".to_owned(),
            error,
        })?;
        Ok(Self {
            name: None,
            handle,
            is_owned: false,
        })
    }

    /// Opens the namespace `name`.
    ///
    /// # Errors
    /// It does not exist.
    pub fn open(name: &str) -> Result<Self, RelayError> {
        let handle =
            File::open(path(name)?).map_err(|_| RelayError::NamespaceNotFound(name.to_owned()))?;
        Ok(Self {
            name: Some(name.to_owned()),
            handle,
            is_owned: false,
        })
    }

    /// Creates the namespace `name` with its loopback interface up.
    ///
    /// # Errors
    /// It exists already, or the user lacks the privilege.
    pub fn create(name: &str) -> Result<Self, RelayError> {
        if path(name)?.exists() {
            return Err(RelayError::NamespaceExists(name.to_owned()));
        }
        ip(&["netns", "add", name])?;
        let mut namespace = Self::open(name)?;
        namespace.is_owned = true;
        namespace.ip(&["link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// Name; `None` for the namespace in which this program started.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Runs `work` on a thread in the namespace: sockets and threads created by it belong to the
    /// namespace, too.
    ///
    /// # Errors
    /// The user may not enter the namespace.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, RelayError> {
        let inside = || {
            // Without a namespace to enter this works without root.
            if self.name.is_some() {
                let network = Some(LinkNameSpaceType::Network);
                move_into_link_name_space(self.handle.as_fd(), network)?;
            }
            Ok(work())
        };
        let result = thread::scope(|scope| scope.spawn(inside).join());
        let result = result.unwrap_or_else(|panic| resume_unwind(panic));
        result.map_err(|error: rustix::io::Errno| RelayError::Enter {
            name: self.name.clone().unwrap_or_default(),
            error: error.into(),
        })
    }

    /// Returns a command that runs in the namespace.
    pub fn command(&self, program: &str) -> Command {
        let Some(name) = &self.name else {
            return Command::new(program);
        };
        let mut command = Command::new("ip");
        command.args(["netns", "exec", name, program]);
        command
    }

    /// Runs `ip` with these arguments in this namespace.
    ///
    /// # Errors
    /// `ip` fails.
    pub fn ip(&self, arguments: &[&str]) -> Result<(), RelayError> {
        match &self.name {
            Some(name) => ip(&[&["-n", name], arguments].concat()),
            None => ip(arguments),
        }
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Some(name) = self.name.as_ref().filter(|_| self.is_owned) {
            // A failure is visible in `ip netns`.
            let _ = ip(&["netns", "delete", name]);
        }
    }
}

/// File of the namespace `name`.
fn path(name: &str) -> Result<PathBuf, RelayError> {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_start_valid = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if is_start_valid && name.len() <= 64 && name.chars().all(is_valid) {
        Ok(Path::new(FOLDER).join(name))
    } else {
        Err(RelayError::InvalidName(name.to_owned()))
    }
}

fn ip(arguments: &[&str]) -> Result<(), RelayError> {
    let output = Command::new("ip").args(arguments).output();
    let output = output.map_err(RelayError::IpUnavailable)?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(RelayError::IpFailed {
        command: format!("ip {}", arguments.join(" ")),
        message: message.trim().replace('\n', "; "),
    })
}
