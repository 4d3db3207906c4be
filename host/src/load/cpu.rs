//! Cores, and keeping a thread on one.

/// How many cores this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A thread kept on a core, as long as this lives.
#[derive(Debug)]
pub struct Pin {
    #[cfg(target_os = "linux")]
    before: Option<nix::sched::CpuSet>,
}

/// Keeps this thread on core `core`, if one is named.
///
/// # Errors
/// Says in a sentence why not, and what that costs.
pub fn pin(core: Option<usize>) -> Result<Pin, String> {
    #[cfg(target_os = "linux")]
    {
        let Some(core) = core else {
            return Ok(Pin { before: None });
        };
        pin_to(core).map_err(|why| format!("not kept on core {core} ({why}): {COST}"))
    }
    #[cfg(not(target_os = "linux"))]
    match core {
        None => Ok(Pin {}),
        Some(core) => Err(format!(
            "not kept on core {core} (this system is not asked to): {COST}"
        )),
    }
}

/// What is lost without.
const COST: &str = "gaps and round trips are longer whenever the system moves the thread";

#[cfg(target_os = "linux")]
fn pin_to(core: usize) -> nix::Result<Pin> {
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    use nix::unistd::Pid;
    // 0: this thread.
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
