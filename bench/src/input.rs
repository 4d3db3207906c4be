//! Files that a user names, read with a bound: a device such as `/dev/urandom`, or a pipe, has no end.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Maximum length of a text: scenarios, scripts, timing tables, register maps and dumps. The largest SVD files have
/// 20 MB.
pub const MAX_TEXT: u64 = 64_000_000;
/// Maximum length of an ELF, of content that is served, and of results, whose samples take most.
pub const MAX_CONTENT: u64 = 256_000_000;

/// Reads the file, of at most `max_octets`.
///
/// # Errors
/// The system's error, or [`io::ErrorKind::FileTooLarge`], both without the file's name.
pub fn read(path: &Path, max_octets: u64) -> io::Result<Vec<u8>> {
    read_from(File::open(path)?, max_octets)
}

/// Reads a text of UTF-8, of at most `max_octets`.
///
/// # Errors
/// As [`read`]; also [`io::ErrorKind::InvalidData`].
pub fn read_text(path: &Path, max_octets: u64) -> io::Result<String> {
    String::from_utf8(read(path, max_octets)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let what = format!("it is no text in UTF-8 from byte {at} on");
        io::Error::new(io::ErrorKind::InvalidData, what)
    })
}

/// Reads an open file or standard input to its end, of at most `max_octets`.
///
/// # Errors
/// As [`read`].
pub fn read_from(input: impl Read, max_octets: u64) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    let limited = &mut input.take(max_octets.saturating_add(1));
    limited.read_to_end(&mut octets)?;
    if octets.len() as u64 > max_octets {
        let megabytes = max_octets / 1_000_000;
        let what =
            format!("it is longer than {megabytes} MB, the longest file of its kind that is read");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok(octets)
}

#[cfg(test)]
mod tests {
    use super::{read_from, read_text};
    use std::io::{self, Read as _};

    #[test]
    fn input_without_end_is_refused_and_the_longest_is_read() {
        let long = |octets| io::repeat(b'x').take(octets);
        assert_eq!(
            read_from(long(2_000_000), 2_000_000).expect("read").len(),
            2_000_000
        );
        for input in [long(2_000_001), long(u64::MAX)] {
            let error = read_from(input, 2_000_000).expect_err("too long");
            assert_eq!(
                error.to_string(),
                "it is longer than 2 MB, the longest file of its kind that is read"
            );
        }
    }

    #[test]
    fn what_is_no_text_is_refused_with_its_place() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), b"text\xff").expect("written");
        let error = read_text(file.path(), 100).expect_err("no text");
        assert_eq!(error.to_string(), "it is no text in UTF-8 from byte 4 on");
    }
}
