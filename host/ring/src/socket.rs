//! A packet socket.

use crate::RingError;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Frames of every type.
pub const EVERY_TYPE: u16 = libc::ETH_P_ALL as u16;

/// A raw packet socket of one interface.
pub struct Socket {
    pub fd: OwnedFd,
    interface: String,
}

impl Socket {
    /// Opens one that is bound to nothing yet, and so receives nothing.
    pub fn open(interface: &str) -> Result<Self, RingError> {
        // SAFETY: a system call without pointers.
        let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            let source = io::Error::last_os_error();
            return Err(error(interface, "a packet socket", source));
        }
        Ok(Self {
            // SAFETY: a new descriptor that nobody else has.
            fd: unsafe { OwnedFd::from_raw_fd(fd) },
            interface: interface.to_owned(),
        })
    }

    /// Sets an option of the packet layer.
    pub fn set<T: Copy>(
        &self,
        option: libc::c_int,
        value: T,
        step: &'static str,
    ) -> Result<(), RingError> {
        self.set_of(libc::SOL_PACKET, option, value, step)
    }

    /// Sets an option.
    pub fn set_of<T: Copy>(
        &self,
        level: libc::c_int,
        option: libc::c_int,
        value: T,
        step: &'static str,
    ) -> Result<(), RingError> {
        // SAFETY: the kernel reads as many octets as are said of a value that lives until it returns.
        let failed = unsafe {
            libc::setsockopt(
                self.fd.as_raw_fd(),
                level,
                option,
                (&raw const value).cast(),
                size_of::<T>() as libc::socklen_t,
            )
        };
        self.check(failed, step)
    }

    /// Binds it to the interface, to receive frames of this type; 0: none.
    pub fn bind(&self, ethertype: u16) -> Result<(), RingError> {
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: ethertype.to_be(),
            sll_ifindex: self.index()?,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        // SAFETY: the kernel reads as many octets as are said of an address that lives until it returns.
        let failed = unsafe {
            libc::bind(
                self.fd.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        self.check(failed, "binding")
    }

    fn index(&self) -> Result<libc::c_int, RingError> {
        let missing = || RingError::Missing {
            interface: self.interface.clone(),
        };
        let name = CString::new(self.interface.as_str()).map_err(|_| missing())?;
        // SAFETY: a string that ends with 0 and lives until it returns.
        let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
        if index == 0 {
            return Err(missing());
        }
        Ok(index as libc::c_int)
    }

    /// The error of a system call that has just returned this, if it is one.
    pub fn check(&self, returned: libc::c_int, step: &'static str) -> Result<(), RingError> {
        if returned >= 0 {
            return Ok(());
        }
        Err(self.error(step, io::Error::last_os_error()))
    }

    /// What went wrong, in words.
    pub fn error(&self, step: &'static str, source: io::Error) -> RingError {
        error(&self.interface, step, source)
    }
}

fn error(interface: &str, step: &'static str, source: io::Error) -> RingError {
    let interface = interface.to_owned();
    match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => RingError::Rights { interface },
        Some(libc::ENETDOWN) => RingError::Down { interface },
        Some(libc::ENODEV | libc::ENXIO) => RingError::Missing { interface },
        _ => RingError::Io {
            interface,
            step,
            source,
        },
    }
}
