//! Network namespaces by name, as `ip netns` has them.

use super::error::RelayError;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::os::fd::AsFd;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

/// Where `ip netns` keeps them.
const FOLDER: &str = "/run/netns";
/// The namespace of the thread that asks.
const OWN: &str = "/proc/thread-self/ns/net";

/// A network namespace. One that was made here is removed when this is dropped, also by a panic.
#[derive(Debug)]
pub struct Namespace {
    name: Option<String>,
    handle: File,
    is_made: bool,
}

impl Namespace {
    /// The one that the calling thread is in.
    ///
    /// # Errors
    /// There is no `/proc`.
    pub fn current() -> Result<Self, RelayError> {
        let handle = File::open(OWN).map_err(|error| RelayError::Enter {
            name: "of this program".to_owned(),
            error,
        })?;
        Ok(Self {
            name: None,
            handle,
            is_made: false,
        })
    }

    /// The one that is called `name`.
    ///
    /// # Errors
    /// There is none.
    pub fn open(name: &str) -> Result<Self, RelayError> {
        let handle = File::open(path(name)?).map_err(|_| RelayError::Missing(name.to_owned()))?;
        Ok(Self {
            name: Some(name.to_owned()),
            handle,
            is_made: false,
        })
    }

    /// Makes one that is called `name`, with its loopback interface up.
    ///
    /// # Errors
    /// There is one of that name, or the user may not make one.
    pub fn make(name: &str) -> Result<Self, RelayError> {
        if path(name)?.exists() {
            return Err(RelayError::Exists(name.to_owned()));
        }
        ip(&["netns", "add", name])?;
        let mut namespace = Self::open(name)?;
        namespace.is_made = true;
        namespace.ip(&["link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// Its name; none for the one that this program began in.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Does `work` on a thread that is in the namespace: sockets and threads that it makes are in it,
    /// too.
    ///
    /// # Errors
    /// The user may not enter it.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, RelayError> {
        let inside = || {
            // Nothing to change to: that works without being root.
            if self.name.is_some() {
                let network = Some(LinkNameSpaceType::Network);
                move_into_link_name_space(self.handle.as_fd(), network)?;
            }
            Ok(work())
        };
        let done = thread::scope(|scope| scope.spawn(inside).join());
        let done = done.unwrap_or_else(|panic| resume_unwind(panic));
        done.map_err(|error: rustix::io::Errno| RelayError::Enter {
            name: self.name.clone().unwrap_or_default(),
            error: error.into(),
        })
    }

    /// A command that runs in the namespace.
    pub fn command(&self, program: &str) -> Command {
        let Some(name) = &self.name else {
            return Command::new(program);
        };
        let mut command = Command::new("ip");
        command.args(["netns", "exec", name, program]);
        command
    }

    /// Runs `ip` with these words for this namespace.
    ///
    /// # Errors
    /// It fails, and says why.
    pub fn ip(&self, words: &[&str]) -> Result<(), RelayError> {
        match &self.name {
            Some(name) => ip(&[&["-n", name], words].concat()),
            None => ip(words),
        }
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Some(name) = self.name.as_ref().filter(|_| self.is_made) {
            // Whoever wants to know sees it in `ip netns`.
            let _ = ip(&["netns", "delete", name]);
        }
    }
}

/// The file of the namespace that is called `name`.
fn path(name: &str) -> Result<PathBuf, RelayError> {
    let is_good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let starts = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if starts && name.len() <= 64 && name.chars().all(is_good) {
        Ok(Path::new(FOLDER).join(name))
    } else {
        Err(RelayError::Name(name.to_owned()))
    }
}

fn ip(words: &[&str]) -> Result<(), RelayError> {
    let output = Command::new("ip").args(words).output();
    let output = output.map_err(RelayError::NoIp)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(RelayError::Ip {
        command: format!("ip {}", words.join(" ")),
        said: said.trim().replace('\n', "; "),
    })
}
