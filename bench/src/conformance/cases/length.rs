//! Frame lengths.

use linerate_agent::frame::{Fill, TEST_HEADER_LEN};
use linerate_sim::peer::generator::DEVICE;

use super::{LONGEST, LONGEST_TAGGED, SHORT};
use crate::conformance::CaseFailure;
use crate::conformance::exchange::TestFrame;
use crate::conformance::rig::{Rig, ensure};

/// The shortest valid frame.
const SHORTEST: usize = 60;
/// Longer than any valid frame, with a tag or without; and the driver's counter of them.
const OVER_LONG: [usize; 3] = [LONGEST_TAGGED + 1, 1_600, 1_900];
const REFUSED: &[&str] = &["RxOversize"];
const RUNTS: &[&str] = &["RxRunts", "RxFragments"];

pub(super) fn all(rig: &mut Rig<'_>) -> Result<u64, CaseFailure> {
    rig.exchange(
        (SHORT..=LONGEST)
            .chain((SHORT..=LONGEST).rev())
            .map(TestFrame::of),
    )
}

pub(super) fn shortest(rig: &mut Rig<'_>) -> Result<u64, CaseFailure> {
    rig.exchange((SHORTEST..SHORT).cycle().take(200).map(TestFrame::of))
}

/// On a network without a line's limits they arrive unchanged, or padded with zeros; on a line they are
/// rejected.
pub(super) fn runts(rig: &mut Rig<'_>) -> Result<u64, CaseFailure> {
    let zeros = |octets| TestFrame {
        fill: Fill::Octet(0),
        ..TestFrame::one_way(octets, DEVICE)
    };
    rig.reset_counts()?;
    let before = rig.sum_of(RUNTS)?;
    let runts = SHORTEST - TEST_HEADER_LEN;
    let with_others =
        (TEST_HEADER_LEN..SHORTEST).flat_map(move |it| [zeros(it), TestFrame::of(SHORT)]);
    let sent = rig.exchange_by(1, with_others)?;
    let counts = rig.frame_counts()?;
    let refused = rig.sum_of(RUNTS)? - before;
    let known = counts.frames + refused;
    ensure(counts.altered == 0 && known == sent, || {
        format!(
            "of {runts} frames and as many longer ones {counts:?} were taken, {refused} counted as runts"
        )
    })?;
    Ok(sent)
}

pub(super) fn tagged(rig: &mut Rig<'_>) -> Result<u64, CaseFailure> {
    rig.exchange((SHORT + 4..=LONGEST_TAGGED).map(|octets| TestFrame {
        is_tagged: true,
        ..TestFrame::of(octets)
    }))
}

pub(super) fn over_long(rig: &mut Rig<'_>) -> Result<u64, CaseFailure> {
    rig.reset_counts()?;
    let before = rig.sum_of(REFUSED)?;
    let mixed = |octets| [TestFrame::one_way(octets, DEVICE), TestFrame::of(LONGEST)];
    let sent = rig.exchange_by(1, OVER_LONG.into_iter().flat_map(mixed))?;
    let (counts, refused) = (rig.frame_counts()?, rig.sum_of(REFUSED)? - before);
    let over_long = OVER_LONG.len() as u64;
    let others = sent - over_long;
    ensure(
        (counts.frames, counts.altered, refused) == (others, 0, over_long),
        || {
            format!(
                "{over_long} over-long frames among {others}: taken {counts:?}, {refused} counted"
            )
        },
    )?;
    Ok(sent + rig.exchange((SHORT..=LONGEST).step_by(10).map(TestFrame::of))?)
}
