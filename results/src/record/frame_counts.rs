//! Frames as counted by parties that do not know the ledger, and the comparison of all counts.

use std::collections::BTreeMap;

use linerate_ether::ledger::{Counter, DropCause};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Ledger;

/// Frames of one run of a firmware. Each party counts where a frame passes it: none of these counts is derived from
/// another, or from the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrameCounts {
    /// Counted by the transmitters and the receiver at the cable.
    pub wire: WireCounts,
    /// Counted between the peer and its MAC; none on a TAP interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<PeerCounts>,
    /// Packets in the capture, if one is recorded, read from the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<CaptureCounts>,
    /// The device's counters, zeros left out; none if the firmware keeps none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<BTreeMap<String, u64>>,
    /// What the device did while frames arrived that it did not register.
    pub unheard: UnheardCounts,
}

/// Transmissions on the cable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WireCounts {
    /// Transmissions to the device that began, of all stations, attempts that collided included.
    pub transmissions: u64,
    /// Frames of the peer whose first attempt began.
    pub peer_frames: u64,
    /// Transmissions of the device.
    pub device_transmissions: u64,
    /// Of these, those that collided.
    pub device_collisions: u64,
    /// Of these, those that the peer's MAC did not hand on, collisions included.
    pub device_discarded: u64,
    /// True if one of the device had begun and not ended when the run ended.
    pub device_was_sending: bool,
    /// True if the cable was unplugged at times: what the device sends then is not on it.
    pub was_unplugged: bool,
}

/// Frames between the peer and its MAC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeerCounts {
    /// Handed to the MAC.
    pub sent: u64,
    /// Of these, dropped by the MAC because the link was down.
    pub withheld: u64,
    /// Of these, not on the wire yet when the run ended.
    pub waiting: u64,
    /// Handed on by the MAC.
    pub received: u64,
}

/// Packets in a capture, which omits attempts that collided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureCounts {
    /// To the device.
    pub to_device: u64,
    /// From the device.
    pub from_device: u64,
}

/// Frames in the ledger under `unheard`: what the device did when they began, seen at its pins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnheardCounts {
    /// The receive interrupt was busy with an earlier frame.
    pub busy: u64,
    /// The device sent.
    pub sending: u64,
    /// The device had not registered any frame yet: it was starting.
    pub starting: u64,
    /// None of these.
    pub idle: u64,
}

impl FrameCounts {
    /// The counts that contradict each other or `ledger`, the fate of all frames of this run, each in a sentence.
    pub fn discrepancies(&self, ledger: &Ledger) -> Vec<String> {
        let mut found = Vec::new();
        self.compare_wire(ledger, &mut found);
        self.compare_peer(&mut found);
        self.compare_capture(ledger, &mut found);
        if let Some(device) = &self.device {
            let count = |counter: Counter| device.get(counter.name()).copied().unwrap_or(0);
            self.compare_sent(&count, &mut found);
            compare_received(&count, ledger, &mut found);
            compare_causes(&count, ledger, &mut found);
        }
        found
    }

    /// Losses that the device counts beyond those in `ledger`, by the counter's name: fragments of collisions, further
    /// parts of a frame that is in the ledger already, or an error of the attribution.
    pub fn losses_without_a_frame(&self, ledger: &Ledger) -> BTreeMap<String, u64> {
        let Some(device) = &self.device else {
            return BTreeMap::new();
        };
        let lost = Counter::ALL.into_iter().filter(|it| is_received(*it));
        let more = lost.filter_map(|counter| {
            let in_ledger = ledger.lost_for(counter.drop_cause()?);
            let more = device.get(counter.name())?.saturating_sub(in_ledger);
            (more > 0).then(|| (counter.name().to_owned(), more))
        });
        more.collect()
    }

    fn compare_wire(&self, ledger: &Ledger, found: &mut Vec<String>) {
        let began = self.wire.transmissions;
        if began != ledger.sent_frames {
            let sent = ledger.sent_frames;
            found.push(format!(
                "{began} transmissions to the device began on the wire, and the ledger has {sent}"
            ));
        }
        let unheard = &self.unheard;
        let seen = unheard.busy + unheard.sending + unheard.starting + unheard.idle;
        let lost = ledger.lost_for(DropCause::Unheard);
        if seen != lost {
            found.push(format!(
                "{seen} frames were seen to pass the device unheard, and the ledger has {lost}"
            ));
        }
    }

    fn compare_peer(&self, found: &mut Vec<String>) {
        let Some(peer) = &self.peer else { return };
        let wire = &self.wire;
        if peer.sent != wire.peer_frames + peer.withheld + peer.waiting {
            found.push(format!(
                "the peer handed {} frames to its MAC: {} began on the wire, {} were withheld and {} wait",
                peer.sent, wire.peer_frames, peer.withheld, peer.waiting
            ));
        }
        let good = wire
            .device_transmissions
            .saturating_sub(wire.device_discarded);
        if peer.received != good {
            found.push(format!(
                "{good} good frames of the device were on the wire, and the peer received {}",
                peer.received
            ));
        }
    }

    fn compare_capture(&self, ledger: &Ledger, found: &mut Vec<String>) {
        let Some(capture) = &self.capture else { return };
        let omitted = [DropCause::Collision, DropCause::InFlight].map(|it| ledger.lost_for(it));
        let whole = ledger.sent_frames.saturating_sub(omitted.iter().sum());
        if capture.to_device != whole {
            found.push(format!(
                "the capture has {} packets to the device, and the ledger {whole} whole frames",
                capture.to_device
            ));
        }
        let whole = self.wire.device_frames();
        if capture.from_device != whole {
            found.push(format!(
                "the capture has {} packets of the device, and {whole} were on the wire",
                capture.from_device
            ));
        }
    }

    /// Frames that the device sent: its counter, and the wire.
    fn compare_sent(&self, count: &dyn Fn(Counter) -> u64, found: &mut Vec<String>) {
        let sent = count(Counter::TxFrames);
        // The end of the last one may not be on the wire yet.
        let most = self.wire.device_frames() + u64::from(self.wire.device_was_sending);
        // A transmission that was cut off is on the wire, too; one that was refused is not.
        let least = self
            .wire
            .device_frames()
            .saturating_sub(count(Counter::TxJabbers));
        let is_lost_on_wire = self.wire.was_unplugged && sent >= least;
        if !(least..=most).contains(&sent) && !is_lost_on_wire {
            found.push(format!(
                "the device counts {sent} frames sent, and {} were on the wire",
                self.wire.device_frames()
            ));
        }
    }
}

impl WireCounts {
    /// Transmissions of the device that did not collide.
    const fn device_frames(&self) -> u64 {
        self.device_transmissions
            .saturating_sub(self.device_collisions)
    }
}

/// The device's own counts of received frames: each is checked, and delivered or rejected.
fn compare_received(count: &dyn Fn(Counter) -> u64, ledger: &Ledger, found: &mut Vec<String>) {
    let delivered = count(Counter::RxDelivered);
    if delivered != ledger.delivered_frames {
        let in_ledger = ledger.delivered_frames;
        found.push(format!(
            "the device counts {delivered} frames delivered to its stack, and the ledger {in_ledger}"
        ));
    }
    let valid = count(Counter::RxValid);
    let ended = delivered + count(Counter::RxStackRejected);
    // The stack holds one frame at most.
    if !(ended..=ended + 1).contains(&valid) {
        found.push(format!(
            "the device counts {valid} valid frames, of which {ended} were delivered or rejected"
        ));
    }
    let refused = Counter::ALL.into_iter().filter(|it| is_refused_by_mac(*it));
    let checked = valid + refused.map(count).sum::<u64>();
    let received = count(Counter::RxFrames);
    let in_queue = ledger.lost_for(DropCause::LeftInQueue);
    // A frame that the stack holds is in the ledger's queue.
    let queued = received.saturating_sub(checked) + valid.saturating_sub(ended);
    if received < checked || in_queue > queued {
        found.push(format!(
            "the device counts {received} frames received and {checked} checked, and the ledger has {in_queue} in its queue"
        ));
    }
}

/// True if the counter counts frames of the queue that the MAC refuses.
fn is_refused_by_mac(counter: Counter) -> bool {
    use linerate_ether::ledger::Layer;
    let layer = counter.drop_cause().map(DropCause::layer);
    is_received(counter)
        && (layer == Some(Layer::Mac)
            || matches!(counter, Counter::RxFragments | Counter::RxBadChecksum))
}

/// True if the counter is of the receiver.
fn is_received(counter: Counter) -> bool {
    counter.name().starts_with("Rx")
}

/// A loss in the ledger that the device can count was counted by it.
fn compare_causes(count: &dyn Fn(Counter) -> u64, ledger: &Ledger, found: &mut Vec<String>) {
    for counter in Counter::ALL.into_iter().filter(|it| is_received(*it)) {
        let Some(cause) = counter.drop_cause() else {
            continue;
        };
        let (lost, counted) = (ledger.lost_for(cause), count(counter));
        let is_possible = match cause {
            // A full queue loses further frames, which nobody hears.
            DropCause::QueueFull => counted > 0 || lost == 0,
            // Most collisions are seen on the wire, and no fragment is received of some.
            DropCause::Collision => true,
            _ => lost <= counted,
        };
        if !is_possible {
            found.push(format!(
                "the ledger has {lost} frames lost for {cause}, and the device counts {counted} ({})",
                counter.name()
            ));
        }
    }
}

#[cfg(test)]
mod tests;
