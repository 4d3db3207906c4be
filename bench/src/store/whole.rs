//! Files that are whole or not there.

use std::io::{self, Write as _};
use std::path::Path;

/// Names of files that are not whole yet.
const PREFIX: &str = ".linerate-";
const SUFFIX: &str = ".tmp";

/// Replaces the file at `path` by one with `content`: at any moment, also after a kill or on a full disk, it holds
/// either the earlier content or all of `content`. What is no regular file (a pipe, a terminal) is written directly.
///
/// It does not wait for the disk: fsync(2) would wait for what all other programs write, longer than a command may take. So
/// the promise is for local file systems and a machine that goes on: after a power failure or a crash of the kernel both
/// contents may be lost, and a network file system may report a full disk only after the earlier content is replaced.
///
/// # Errors
/// The system's error; the earlier file, if any, is unchanged.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    // A link is kept, and its target replaced.
    let target = std::fs::canonicalize(path);
    let path = target.as_deref().unwrap_or(path);
    if path.exists() && !path.is_file() {
        return std::fs::write(path, content);
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    // As for any other new file: the umask limits it.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(content)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Removes the parts of files that a killed program left in `folder`.
///
/// # Errors
/// The system's error.
pub fn remove_parts(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_part = |name: &str| name.starts_with(PREFIX) && name.ends_with(SUFFIX);
        if name.to_str().is_some_and(is_part) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::write;

    #[test]
    fn an_earlier_file_is_replaced_as_a_whole() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("run.json");
        write(&path, b"long content of an earlier run").expect("written");
        write(&path, b"short").expect("written");
        assert_eq!(std::fs::read(&path).expect("readable"), b"short");
        let names = std::fs::read_dir(dir.path()).expect("readable");
        assert_eq!(names.count(), 1, "a temporary file was left");
    }

    #[cfg(unix)]
    #[test]
    fn whoever_reads_the_earlier_file_reads_nothing_of_the_new_one() {
        use std::io::Read as _;

        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("run.json");
        write(&path, b"earlier").expect("written");
        let mut earlier = std::fs::File::open(&path).expect("readable");
        write(&path, b"new").expect("written");
        let mut text = String::new();
        earlier.read_to_string(&mut text).expect("readable");
        assert_eq!(text, "earlier");
    }

    #[test]
    #[cfg(unix)]
    fn others_may_read_it_and_a_link_stays_a_link() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().expect("a folder");
        let (path, link) = (dir.path().join("a"), dir.path().join("b"));
        let plain = dir.path().join("plain");
        write(&path, b"1").expect("written");
        std::fs::write(&plain, b"1").expect("written");
        let mode = |path| std::fs::metadata(path).expect("there").permissions().mode();
        assert_eq!(mode(&path), mode(&plain));
        std::os::unix::fs::symlink(&path, &link).expect("linked");
        write(&link, b"2").expect("written");
        assert_eq!(std::fs::read(&path).expect("readable"), b"2");
        assert!(link.is_symlink());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_no_file_is_written_directly() {
        write("/dev/null".as_ref(), b"1").expect("written");
        let error = write("/dev/full".as_ref(), b"1").expect_err("full");
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    }
}
