//! UDP sockets of a driver.

use super::driver::{Driver, now};
use linerate_agent::{Service, Udp};
use std::io::ErrorKind;

/// Datagrams of one socket before others are served.
const DATAGRAMS_PER_TURN: usize = 256;

impl<S: Service> Driver<S> {
    pub(super) fn receive_datagrams(&mut self) {
        for (number, it) in &mut self.datagrams {
            for _ in 0..DATAGRAMS_PER_TURN {
                if !it.ready.read {
                    break;
                }
                match it.socket.recv_from(&mut self.chunk) {
                    Ok((len, from)) => {
                        self.progressed = true;
                        let now = now(self.clock);
                        let octets = &self.chunk[..len];
                        self.service.datagram(Udp(*number), from, octets, now);
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => it.ready.read = false,
                    // ICMP error of an earlier datagram: ignored.
                    Err(_) => {}
                }
            }
            self.busy |= it.ready.read;
        }
    }

    pub(super) fn send_datagrams(&mut self) {
        for _ in 0..DATAGRAMS_PER_TURN {
            let (from, to, octets) = if let Some(unsent) = self.unsent.take() {
                unsent
            } else {
                let now = now(self.clock);
                let Some(next) = self.service.next_datagram(&mut self.chunk, now) else {
                    return;
                };
                (next.socket, next.to, self.chunk[..next.len].to_vec())
            };
            let Some(it) = self.datagrams.get_mut(&from.0) else {
                self.progressed = true;
                continue;
            };
            match it.socket.send_to(&octets, to) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.unsent = Some((from, to, octets));
                    return;
                }
                // Lost, as on any network.
                Ok(_) | Err(_) => self.progressed = true,
            }
        }
        self.busy = true;
    }
}
