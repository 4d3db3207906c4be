//! Requests and answers: which end keeps the other waiting.
//!
//! Time counts as an end's own only if its program, not its stack or the path, is late: after the last octet of the
//! request, beyond the round trip, without a retransmission. Time in which nobody asked for anything is nobody's: a person
//! reads, a server has no news.
//!
//! | module | contents |
//! |---|---|
//! | `thinking` | who serves, and the time before an end's turns |
//! | `awaited` | answers that somebody awaits in one go |
//! | `server` | a server that is late |
//! | `greeting` | a server that is late to send first |
//! | `client` | a client that is late |
//! | `in_turn` | one request at a time over a long path |
//! | `connections` | a connection for each request, one after another |

mod awaited;
mod client;
mod connections;
mod greeting;
mod in_turn;
mod server;
mod thinking;

pub(super) use client::client_think_time;
pub(super) use connections::connections_in_turn;
pub(super) use in_turn::{REQUESTS, leave_parallel, requests_in_turn};
pub(super) use server::{server_think_time, share_answers};
pub(super) use thinking::{asked_ns, sent_ns, server as serving_end, server_of};
