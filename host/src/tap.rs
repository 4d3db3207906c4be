//! TAP interfaces of this machine.

/// Why an interface cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TapError {
    /// It does not exist.
    #[error("there is no interface {name}; {}", how_to_create(name))]
    Missing {
        /// The interface.
        name: String,
    },
    /// It belongs to somebody else.
    #[error(
        "interface {name} may not be opened by this user (it takes CAP_NET_ADMIN, or an interface \
         that was made for the user); {}",
        how_to_create(name)
    )]
    Rights {
        /// The interface.
        name: String,
    },
    /// Another program has it.
    #[error("interface {name} is in use by another program")]
    Busy {
        /// The interface.
        name: String,
    },
    /// Something else.
    #[error("interface {name} cannot be used as a TAP interface: {error}")]
    Io {
        /// The interface.
        name: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// This system has no TAP interfaces that are known here.
    #[error("TAP interfaces are supported on Linux only")]
    Unsupported,
}

impl TapError {
    /// What an error of the system on opening interface `name` means.
    #[cfg(target_os = "linux")]
    pub fn of(name: &str, error: std::io::Error) -> Self {
        let name = name.to_owned();
        match error.kind() {
            std::io::ErrorKind::PermissionDenied => Self::Rights { name },
            std::io::ErrorKind::ResourceBusy => Self::Busy { name },
            _ => Self::Io { name, error },
        }
    }
}

/// The commands that make interface `name`, for a message.
fn how_to_create(name: &str) -> String {
    format!(
        "make it with: sudo ip tuntap add dev {name} mode tap user $USER && \
         sudo ip address add 169.254.10.1/16 dev {name} && sudo ip link set {name} up"
    )
}
