//! A driver that only makes the calls of a service.

use core::convert::Infallible;
use core::hint::black_box;

use crate::services::SERVER;
use linerate_agent::{Connection, Instant, Opened, Service, Udp};

/// Makes every call of a driver to each service.
pub fn drive(services: &mut [&mut dyn Service]) -> Infallible {
    loop {
        for service in &mut *services {
            turn(*service);
        }
    }
}

#[inline(never)]
fn turn(service: &mut dyn Service) {
    let service = black_box(service);
    let now = black_box(Instant::from_ns(1));
    let connection = black_box(Connection(0));
    let mut room = black_box([0; 64]);
    black_box(service.next_request());
    let opened = black_box(Opened::Connected { token: 0 });
    let _ = black_box(service.opened(connection, opened, now));
    service.failed(black_box(0), now);
    service.received(connection, black_box(&room), now);
    black_box(service.zeros(connection, black_box(64), now));
    black_box(service.fill(connection, &mut room, now));
    service.ended(connection, now);
    service.closed(connection, now);
    black_box(service.close(connection));
    service.datagram(black_box(Udp(0)), black_box(SERVER), &room, now);
    black_box(service.next_datagram(&mut room, now));
    black_box(service.wake_at());
}
