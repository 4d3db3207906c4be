//! TCP windows that this end announces, from a capture of its frames.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::Path;
use xtask::sh;

/// Shell script that starts a capture to `file` in its namespace; the process is `$capture`.
pub fn script(file: &Path) -> String {
    let file = file.display();
    // The interface of `linerate relay --namespaces`. The capture has started once the file has its header.
    format!(
        "rm -f {file}; dumpcap -q -i eth0 -s 128 -f tcp -w {file} 2>/dev/null & capture=$!; \
         until [ -s {file} ]; do kill -0 $capture || exit 1; sleep 0.05; done;"
    )
}

/// Median of the windows that `source` announced on each connection, octets, in the order in which the
/// connections were opened.
pub fn windows(file: &Path, source: &str) -> Result<Vec<f64>> {
    let announced = format!("ip.src == {source} && tcp.flags.syn == 0 && tcp.flags.reset == 0");
    let mut tshark = sh::cmd("tshark");
    tshark.arg("-r").arg(file).args(["-Y", &announced]);
    tshark.args(["-T", "fields", "-e", "tcp.stream", "-e", "tcp.window_size"]);
    let fields = sh::read(&mut tshark)?;
    let mut connections = BTreeMap::<u32, Vec<u32>>::new();
    for line in fields.lines() {
        let (stream, window) = line
            .split_once('\t')
            .context("tshark printed fewer than two fields")?;
        let windows = connections.entry(stream.parse()?).or_default();
        windows.push(window.parse()?);
    }
    let median = |mut windows: Vec<u32>| {
        windows.sort_unstable();
        f64::from(windows[windows.len() / 2])
    };
    Ok(connections.into_values().map(median).collect())
}
