//! Messages of DNS (RFC 1035 section 4.1).

use crate::reader::Address;

/// Addresses of an answer that are kept.
const MAX_ADDRESSES: usize = 16;
/// Types of records: A, AAAA (RFC 3596).
const A: u16 = 1;
const AAAA: u16 = 28;

/// True for an answer, and the identification. `None` for what neither asks nor answers: somebody replaced the octets of the capture by zeros.
pub(super) fn header(octets: &[u8]) -> Option<(bool, u16)> {
    let header: &[u8; 12] = octets.first_chunk()?;
    let id = u16::from_be_bytes([header[0], header[1]]);
    let (is_answer, asks) = (header[2] & 0x80 != 0, header[4..6] != [0, 0]);
    (is_answer || asks).then_some((is_answer, id))
}

/// The first name, and the type behind it, if both were captured.
pub(super) fn name(octets: &[u8]) -> Option<(String, u16)> {
    let mut rest = octets.get(12..)?;
    let mut name = String::new();
    loop {
        let (length, behind) = rest.split_first()?;
        rest = behind;
        match *length {
            0 => break,
            // Names have up to 255 octets, labels up to 63; the first name has no reference to another.
            length if length < 64 && name.len() < 255 => {
                let (label, behind) = rest.split_at_checked(length.into())?;
                rest = behind;
                if !name.is_empty() {
                    name.push('.');
                }
                // Servers may answer in another case.
                name.extend(label.iter().map(|octet| match octet.to_ascii_lowercase() {
                    octet if octet.is_ascii_graphic() => char::from(octet),
                    _ => '?',
                }));
            }
            _ => return None,
        }
    }
    let [high, low] = *rest.first_chunk()?;
    Some((name, u16::from_be_bytes([high, low])))
}

/// The addresses in an answer, as far as they were captured.
pub(super) fn addresses(octets: &[u8]) -> Vec<Address> {
    let mut found = Vec::new();
    let mut read = || {
        let count = |at: usize| Some(u16::from_be_bytes(*octets.get(at..)?.first_chunk()?));
        let (questions, answers) = (count(4)?, count(6)?);
        let mut rest = octets.get(12..)?;
        for _ in 0..questions {
            // Type and class.
            rest = behind_name(rest)?.get(4..)?;
        }
        for _ in 0..answers.min(MAX_ADDRESSES as u16) {
            let record = behind_name(rest)?;
            let kind = u16::from_be_bytes(*record.first_chunk()?);
            let length = u16::from_be_bytes(*record.get(8..)?.first_chunk()?);
            let (data, behind) = record.get(10..)?.split_at_checked(length.into())?;
            rest = behind;
            match (kind, data.len()) {
                (A, 4) => found.push(Address::v4(*data.first_chunk()?)),
                (AAAA, 16) => found.push(Address(*data.first_chunk()?)),
                _ => {}
            }
        }
        Some(())
    };
    // What is cut ends the list.
    let _ = read();
    found
}

/// What follows a name, which may end with a reference to another one (RFC 1035 section 4.1.4).
fn behind_name(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        let (length, behind) = rest.split_first()?;
        match *length {
            0 => return Some(behind),
            192.. => return behind.get(1..),
            length => rest = behind.get(usize::from(length)..)?,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A query for the IPv6 address of a host.
    pub(in crate::traffic::datagram) const QUERY: &[u8] =
        b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x04Host\x03lan\0\0\x1C\0\x01";

    #[test]
    fn names_are_read_as_far_as_captured() {
        assert_eq!(header(QUERY), Some((false, 0x1234)));
        assert_eq!(header(&[0; 40]), None);
        assert_eq!(name(QUERY), Some(("host.lan".to_owned(), 28)));
        for length in 0..QUERY.len() - 2 {
            assert_eq!(name(&QUERY[..length]), None, "{length}");
        }
        // A reference to itself.
        assert_eq!(name(b"\0\0\0\0\0\0\0\0\0\0\0\0\xC0\x0C\0\x01"), None);
    }

    #[test]
    fn addresses_are_read_as_far_as_captured() {
        let mut answer = QUERY.to_vec();
        answer[7] = 3;
        // The canonical name, then an address of each version.
        answer.extend(b"\xC0\x0C\0\x05\0\x01\0\0\0\x3C\0\x04\x01a\xC0\x11");
        answer.extend(b"\x01a\xC0\x11\0\x01\0\x01\0\0\0\x3C\0\x04\x0A\0\0\x09");
        let v4 = answer.len();
        answer.extend(b"\xC0\x0C\0\x1C\0\x01\0\0\0\x3C\0\x10");
        answer.extend([9; 16]);
        let both = [Address::v4([10, 0, 0, 9]), Address([9; 16])];
        assert_eq!(addresses(&answer), both);
        for length in 0..answer.len() {
            let known = usize::from(length >= v4);
            assert_eq!(addresses(&answer[..length]), both[..known], "{length}");
        }
        assert_eq!(addresses(QUERY), []);
    }
}
