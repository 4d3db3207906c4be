//! CPU cores, and pinning a thread to one.

/// Number of cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Pins the thread to a core until dropped.
#[derive(Debug)]
pub struct Pin {
    #[cfg(target_os = "linux")]
    before: Option<nix::sched::CpuSet>,
}

/// Pins this thread to `core`, if given.
///
/// # Errors
/// A sentence with the reason and its consequence.
pub fn pin(core: Option<usize>) -> Result<Pin, String> {
    #[cfg(target_os = "linux")]
    {
        let Some(core) = core else {
            return Ok(Pin { before: None });
        };
        pin_to(core).map_err(|why| format!("not pinned to core {core} ({why}): {COST}"))
    }
    #[cfg(not(target_os = "linux"))]
    match core {
        None => Ok(Pin {}),
        Some(core) => Err(format!(
            "not pinned to core {core} (not implemented on this system): {COST}"
        )),
    }
}

/// Consequence of missing pinning.
const COST: &str = "gaps and round trips are longer whenever the system moves the thread";

#[cfg(target_os = "linux")]
fn pin_to(core: usize) -> nix::Result<Pin> {
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    use nix::unistd::Pid;
    // 0 is this thread.
    let this = Pid::from_raw(0);
    let before = sched_getaffinity(this)?;
    let mut only = CpuSet::new();
    only.set(core)?;
    sched_setaffinity(this, &only)?;
    Ok(Pin {
        before: Some(before),
    })
}

#[cfg(target_os = "linux")]
impl Drop for Pin {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), before);
        }
    }
}
