//! Debian packages for another architecture, downloaded with an apt of their own: the system's lists, packages and
//! architectures stay as they are.

use crate::sh;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::Command;

const ARCHITECTURE: &str = "armhf";
/// The package that depends on the current kernel.
const KERNEL: &str = "linux-image-armmp";
/// Programs, and the libraries that they are linked with.
const PACKAGES: [&str; 11] = [
    "busybox-static",
    "ethtool",
    "iperf",
    "iperf3",
    "libc6",
    "libgcc-s1",
    "libiperf0",
    "libmnl0",
    "libsctp1",
    "libssl3",
    "libstdc++6",
];

/// Downloads what `folder` has not yet, and unpacks everything to `system`. Returns the packages' file names, which have
/// their versions.
///
/// # Errors
/// apt or dpkg-deb is missing, or fails.
pub fn unpack(folder: &Path, system: &Path) -> Result<Vec<String>> {
    let debs = folder.join("debs");
    fs::create_dir_all(&debs)?;
    if files(&debs)?.len() <= PACKAGES.len() {
        download(folder, &debs)?;
    }
    let names = files(&debs)?;
    fs::create_dir_all(system)?;
    for name in &names {
        let mut unpack = sh::cmd("dpkg-deb");
        sh::read(unpack.arg("-x").arg(debs.join(name)).arg(system))?;
    }
    Ok(names)
}

fn download(folder: &Path, debs: &Path) -> Result<()> {
    let conf = folder.join("apt.conf");
    for needed in ["lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(folder.join(needed))?;
    }
    fs::write(folder.join("status"), "")?;
    let at = folder.display();
    fs::write(
        &conf,
        format!(
            "APT::Architecture \"{ARCHITECTURE}\";\n\
             APT::Architectures {{ \"{ARCHITECTURE}\"; }};\n\
             APT::Sandbox::User \"\";\n\
             Acquire::IndexTargets::deb::DEP-11::DefaultEnabled \"false\";\n\
             Acquire::Languages \"none\";\n\
             Dir::State \"{at}\";\n\
             Dir::State::lists \"{at}/lists\";\n\
             Dir::State::status \"{at}/status\";\n\
             Dir::Cache \"{at}/cache\";\n"
        ),
    )?;
    let apt = |program: &str| -> Command {
        let mut apt = sh::cmd(program);
        apt.env("APT_CONFIG", &conf).current_dir(debs);
        apt
    };
    println!("downloading Debian packages for {ARCHITECTURE} (50 MB)");
    // One of several lists may be out of date at the server: only a package that is not found matters.
    let updated = sh::read(apt("apt-get").args(["update", "-q"]));
    let depends = sh::read(apt("apt-cache").args(["depends", KERNEL]));
    let depends = depends.map_err(|error| updated.err().unwrap_or(error));
    let depends = depends.context("this needs Debian 12 with apt, whose kernel is Linux 6.1")?;
    let kernel = depends
        .lines()
        .find_map(|line| line.trim().strip_prefix("Depends: linux-image-"))
        .with_context(|| format!("{KERNEL} depends on no kernel"))?;
    let kernel = format!("linux-image-{}", kernel.trim());
    sh::read(
        apt("apt-get")
            .args(["download", "-q", &kernel])
            .args(PACKAGES),
    )?;
    Ok(())
}

/// The names of the packages in `folder`, sorted.
fn files(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "deb") {
            names.extend(path.file_name().map(|it| it.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}
