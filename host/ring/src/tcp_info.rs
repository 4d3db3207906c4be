//! State of a TCP connection as its socket reports it.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Octets of `struct tcp_info` of the latest kernel, and some more for its successors.
pub const TCP_INFO_OCTETS: usize = 320;

/// Reads `TCP_INFO` of a TCP socket into `octets`; returns the number of octets that this kernel reports.
///
/// The structure grows with the kernel's version: a reader takes a field only if it is within that number.
/// `libc::tcp_info` ends with the fields of Linux 2.6, and no dependency reads the rest, so the octets are
/// returned as they are.
///
/// # Errors
/// The system call failed: the socket is not a TCP socket.
pub fn tcp_info(socket: BorrowedFd<'_>, octets: &mut [u8; TCP_INFO_OCTETS]) -> io::Result<usize> {
    let mut len = TCP_INFO_OCTETS as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` octets to an array of that length, and the length to a value; both
    // live until the call returns.
    let failed = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            octets.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    if failed != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((len as usize).min(TCP_INFO_OCTETS))
}
