//! Rounds with a limit on received frames, for a program whose sockets hold less than the queue.

use linerate_nic::{device::Device as _, mac::Transmitter};
use smoltcp::time::Duration;

use super::{FRAMES_A_ROUND, Frame, Network, One, now};
use crate::phy::{self, Phy};

/// Transmitter for answers below the stack.
pub type Sender = Transmitter<'static, Phy>;

impl Network {
    /// The first half of a round: smoltcp processes at most `frames` of the received frames. `intercept` gets
    /// each frame first, may answer it, and returns true to keep it. `true`: smoltcp got a frame.
    #[inline(never)]
    pub fn take_at_most(
        &mut self,
        frames: usize,
        mut intercept: impl FnMut(&mut Frame, &mut Sender) -> bool,
    ) -> bool {
        phy::report_link();
        let now = now();
        self.iface.poll_maintenance(now);
        let mut taken = 0;
        for _ in 0..FRAMES_A_ROUND {
            if taken == frames {
                break;
            }
            let nic = &mut self.device.0;
            nic.tx.poll_ready();
            let pause = |quanta| nic.tx.pause(quanta);
            let Some(mut frame) = nic.rx.receive_with_pause(pause) else {
                break;
            };
            if intercept(&mut frame, &mut nic.tx) {
                frame.consume(|_| ());
                continue;
            }
            taken += 1;
            let mut one = One {
                frame: Some(frame),
                transmitter: &mut nic.tx,
            };
            self.iface
                .poll_ingress_single(now, &mut one, &mut self.sockets);
        }
        taken > 0
    }

    /// Time for which smoltcp has nothing to do unless a frame arrives; `None`: unlimited.
    pub fn quiet_for(&mut self) -> Option<Duration> {
        if self.device.0.has_pending_tx() {
            return Some(Duration::ZERO);
        }
        self.iface.poll_delay(now(), &self.sockets)
    }
}
