//! Compressed captures: gzip (RFC 1952) and Zstandard (RFC 8878), detected by their first octets.

use std::io::{self, Cursor, Read};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// First octets of a member of a gzip file.
const GZIP: [u8; 2] = [0x1F, 0x8B];
/// First octets of a Zstandard frame.
const ZSTD: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// Maximum window of a Zstandard frame, which is kept in memory (RFC 8878 section 3.1.1.1.2). While it grows, half of
/// it is there twice; the analysis takes the rest of the 64 MiB that are promised.
const MAX_WINDOW: u64 = 32 << 20;

/// The octets read ahead for detection, and the rest.
type Replayed<R> = io::Chain<Cursor<Vec<u8>>, R>;

/// A stream, decompressed if it was compressed.
pub(super) enum Decompressed<R: Read> {
    Plain(Replayed<R>),
    Gzip(Box<MultiGzDecoder<Replayed<R>>>),
    Zstd(Box<Zstd<Replayed<R>>>),
}

impl<R: Read> Decompressed<R> {
    /// Looks at the first octets of `inner`.
    pub(super) fn new(mut inner: R) -> io::Result<Self> {
        let mut first = Vec::with_capacity(4);
        inner.by_ref().take(4).read_to_end(&mut first)?;
        let (gzip, zstd) = (first.starts_with(&GZIP), first.starts_with(&ZSTD));
        let whole = Cursor::new(first).chain(inner);
        Ok(if gzip {
            Self::Gzip(Box::new(MultiGzDecoder::new(whole)))
        } else if zstd {
            Self::Zstd(Box::new(Zstd::new(whole)))
        } else {
            Self::Plain(whole)
        })
    }
}

impl<R: Read> Read for Decompressed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(inner) => inner.read(buffer),
            Self::Gzip(inner) => inner.read(buffer),
            Self::Zstd(inner) => inner.read(buffer),
        }
    }
}

/// The consecutive frames of a Zstandard file.
pub(super) struct Zstd<R> {
    inner: R,
    decoder: FrameDecoder,
    within_frame: bool,
}

impl<R: Read> Zstd<R> {
    fn new(inner: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW);
        Self {
            inner,
            decoder,
            within_frame: false,
        }
    }

    /// Begins the next frame; false at the end.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            match self.decoder.reset(&mut self.inner) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(
                        &mut self.inner.by_ref().take(length.into()),
                        &mut io::sink(),
                    )?;
                }
                Err(FrameDecoderError::ReadFrameHeaderError(
                    ReadFrameHeaderError::MagicNumberReadError(error),
                )) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
                Err(FrameDecoderError::WindowSizeTooBig { requested, .. }) => {
                    return Err(io::Error::other(format!(
                        "decompressing it takes a window of {} MiB, more than the {} MiB that are kept in memory; \
                         decompress it with `zstd -d --long=31`",
                        requested.div_ceil(1 << 20),
                        MAX_WINDOW >> 20,
                    )));
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }
}

impl<R: Read> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.within_frame {
                self.within_frame = self.begin()?;
                if !self.within_frame {
                    return Ok(0);
                }
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decoder
                    .decode_blocks(&mut self.inner, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(io::Error::other)?;
            }
            let read = self.decoder.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            self.within_frame = false;
        }
    }
}
