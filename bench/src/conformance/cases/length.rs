//! Every length.

use linerate_agent::frame::{Fill, TEST_HEADER_LEN};
use linerate_sim::peer::generator::DEVICE;

use super::{LONGEST, LONGEST_TAGGED, SHORT};
use crate::conformance::Failed;
use crate::conformance::exchange::Order;
use crate::conformance::rig::{Rig, hold};

/// The shortest frame on a line.
const SHORTEST: usize = 60;
/// Longer than any frame, with a tag or without; and the driver's counter of them.
const OVER_LONG: [usize; 3] = [LONGEST_TAGGED + 1, 1_600, 1_900];
const REFUSED: &[&str] = &["RxOversize"];
const RUNTS: &[&str] = &["RxRunts", "RxFragments"];

pub(super) fn all(rig: &mut Rig<'_>) -> Result<u64, Failed> {
    rig.exchange(
        (SHORT..=LONGEST)
            .chain((SHORT..=LONGEST).rev())
            .map(Order::of),
    )
}

pub(super) fn shortest(rig: &mut Rig<'_>) -> Result<u64, Failed> {
    rig.exchange((SHORTEST..SHORT).cycle().take(200).map(Order::of))
}

/// On a network without a line's limits they come whole, or made longer by zeros; on a line they do not.
pub(super) fn runts(rig: &mut Rig<'_>) -> Result<u64, Failed> {
    let zeros = |octets| Order {
        fill: Fill::Octet(0),
        ..Order::one_way(octets, DEVICE)
    };
    rig.count()?;
    let before = rig.counted(RUNTS)?;
    let runts = SHORTEST - TEST_HEADER_LEN;
    let with_others = (TEST_HEADER_LEN..SHORTEST).flat_map(move |it| [zeros(it), Order::of(SHORT)]);
    let sent = rig.exchange_by(1, with_others)?;
    let said = rig.said()?;
    let refused = rig.counted(RUNTS)? - before;
    let known = said.frames + refused;
    hold(said.altered == 0 && known == sent, || {
        format!(
            "of {runts} frames and as many longer ones {said:?} were taken, {refused} counted as runts"
        )
    })?;
    Ok(sent)
}

pub(super) fn tagged(rig: &mut Rig<'_>) -> Result<u64, Failed> {
    rig.exchange((SHORT + 4..=LONGEST_TAGGED).map(|octets| Order {
        is_tagged: true,
        ..Order::of(octets)
    }))
}

pub(super) fn over_long(rig: &mut Rig<'_>) -> Result<u64, Failed> {
    rig.count()?;
    let before = rig.counted(REFUSED)?;
    let mixed = |octets| [Order::one_way(octets, DEVICE), Order::of(LONGEST)];
    let sent = rig.exchange_by(1, OVER_LONG.into_iter().flat_map(mixed))?;
    let (said, refused) = (rig.said()?, rig.counted(REFUSED)? - before);
    let over_long = OVER_LONG.len() as u64;
    let others = sent - over_long;
    hold(
        (said.frames, said.altered, refused) == (others, 0, over_long),
        || {
            format!(
                "{over_long} over-long frames among {others}: taken {said:?}, {refused} counted"
            )
        },
    )?;
    Ok(sent + rig.exchange((SHORT..=LONGEST).step_by(10).map(Order::of))?)
}
