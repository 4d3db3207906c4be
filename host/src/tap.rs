//! Errors of TAP interfaces.

/// Reason why an interface cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TapError {
    /// The interface does not exist.
    #[error("there is no interface {name}; {}", how_to_create(name))]
    Missing {
        /// Interface name.
        name: String,
    },
    /// The user lacks the privilege.
    #[error(
        "no permission to open interface {name} (requires CAP_NET_ADMIN, or an interface created for \
         this user); {}",
        how_to_create(name)
    )]
    PermissionDenied {
        /// Interface name.
        name: String,
    },
    /// Another program uses it.
    #[error("interface {name} is in use by another program")]
    Busy {
        /// Interface name.
        name: String,
    },
    /// Other error.
    #[error("interface {name} cannot be used as a TAP interface: {error}")]
    Io {
        /// Interface name.
        name: String,
        /// Error of the operating system.
        error: std::io::Error,
    },
    /// TAP interfaces are not supported on this system.
    #[error("TAP interfaces are supported on Linux only")]
    Unsupported,
}

impl TapError {
    /// Classifies an operating system error from opening interface `name`.
    #[cfg(target_os = "linux")]
    pub fn from_open_error(name: &str, error: std::io::Error) -> Self {
        let name = name.to_owned();
        match error.kind() {
            std::io::ErrorKind::PermissionDenied => Self::PermissionDenied { name },
            std::io::ErrorKind::ResourceBusy => Self::Busy { name },
            _ => Self::Io { name, error },
        }
    }
}

/// Commands that create interface `name`, for a message.
fn how_to_create(name: &str) -> String {
    format!(
        "create it with: sudo ip tuntap add dev {name} mode tap user $USER && \
         sudo ip address add 169.254.10.1/16 dev {name} && sudo ip link set {name} up"
    )
}
