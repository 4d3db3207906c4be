//! Long runs: frames of all sizes, and stop and start of the device under load.

use std::time::Duration;

use linerate_ether::random::Random;
use serde::Deserialize;

use super::{MAX_LEN, SHORT};
use crate::conformance::CaseFailure;
use crate::conformance::exchange::{Exchange, TestFrame};
use crate::conformance::rig::{Rig, ensure};

/// Arbitrary, but the same in each run.
const SEED: u64 = 5;
const RESTARTS: u32 = 3;
/// Frames between them.
const BETWEEN: u64 = 200;
/// Time that frames are sent to a stopped device.
const STOPPED: Duration = Duration::from_millis(30);

fn random_sizes() -> impl Iterator<Item = TestFrame> + Send {
    let mut random = Random::new(SEED);
    let sizes = (MAX_LEN - SHORT + 1) as u64;
    std::iter::repeat_with(move || TestFrame::of(SHORT + random.below(sizes) as usize))
}

pub(super) fn random(rig: &mut Rig<'_>) -> Result<u64, CaseFailure> {
    let frames = usize::try_from(rig.frames).unwrap_or(usize::MAX);
    rig.exchange(random_sizes().take(frames))
}

pub(super) fn restart(rig: &mut Rig<'_>) -> Result<u64, CaseFailure> {
    #[derive(Deserialize)]
    struct Device {
        stopped: bool,
    }

    let mut load = Exchange::new(random_sizes(), rig.burst());
    load.may_lose = true;
    let handle = rig.session.start(load)?;
    for _ in 0..RESTARTS {
        let answered = rig.session.with(handle, |it: &mut Exchange| it.answered)?;
        rig.until(handle, |it| it.answered >= answered + BETWEEN)?;
        for (command, expected) in [("device stop", true), ("device start", false)] {
            let Device { stopped } = rig.session.query(command, "device")?;
            ensure(stopped == expected, || format!("`{command}` has no effect"))?;
            rig.session.run_for(STOPPED)?;
        }
    }
    rig.session.with(handle, Exchange::end)?;
    rig.until(handle, Exchange::is_complete)?;
    let sent = rig.finish(handle)?.sent;
    Ok(sent + rig.exchange(random_sizes().take(BETWEEN as usize))?)
}
