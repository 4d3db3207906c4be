//! What only the frames show: the TCP windows that this end announces.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::Path;
use xtask::sh;

/// Begins to capture to `file` in the namespace that a shell is in; its process is `$capture`.
pub fn script(file: &Path) -> String {
    let file = file.display();
    // The interface of `linerate relay --namespaces`. The file has its head when frames are taken.
    format!(
        "rm -f {file}; dumpcap -q -i eth0 -s 128 -f tcp -w {file} 2>/dev/null & capture=$!; \
         until [ -s {file} ]; do kill -0 $capture || exit 1; sleep 0.05; done;"
    )
}

/// The median of the windows that `source` announced on each connection, octets, in the order in which
/// the connections were opened.
pub fn windows(file: &Path, source: &str) -> Result<Vec<f64>> {
    let announced = format!("ip.src == {source} && tcp.flags.syn == 0 && tcp.flags.reset == 0");
    let mut tshark = sh::cmd("tshark");
    tshark.arg("-r").arg(file).args(["-Y", &announced]);
    tshark.args(["-T", "fields", "-e", "tcp.stream", "-e", "tcp.window_size"]);
    let told = sh::read(&mut tshark)?;
    let mut connections = BTreeMap::<u32, Vec<u32>>::new();
    for line in told.lines() {
        let (stream, window) = line.split_once('\t').context("no two fields of tshark")?;
        let windows = connections.entry(stream.parse()?).or_default();
        windows.push(window.parse()?);
    }
    let median = |mut windows: Vec<u32>| {
        windows.sort_unstable();
        f64::from(windows[windows.len() / 2])
    };
    Ok(connections.into_values().map(median).collect())
}
