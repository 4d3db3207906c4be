//! The other end: what a device does that is measured, as a program of this host.

use super::end::{CHANNELS, LinkEnd};
use linerate_link::Event;
use linerate_link::measure::{Budget, Identity, MAX_NAME, Responder, ResponderConfig, VERSION};
use std::io;
use std::time::Duration;

/// Interval at which the end of the program is checked.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Something that happened at a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerEvent {
    /// An end has connected.
    Up,
}

/// Answers trains, echoes and requests on `end` until `stop` returns true.
///
/// # Errors
/// The port's.
pub fn serve(
    end: &mut LinkEnd,
    name: &str,
    stop: &dyn Fn() -> bool,
    on_event: &mut dyn FnMut(PeerEvent),
) -> io::Result<()> {
    let mut identity = Identity {
        version: VERSION,
        ..Identity::default()
    };
    for (to, from) in identity.name.iter_mut().zip(name.bytes().take(MAX_NAME)) {
        *to = from;
    }
    let mut responder = Responder::new(ResponderConfig {
        channels: 0..CHANNELS,
        budget: Budget::new(0, 1000, 0),
        longest: u16::MAX,
        identity,
    });
    while !stop() {
        // A train is sent as soon as there is room.
        let timeout = if responder.is_sending() {
            Duration::from_millis(1)
        } else {
            STOP_CHECK_INTERVAL
        };
        let count = end.turn(timeout)?;
        if count > 0 {
            responder.on_service(count);
        }
        while let Some(event) = end.event() {
            if event == Event::Up {
                responder.restart();
                on_event(PeerEvent::Up);
            }
        }
        let now = end.now();
        responder.poll(now, &mut end.link, |_, _, _| {});
    }
    Ok(())
}
