//! Finding a board's firmware.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::input::{self, MAX_CONTENT};

/// Output folder of `cargo xtask firmware`, relative to the root of the tree: one subfolder per
/// board.
pub const DEFAULT_DIR: &str = "target/firmware";

/// A firmware image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// `program-variant`.
    pub name: String,
    /// Its content.
    pub elf: Vec<u8>,
}

/// Why an image is not available.
#[derive(Debug, thiserror::Error)]
pub enum FirmwareError {
    /// The file does not exist.
    #[error("there is no firmware {}: `cargo xtask firmware {program} {variant} --board {board}` builds it", path.display())]
    Missing {
        /// The expected path.
        path: PathBuf,
        /// The board.
        board: String,
        /// The program.
        program: String,
        /// The variant.
        variant: String,
    },
    /// An image of a Linux system does not exist.
    #[error("there is no {}: `cargo xtask linux-board` downloads Debian's kernel and programs, and makes it", path.display())]
    MissingLinux {
        /// The expected path.
        path: PathBuf,
    },
    /// The file exists but cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
}

/// Reads `program` of `variant` from the folder of `board` in `dir`.
///
/// # Errors
/// [`FirmwareError`] names the missing file and the command that builds it.
pub fn find(dir: &Path, board: &str, program: &str, variant: &str) -> Result<Image, FirmwareError> {
    let name = format!("{program}-{variant}");
    let path = dir.join(board).join(format!("{name}.elf"));
    match input::read(&path, MAX_CONTENT) {
        Ok(elf) => Ok(Image { name, elf }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(FirmwareError::Missing {
            path,
            board: board.to_owned(),
            program: program.to_owned(),
            variant: variant.to_owned(),
        }),
        Err(error) => Err(FirmwareError::Io { path, error }),
    }
}

/// Reads the `kernel` of the Linux system of `board` from its folder in `dir`.
///
/// # Errors
/// [`FirmwareError`] names the missing file and the command that makes it.
pub fn find_linux(dir: &Path, board: &str, kernel: &str) -> Result<Image, FirmwareError> {
    let path = linux_image(dir, board, kernel)?;
    input::read(&path, MAX_CONTENT)
        .map(|elf| Image {
            name: kernel.to_owned(),
            elf,
        })
        .map_err(|error| FirmwareError::Io { path, error })
}

/// Path of the image called `name` of the Linux system of `board`.
///
/// # Errors
/// [`FirmwareError::MissingLinux`].
pub fn linux_image(dir: &Path, board: &str, name: &str) -> Result<PathBuf, FirmwareError> {
    let path = dir.join(board).join(name);
    if path.is_file() {
        Ok(path)
    } else {
        Err(FirmwareError::MissingLinux { path })
    }
}

/// SHA-256 of `bytes` in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut hex, byte| {
            // Writing to a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_firmware_comes_with_the_command_that_builds_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let error = find(dir.path(), "a-board", "ping", "windowed")
            .expect_err("nothing there")
            .to_string();
        assert!(
            error.ends_with(
                "a-board/ping-windowed.elf: \
                 `cargo xtask firmware ping windowed --board a-board` builds it"
            ),
            "{error}"
        );
        std::fs::create_dir(dir.path().join("a-board")).expect("made");
        std::fs::write(dir.path().join("a-board/ping-windowed.elf"), b"abc").expect("written");
        assert_eq!(
            find(dir.path(), "a-board", "ping", "windowed")
                .expect("there")
                .elf,
            b"abc"
        );
    }

    #[test]
    fn sha256_is_the_known_one() {
        // FIPS 180-4, example "abc".
        assert_eq!(
            sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
