//! The other end of the simulated cable.

use linerate_sim::peer::tcp::{self, Endpoint};
use linerate_sim::peer::{self, Peer, host};
use linerate_sim::time::{Instant, Span};

use crate::machine::{MachineConfig, MachineError};

/// The port of HTTP.
const HTTP: u16 = 80;
/// Prefix length of the peer's network.
const PREFIX: u8 = 16;

/// Creates the peer that `config` selects.
///
/// # Errors
/// [`MachineError`] if this kind of peer does not exist.
pub fn of(config: &MachineConfig) -> Result<Box<dyn Peer>, MachineError> {
    let asked = &config.environment.peer;
    let kind = peer::kind(&asked.kind)
        .ok_or_else(|| MachineError::Board(format!("there is no peer `{}`", asked.kind)))?;
    let device = config.board.link.ipv4;
    let background = asked.background_arp_ms;
    let host = host::Config {
        turnaround: Span::from_us(asked.turnaround_us),
        turnaround_jitter: Span::from_us(asked.turnaround_jitter_us),
        background_arp: (background > 0).then(|| Span::from_ms(background)),
        seed: config.seed ^ super::PEER_SEED,
        tcp: tcp::Config {
            disregard_sack_blocks: asked.disregard_sack_blocks,
            ..tcp::Config::default()
        },
        ping: config.pings.map(|pings| host::ping::Config {
            target: device,
            start: at(pings.from_ms),
            interval: Span::from_ms(pings.every_ms),
            count: pings.count,
            octets: 56,
        }),
        http_clients: config
            .downloads
            .iter()
            .map(|download| host::http_client::Config {
                server: Endpoint {
                    address: device,
                    port: HTTP,
                },
                paths: vec![format!("/{}", download.bytes)],
                start: at(download.from_ms),
                pause: Span::ZERO,
                timeout: Span::from_ms(download.timeout_ms),
            })
            .collect(),
        http_server: Some(host::http_server::Config {
            port: asked.http_server.map_or(HTTP, |server| server.port()),
            answers: asked.answers.clone(),
            ..host::http_server::Config::default()
        }),
        ..super::host_addresses(&config.board)
    };
    let host = match asked.http_server {
        Some(server) => host.at(*server.ip(), PREFIX),
        None => host,
    };
    Ok((kind.build)(peer::Config {
        host,
        traffic: config.environment.traffic.clone(),
    }))
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Span::from_ms(ms)
}
