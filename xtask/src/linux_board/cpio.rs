//! An initramfs: a cpio archive in the format that Linux unpacks at its start (`newc`,
//! Documentation/driver-api/early-userspace/buffer-format.rst of the kernel).

/// File types and permissions (`stat(2)`).
const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_644;
/// Entries begin, and contents end, at a multiple of this.
const ALIGNMENT: usize = 4;

/// An archive under construction.
#[derive(Default)]
pub struct Archive {
    octets: Vec<u8>,
    /// Number of entries so far, which are numbered from 1.
    entries: u32,
}

impl Archive {
    /// Adds a folder.
    pub fn folder(&mut self, path: &str) {
        self.entry(path, &[], FOLDER);
    }

    /// Adds a file that can be executed.
    pub fn program(&mut self, path: &str, content: &[u8]) {
        self.entry(path, content, PROGRAM);
    }

    /// Adds a file.
    pub fn file(&mut self, path: &str, content: &[u8]) {
        self.entry(path, content, FILE);
    }

    /// The complete archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", &[], 0);
        self.octets
    }

    fn entry(&mut self, path: &str, content: &[u8], mode: u32) {
        self.entries += 1;
        let links = 1;
        let name_length = path.len() + 1;
        // Number, mode, user, group, links, time, length, four device numbers, length of the name, checksum.
        let fields = [self.entries, mode, 0, 0, links, 0];
        let lengths = [content.len(), 0, 0, 0, 0, name_length, 0];
        self.octets.extend_from_slice(b"070701");
        for field in fields {
            self.octets.extend(format!("{field:08x}").bytes());
        }
        for length in lengths {
            self.octets.extend(format!("{length:08x}").bytes());
        }
        self.octets.extend_from_slice(path.as_bytes());
        self.octets.push(0);
        self.pad();
        self.octets.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        let end = self.octets.len().next_multiple_of(ALIGNMENT);
        self.octets.resize(end, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::Archive;

    #[test]
    fn entries_are_aligned_and_have_their_lengths() {
        let mut archive = Archive::default();
        archive.folder("bin");
        archive.program("init", b"#!x");
        let octets = archive.finish();
        let header = 110;
        assert_eq!(&octets[..6], b"070701");
        // "bin" and its zero end at 114; the next entry begins at 116.
        let init = (header + 4usize).next_multiple_of(4);
        assert_eq!(&octets[init..init + 6], b"070701");
        assert_eq!(&octets[init + 14..init + 22], b"000081ed", "mode");
        assert_eq!(&octets[init + 54..init + 62], b"00000003", "length");
        assert_eq!(&octets[init + 94..init + 102], b"00000005", "name");
        let content = (init + header + 5).next_multiple_of(4);
        assert_eq!(&octets[content..content + 4], b"#!x\0");
        assert!(octets.windows(10).any(|at| at == b"TRAILER!!!"));
        assert_eq!(octets.len() % 4, 0);
    }
}
