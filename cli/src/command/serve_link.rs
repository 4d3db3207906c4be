//! `linerate serve pty://`: the other end of a byte link.

#[cfg(target_os = "linux")]
pub use linux::run;

#[cfg(target_os = "linux")]
mod linux {
    use std::io::ErrorKind;
    use std::sync::atomic::Ordering;
    use std::time::{Duration, Instant};

    use anyhow::anyhow;
    use linerate_host::serial::peer::{self, PeerEvent};
    use linerate_host::serial::{Address, LinkEnd, port};

    use crate::args;
    use crate::command::stop_on_ctrl_c;
    use crate::failure::Failure;
    use crate::output;

    /// Serves the byte link that `url` names, until it is stopped.
    pub fn run(args: &args::Serve, url: &str) -> Result<(), Failure> {
        let address: Address = url.parse().map_err(|error| anyhow!("`{url}`: {error}"))?;
        if let Address::Tcp { host, port } = &address
            && host.is_empty()
        {
            message!("waiting for a connection to 127.0.0.1:{port}");
        }
        let (port, path) = port::open(&address).map_err(anyhow::Error::new)?;
        if let Some(path) = path {
            // The path is the result of the command: a script reads it.
            output::print(&format!("pty://{}\n", path.display()))?;
            message!(
                "in another terminal: linerate test pty://{}",
                path.display()
            );
        }
        message!("serving {url}; press Ctrl-C to stop");
        let stopped = stop_on_ctrl_c()?;
        let until = args
            .seconds
            .map(|seconds| Instant::now() + Duration::from_secs(seconds));
        let stop = || {
            let is_over = until.is_some_and(|until| Instant::now() >= until);
            is_over || stopped.load(Ordering::Relaxed)
        };
        let mut end = LinkEnd::new(port, LinkEnd::new_session());
        let mut on_event = |event| match event {
            PeerEvent::Up => message!("an end has connected"),
        };
        match peer::serve(&mut end, "linerate serve", &stop, &mut on_event) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                message!("the other end was closed");
                Ok(())
            }
            served => Ok(served.map_err(|error| anyhow!("{url}: {error}"))?),
        }
    }
}

/// Byte links are for Linux.
#[cfg(not(target_os = "linux"))]
pub fn run(_: &crate::args::Serve, url: &str) -> Result<(), crate::failure::Failure> {
    Err(anyhow::anyhow!("{url}: byte links need Linux").into())
}
