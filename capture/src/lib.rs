//! Packet captures and what they show of TCP and UDP. Pure: bytes in, figures out.
//!
//! | module | contents |
//! |---|---|
//! | [`reader`] | pcap and pcapng, compressed or not, packet by packet |
//! | [`tcp`] | one TCP connection: sender, receiver, time shares |
//! | [`model`] | what a TCP connection shows about its path, its ends and its time |
//! | [`udp`] | one UDP stream of iperf 2 or iperf 3 |
//! | [`traffic`] | a whole capture: packets by kind, stations, connections, streams |
//! | [`wire`] | frames recorded on a simulated wire: TCP figures, time shares |
#![forbid(unsafe_code)]

pub mod model;
pub mod reader;
pub mod tcp;
pub mod traffic;
pub mod udp;
pub mod wire;
