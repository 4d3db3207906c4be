//! Packet socket.

use crate::RingError;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// All `EtherType`s.
pub const EVERY_TYPE: u16 = libc::ETH_P_ALL as u16;

/// Raw packet socket of one interface.
pub struct Socket {
    pub fd: OwnedFd,
    interface: String,
}

impl Socket {
    /// Opens an unbound socket, which receives nothing.
    pub fn open(interface: &str) -> Result<Self, RingError> {
        // SAFETY: a system call without pointers.
        let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            let source = io::Error::last_os_error();
            return Err(error(interface, "opening a packet socket", source));
        }
        Ok(Self {
            // SAFETY: a new descriptor with no other owner.
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
        self.set_at_level(libc::SOL_PACKET, option, value, step)
    }

    /// Sets an option.
    pub fn set_at_level<T: Copy>(
        &self,
        level: libc::c_int,
        option: libc::c_int,
        value: T,
        step: &'static str,
    ) -> Result<(), RingError> {
        // SAFETY: the kernel reads the given number of octets of a value that lives until it returns.
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

    /// Limits frames to their first `octets`, with a filter program of one instruction.
    pub fn truncate(&self, octets: u32) -> Result<(), RingError> {
        let mut accept = libc::sock_filter {
            code: (libc::BPF_RET | libc::BPF_K) as u16,
            jt: 0,
            jf: 0,
            k: octets,
        };
        let program = libc::sock_fprog {
            len: 1,
            filter: &raw mut accept,
        };
        // The kernel copies the program, which lives until the call returns.
        self.set_at_level(
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            program,
            "limiting the length of frames",
        )
    }

    /// Binds to the interface, to receive frames of this `EtherType`; 0: none.
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
        // SAFETY: the kernel reads the given number of octets of an address that lives until it returns.
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
        // SAFETY: a NUL-terminated string that lives until the call returns.
        let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
        if index == 0 {
            return Err(missing());
        }
        Ok(index as libc::c_int)
    }

    /// Converts the return value of the last system call to a result.
    pub fn check(&self, returned: libc::c_int, step: &'static str) -> Result<(), RingError> {
        if returned >= 0 {
            return Ok(());
        }
        Err(self.error(step, io::Error::last_os_error()))
    }

    /// Returns the error of an operation on this interface.
    pub fn error(&self, step: &'static str, source: io::Error) -> RingError {
        error(&self.interface, step, source)
    }
}

fn error(interface: &str, step: &'static str, source: io::Error) -> RingError {
    let interface = interface.to_owned();
    match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => RingError::PermissionDenied { interface },
        Some(libc::ENETDOWN) => RingError::Down { interface },
        Some(libc::ENODEV | libc::ENXIO) => RingError::Missing { interface },
        _ => RingError::Io {
            interface,
            step,
            source,
        },
    }
}
