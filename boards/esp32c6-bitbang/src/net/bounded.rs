//! Rounds with a bound on what they take in, for a program whose sockets hold less than the queue.

use linerate_nic::mac::Transmitter;

use super::{Frame, Network, One, now};
use crate::phy::{self, Phy};

/// What a frame is answered with, below the stack.
pub type Sender = Transmitter<'static, Phy>;

impl Network {
    /// The first half of a round: lets smoltcp work off `frames` of what came in at most. `look` sees
    /// each frame first, may answer it, and keeps it if it says so. `true`: there was something.
    #[inline(never)]
    pub fn take_at_most(
        &mut self,
        frames: usize,
        mut look: impl FnMut(&mut Frame, &mut Sender) -> bool,
    ) -> bool {
        phy::report_link();
        let now = now();
        self.iface.poll_maintenance(now);
        for taken in 0..frames {
            let nic = &mut self.device.0;
            nic.tx.is_ready();
            let pause = |quanta| nic.tx.pause(quanta);
            let Some(mut frame) = nic.rx.receive_obeying(pause) else {
                return taken > 0;
            };
            if look(&mut frame, &mut nic.tx) {
                frame.consume(|_| ());
                continue;
            }
            let mut one = One {
                frame: Some(frame),
                transmitter: &mut nic.tx,
            };
            self.iface
                .poll_ingress_single(now, &mut one, &mut self.sockets);
        }
        true
    }
}
