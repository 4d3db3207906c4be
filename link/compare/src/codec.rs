//! Frames of other stacks, made and read by their own crates.

use ergot::wire_frames;
use ergot::{Address, FrameKind, HeaderSeq};
use postcard::ser_flavors::{Cobs, StdVec};
use postcard_rpc::Key;
use postcard_rpc::header::{VarHeader, VarKey, VarKeyKind, VarSeq, VarSeqKind};

/// A message between two programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub is_urgent: bool,
    pub is_reply: bool,
    pub number: u16,
    pub octets: Vec<u8>,
}

pub trait Codec {
    /// A frame with its delimiter.
    fn encode(&self, message: &Message) -> Vec<u8>;
    /// The message of a frame without its delimiter.
    fn decode(&self, frame: &[u8]) -> Option<Message>;
}

const CRC: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISCSI);

/// COBS and a CRC-32 over one octet of kind, a number and the message.
pub struct CobsCrc;

impl Codec for CobsCrc {
    fn encode(&self, message: &Message) -> Vec<u8> {
        let mut octets = vec![u8::from(message.is_urgent) | u8::from(message.is_reply) << 1];
        octets.extend(message.number.to_le_bytes());
        octets.extend(&message.octets);
        with_crc(&mut octets);
        let mut frame = cobs::encode_vec(&octets);
        frame.push(0);
        frame
    }

    fn decode(&self, frame: &[u8]) -> Option<Message> {
        let octets = cobs::decode_vec(frame).ok()?;
        let octets = without_crc(&octets)?;
        let (kind, rest) = octets.split_first()?;
        let (number, octets) = rest.split_first_chunk()?;
        Some(Message {
            is_urgent: kind & 1 != 0,
            is_reply: kind & 2 != 0,
            number: u16::from_le_bytes(*number),
            octets: octets.to_vec(),
        })
    }
}

fn with_crc(octets: &mut Vec<u8>) {
    let check = CRC.checksum(octets);
    octets.extend(check.to_le_bytes());
}

fn without_crc(octets: &[u8]) -> Option<&[u8]> {
    let (octets, check) = octets.split_last_chunk()?;
    (CRC.checksum(octets) == u32::from_le_bytes(*check)).then_some(octets)
}

/// What an application puts into a message of a stack without a check of its own.
fn body(message: &Message, has_crc: bool) -> Vec<u8> {
    let mut octets = message.octets.clone();
    if has_crc {
        with_crc(&mut octets);
    }
    octets
}

fn unbody(octets: &[u8], has_crc: bool) -> Option<Vec<u8>> {
    let octets = if has_crc {
        without_crc(octets)?
    } else {
        octets
    };
    Some(octets.to_vec())
}

/// postcard-rpc with keys of one octet, the shortest that a server chooses, and sequence numbers of two.
pub struct PostcardRpc {
    /// The application adds a CRC-32: postcard-rpc has none.
    pub has_crc: bool,
}

/// Keys of requests and replies, bulk and urgent.
const KEYS: [Key; 4] = [
    Key::for_path::<[u8]>("bulk/request"),
    Key::for_path::<u8>("urgent/request"),
    Key::for_path::<u16>("bulk/reply"),
    Key::for_path::<u32>("urgent/reply"),
];

fn short(key: Key) -> VarKey {
    let mut key = VarKey::Key8(key);
    key.shrink_to(VarKeyKind::Key1);
    key
}

impl Codec for PostcardRpc {
    fn encode(&self, message: &Message) -> Vec<u8> {
        let kind = usize::from(message.is_urgent) | usize::from(message.is_reply) << 1;
        let mut seq_no = VarSeq::Seq2(message.number);
        seq_no.resize(VarSeqKind::Seq2);
        let header = VarHeader {
            key: short(KEYS[kind]),
            seq_no,
        };
        let mut octets = vec![0; 16];
        let used = header.write_to_slice(&mut octets).expect("room").0.len();
        octets.truncate(used);
        if !message.is_reply {
            octets.extend(
                postcard::to_stdvec(body(message, self.has_crc).as_slice()).expect("octets"),
            );
        }
        let mut frame = cobs::encode_vec(&octets);
        frame.push(0);
        frame
    }

    fn decode(&self, frame: &[u8]) -> Option<Message> {
        let octets = cobs::decode_vec(frame).ok()?;
        let (header, rest) = VarHeader::take_from_slice(&octets)?;
        let kind = KEYS.iter().position(|key| short(*key) == header.key)?;
        let VarSeq::Seq2(number) = header.seq_no else {
            return None;
        };
        let is_reply = kind & 2 != 0;
        let octets = match is_reply {
            true => Vec::new(),
            false => unbody(postcard::from_bytes::<&[u8]>(rest).ok()?, self.has_crc)?,
        };
        Some(Message {
            is_urgent: kind & 1 != 0,
            is_reply,
            number,
            octets,
        })
    }
}

/// ergot between the two nodes of a point-to-point link, to ports that are known.
pub struct Ergot {
    /// The application adds a CRC-32: ergot has none.
    pub has_crc: bool,
}

impl Codec for Ergot {
    fn encode(&self, message: &Message) -> Vec<u8> {
        let address = |node_id, port_id| Address {
            network_id: 1,
            node_id,
            port_id,
        };
        let server = address(2, 1 + u8::from(message.is_urgent));
        let client = address(1, 3 + u8::from(message.is_urgent));
        let (src, dst, kind) = match message.is_reply {
            true => (server, client, FrameKind::ENDPOINT_RESP),
            false => (client, server, FrameKind::ENDPOINT_REQ),
        };
        let header = HeaderSeq {
            src,
            dst,
            any_all: None,
            seq_no: message.number,
            kind,
            ttl: 16,
        };
        let flavor = Cobs::try_new(StdVec::new()).expect("memory");
        match message.is_reply {
            true => wire_frames::encode_frame_ty(flavor, &header, &()),
            false => wire_frames::encode_frame_ty(
                flavor,
                &header,
                &body(message, self.has_crc).as_slice(),
            ),
        }
        .expect("a frame")
    }

    fn decode(&self, frame: &[u8]) -> Option<Message> {
        let octets = cobs::decode_vec(frame).ok()?;
        let frame = wire_frames::de_frame(&octets)?;
        let is_reply = frame.hdr.kind == FrameKind::ENDPOINT_RESP;
        if !is_reply && frame.hdr.kind != FrameKind::ENDPOINT_REQ {
            return None;
        }
        let port = if is_reply {
            frame.hdr.src.port_id
        } else {
            frame.hdr.dst.port_id
        };
        let octets = match is_reply {
            true => Vec::new(),
            false => unbody(
                postcard::from_bytes::<&[u8]>(frame.body.ok()?).ok()?,
                self.has_crc,
            )?,
        };
        Some(Message {
            is_urgent: port == 2,
            is_reply,
            number: frame.hdr.seq_no,
            octets,
        })
    }
}
