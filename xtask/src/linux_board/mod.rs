//! `cargo xtask linux-board`: Debian's own kernel and programs as the system of an emulated board, for
//! `qemu://linux-sabrelite`.
//!
//! The packages are downloaded, not installed, and nothing of them is in this tree: `target/linux-board` keeps them, and
//! the images are written to the board's folder in `target/firmware`.

mod cpio;
mod modules;
mod packages;

use crate::sh;
use anyhow::{Context, Result, ensure};
use cpio::Archive;
use std::fs;
use std::path::{Path, PathBuf};

/// The board's folder in `target/firmware`.
const BOARD: &str = "qemu-linux-sabrelite";
/// The kernel's description of QEMU's board.
const DEVICE_TREE: &str = "imx6q-sabrelite.dtb";
/// Kernel modules that the Ethernet controller needs: without its GPIOs and regulators the driver is never probed.
const MODULES: [&str; 4] = ["gpio_mxc", "anatop_regulator", "smsc", "fec"];
/// Programs of the packages, and their names in the image.
const PROGRAMS: [(&str, &str); 4] = [
    ("bin/busybox", "busybox"),
    ("usr/bin/iperf", "iperf"),
    ("usr/bin/iperf3", "iperf3"),
    ("sbin/ethtool", "ethtool"),
];
/// Empty folders, for file systems and temporary files.
const FOLDERS: [&str; 7] = ["bin", "lib", "modules", "proc", "sys", "dev", "tmp"];

/// Runs the command.
///
/// # Errors
/// A package cannot be downloaded, or has not what is expected.
pub fn run() -> Result<()> {
    let images = sh::out("firmware").join(BOARD);
    let folder = sh::out("linux-board");
    let system = folder.join("system");
    let packages = packages::unpack(&folder, &system)?;
    fs::create_dir_all(&images)?;
    let boot = |prefix: &str| find(&system.join("boot"), |name| name.starts_with(prefix));
    fs::copy(boot("vmlinuz-")?, images.join("vmlinuz"))?;
    let tree = find(&system.join("usr/lib"), |name| name == DEVICE_TREE)?;
    fs::copy(tree, images.join(DEVICE_TREE))?;
    fs::write(images.join("initramfs.cpio"), initramfs(&system)?)?;
    let mut versions = packages.join("\n");
    versions.push('\n');
    fs::write(images.join("packages.txt"), versions)?;
    println!(
        "{}: Linux, busybox, iperf, iperf3 and ethtool of {} Debian packages (packages.txt)\n\
         next: linerate test qemu://linux-sabrelite",
        format_args!("target/firmware/{BOARD}"),
        packages.len()
    );
    Ok(())
}

/// The root file system: programs, their libraries, modules, and `init`.
fn initramfs(system: &Path) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    for folder in FOLDERS {
        archive.folder(folder);
    }
    for (path, name) in PROGRAMS {
        archive.program(&format!("bin/{name}"), &read(&system.join(path))?);
    }
    for folder in ["lib", "usr/lib"] {
        for library in walk(&system.join(folder))? {
            if let Some(name) = library_name(&library) {
                archive.program(&format!("lib/{name}"), &read(&library)?);
            }
        }
    }
    let modules = modules::with_dependencies(system, &MODULES)?;
    for module in &modules {
        archive.file(&format!("modules/{}.ko", module.name), &module.content);
    }
    let names: Vec<&str> = modules.iter().map(|module| module.name.as_str()).collect();
    archive.program("init", init(&names).as_bytes());
    Ok(archive.finish())
}

/// The name by which programs ask for a library, `libNAME.so.NUMBER`, or the dynamic loader's; longer names are of the
/// files that these link to.
fn library_name(file: &Path) -> Option<&str> {
    // Folders below have libraries for tests and character sets.
    let is_at_top = file.parent()?.ends_with("arm-linux-gnueabihf");
    let name = file.file_name()?.to_str()?;
    let (_, version) = name.split_once(".so.")?;
    let is_asked_for = version.bytes().all(|octet| octet.is_ascii_digit());
    (is_at_top && is_asked_for).then_some(name)
}

/// The first program: it loads the modules, starts the servers, reports both on the console as firmware does, and
/// executes what is typed.
fn init(modules: &[&str]) -> String {
    include_str!("init.sh").replace("MODULES", &modules.join(" "))
}

/// The file below `folder` whose name is wanted.
fn find(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<PathBuf> {
    let mut files = walk(folder)?;
    files.retain(|file| {
        file.file_name()
            .is_some_and(|name| is_wanted(&name.to_string_lossy()))
    });
    ensure!(
        !files.is_empty(),
        "the packages have no such file below {}",
        folder.display()
    );
    Ok(files.swap_remove(0))
}

/// All files below `folder`, sorted.
fn walk(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::{init, library_name};
    use std::path::Path;

    #[test]
    fn libraries_have_the_names_that_programs_ask_for() {
        let name = |file| library_name(Path::new(file));
        assert_eq!(name("lib/arm-linux-gnueabihf/libc.so.6"), Some("libc.so.6"));
        assert_eq!(
            name("lib/arm-linux-gnueabihf/ld-linux-armhf.so.3"),
            Some("ld-linux-armhf.so.3")
        );
        assert_eq!(name("lib/arm-linux-gnueabihf/libmnl.so.0.2.0"), None);
        assert_eq!(name("lib/arm-linux-gnueabihf/gconv/libKSC.so.1"), None);
        assert_eq!(name("lib/arm-linux-gnueabihf/audit/sotruss-lib.so"), None);
    }

    #[test]
    fn init_loads_the_modules_in_order_and_reports_as_firmware_does() {
        let text = init(&["libphy", "smsc", "fec"]);
        assert!(text.contains("for module in libphy smsc fec; do"), "{text}");
        let reports = |event: &str| text.find(event).expect("reported");
        let (boot, listening) = (
            reports("event\\\":\\\"boot"),
            reports("\"event\":\"listening"),
        );
        assert!(boot < listening);
        // Otherwise a typed command would be taken for its answer.
        assert!(text.contains("stty -echo"), "{text}");
    }
}
