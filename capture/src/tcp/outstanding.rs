//! What a sender sent and has no acknowledgment of, by sequence number.

use super::segment::{before, until};

/// More pieces than this are not told apart, which bounds the memory that a connection takes.
const MOST_PIECES: usize = 4096;
/// The same for a direction of whose acknowledgments none was captured: nothing ever takes them away.
const MOST_UNANSWERED: usize = 64;

/// Acknowledged pieces are kept until there are as many: to move the others up takes time.
const MOST_GONE: usize = 256;

/// A piece of what is outstanding: a segment, or what one has left uncovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) seq: u32,
    pub(super) end: u32,
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
    /// How often it was captured; 0 when only what came before and behind it was.
    pub(super) times: u8,
    /// Which in its burst it was when it was last sent, from 0.
    pub(super) position: u8,
    /// How many segments were outstanding when it was sent first.
    pub(super) ahead: u8,
    /// Whether it came right behind another packet when it was last sent.
    pub(super) close: bool,
    pub(super) sacked: bool,
}

/// What an acknowledgment took away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Acknowledged {
    /// When the last of it was sent, if all of it was sent just once.
    pub(super) sent_ns: Option<u64>,
    /// Something that was sent just once lay behind something that was sent again later.
    pub(super) behind_again: bool,
    /// Octets of it that were never captured.
    pub(super) unseen: u32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Outstanding {
    /// Empty as soon as all of them are acknowledged.
    pieces: Vec<Piece>,
    /// The first ones, which are acknowledged.
    gone: usize,
}

impl Outstanding {
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Adds what lies behind everything that is outstanding.
    #[inline]
    pub(super) fn push(&mut self, piece: Piece, answered: bool) {
        let most = if answered {
            MOST_PIECES
        } else {
            MOST_UNANSWERED
        };
        if self.pieces.len() - self.gone < most {
            self.pieces.push(piece);
        } else if let Some(last) = self.pieces.last_mut() {
            last.end = piece.end;
            last.last_ns = piece.last_ns;
        }
    }

    /// The pieces that have something of `seq` to `end`.
    pub(super) fn within(&mut self, seq: u32, end: u32) -> impl Iterator<Item = &mut Piece> {
        let pieces = &mut self.pieces[self.gone..];
        let from = pieces.partition_point(|piece| until(piece.end, seq));
        pieces[from..]
            .iter_mut()
            .take_while(move |piece| before(piece.seq, end))
    }

    /// Takes away what `ack` acknowledges.
    #[inline]
    pub(super) fn acknowledge(&mut self, ack: u32) -> Acknowledged {
        let (mut sent_ns, mut once) = (None, true);
        let (mut again_ns, mut behind_again) = (0, false);
        let mut unseen = 0;
        let mut gone = self.gone;
        for piece in &mut self.pieces[gone..] {
            if until(piece.end, ack) {
                sent_ns = Some(piece.first_ns);
                once &= piece.times == 1;
                if piece.times == 0 {
                    unseen += piece.end.wrapping_sub(piece.seq);
                }
                if piece.times > 1 {
                    again_ns = piece.last_ns;
                } else {
                    behind_again |= piece.first_ns < again_ns;
                }
                gone += 1;
                continue;
            }
            if before(piece.seq, ack) {
                piece.seq = ack;
            }
            break;
        }
        self.gone = gone;
        if gone == self.pieces.len() || gone >= MOST_GONE {
            self.pieces.drain(..gone);
            self.gone = 0;
        }
        Acknowledged {
            sent_ns: sent_ns.filter(|_| once),
            behind_again,
            unseen,
        }
    }

    /// Marks what lies whole within a block; says whether anything is new.
    pub(super) fn sack(&mut self, left: u32, right: u32) -> bool {
        let mut new = false;
        for piece in self.within(left, right) {
            if until(left, piece.seq) && until(piece.end, right) {
                new |= !piece.sacked;
                piece.sacked = true;
            }
        }
        new
    }
}
