//! A request that the server acknowledged, and did not answer until the client gave up.

use super::kind::{MOST, Opening};
use crate::cause::flow::exchange::server_of;
use linerate_capture::tcp::{End, LoggedPacket, PacketClass, Segment};
use linerate_capture::traffic::Flow;

/// Whoever asks for a page expects an answer within this time (ITU-T G.1010 table I.2, preferred).
const ANSWER_NS: u64 = 2_000_000_000;
/// A request fits into the initial window (RFC 5681 section 3.1).
const REQUEST_BYTES: u64 = 4 * 1_460;
/// So many answers show that requests are answered.
const MIN_ANSWERED: usize = 3;
/// Whoever sends when it likes, and has that confirmed, seldom does so within this time after each confirmation: it is what a person
/// does not notice (ITU-T G.1010, highly interactive use).
const AT_ONCE_NS: u64 = 50_000_000;
/// After a pause that is half as long as the wait, the client may have ended as usual.
const PAUSE_FACTOR: u64 = 2;

/// The last payload of a connection, if it is a request.
struct UnansweredRequest {
    /// Requests before it, each of which was answered.
    answered: usize,
    /// Time until the client closed.
    waited_ns: u64,
}

/// A request of this connection without an answer, with the time for which its client waited.
pub(super) fn unanswered(flow: &Flow) -> Option<(Opening, u64)> {
    let request = UnansweredRequest::of(flow)?;
    let opening = if request.answered > 0 {
        Opening::LastUnanswered
    } else {
        Opening::Unanswered
    };
    Some((opening, request.waited_ns))
}

/// Payload of one end without any of the other in between.
struct Turn {
    end: End,
    bytes: u64,
    first_ns: u64,
    last_ns: u64,
}

impl UnansweredRequest {
    fn of(flow: &Flow) -> Option<Self> {
        let server = server_of(flow)?;
        let client = server.other();
        let packets = flow.connection.log().packets();
        let closes = |it: &LoggedPacket| it.has_any(Segment::RST | Segment::FIN);
        let open = &packets[..packets.iter().position(closes)?];
        let end = &packets[open.len()];
        // What came again was not asked again.
        let is_payload = |it: &&LoggedPacket| {
            it.len > 0 && it.class != PacketClass::NoData && !it.is_retransmission()
        };
        let payload: Vec<&LoggedPacket> = open.iter().filter(is_payload).collect();
        let answer = open.iter().rfind(|it| it.from() == server)?;
        let is_acked = |it: &&&LoggedPacket| answer.acknowledges(it.seq.wrapping_add(it.len));
        let mut turns = turns(&payload);
        // A capture may begin within an answer; what a first request of a session is would not show.
        let is_late = flow.connection.handshake().syn_ns.is_none();
        if is_late && turns.first()?.end == server {
            turns.remove(0);
        }
        let (last, before) = turns.split_last()?;
        let waited_ns = end.time_ns - last.last_ns;
        let asked = payload.iter().filter(|it| it.from() == client);
        // Whoever sends again as late did not wait for an answer.
        let is_one = last.last_ns - last.first_ns < ANSWER_NS;
        let is_asking = is_one
            && turns[0].end == client
            && last.end == client
            && end.from() == client
            && last.bytes <= REQUEST_BYTES
            && asked.clone().count() == asked.filter(is_acked).count();
        // What sends now and then expects no answer.
        let expects_answer = if before.is_empty() {
            !is_late && waited_ns as f64 >= MOST * end.time_ns as f64
        } else {
            is_like_answered(before, last, waited_ns)
        };
        (is_asking && waited_ns >= ANSWER_NS && expects_answer).then_some(Self {
            answered: before.len() / 2,
            waited_ns,
        })
    }
}

fn turns(payload: &[&LoggedPacket]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for it in payload {
        match turns.last_mut().filter(|turn| turn.end == it.from()) {
            Some(turn) => {
                turn.bytes += u64::from(it.len);
                turn.last_ns = it.time_ns;
            }
            None => turns.push(Turn {
                end: it.from(),
                bytes: u64::from(it.len),
                first_ns: it.time_ns,
                last_ns: it.time_ns,
            }),
        }
    }
    turns
}

/// True if the last turn is like those before, which were all answered at once, and no pause of the client was as long. Whoever opens a
/// session, takes its leave or confirms sends more or less than for a request.
fn is_like_answered(before: &[Turn], last: &Turn, waited_ns: u64) -> bool {
    let requests = before.iter().filter(|it| it.end == last.end);
    let sizes: Vec<u64> = requests.map(|it| it.bytes).collect();
    let is_alike = |bytes: &u64| (*bytes / 2..=*bytes * 2).contains(&last.bytes);
    let waits = |end: End| {
        let pairs = before.iter().zip(before.iter().skip(1).chain([last]));
        let waits = pairs.filter(move |(_, next)| next.end == end);
        waits.map(|(turn, next)| next.first_ns - turn.last_ns)
    };
    let answers_ns = waits(last.end.other()).max().unwrap_or(0);
    let at_once_ns = waits(last.end.other()).min().unwrap_or(0) + AT_ONCE_NS;
    // Data is larger than what confirms it block by block: its end, which fills no block, may not be confirmed.
    let answers = before.iter().filter(|it| it.end != last.end);
    let is_data = sizes.iter().sum::<u64>() > answers.map(|it| it.bytes).sum();
    let is_end = is_data && sizes.iter().any(|bytes| last.bytes < *bytes);
    sizes.len() >= MIN_ANSWERED
        && !is_end
        && sizes.iter().all(is_alike)
        && answers_ns <= at_once_ns
        && waited_ns >= PAUSE_FACTOR * waits(last.end).max().unwrap_or(0)
}
