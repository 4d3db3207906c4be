//! Datagrams dropped by full sockets, as counted by Linux.

/// Drops of the sockets at local `port` from `/proc/net/udp` and `/proc/net/udp6` (proc(5)); `None` if
/// unavailable on this system, or without such a socket.
pub fn of_port(port: u16) -> Option<u64> {
    let read = |file| std::fs::read_to_string(file).unwrap_or_default();
    let both = read("/proc/net/udp") + &read("/proc/net/udp6");
    of_table(&both, port)
}

/// Drops of the sockets at local `port` in the text of the tables.
pub(in crate::load) fn of_table(table: &str, port: u16) -> Option<u64> {
    let port = format!(":{port:04X}");
    let drops = |line: &str| {
        let mut words = line.split_whitespace();
        let local = words.nth(1)?;
        local.ends_with(&port).then(|| words.last()?.parse().ok())?
    };
    table.lines().filter_map(drops).reduce(|a: u64, b| a + b)
}
