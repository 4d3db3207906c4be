//! What Linux says of the datagrams that found no room in a socket.

/// Drops of the sockets at local `port`, as `/proc/net/udp` and `/proc/net/udp6` list them (proc(5));
/// `None`: this system does not say, or has no such socket.
pub fn of_port(port: u16) -> Option<u64> {
    let read = |file| std::fs::read_to_string(file).unwrap_or_default();
    let both = read("/proc/net/udp") + &read("/proc/net/udp6");
    of_table(&both, port)
}

/// The same, of the tables' text.
pub(in crate::load) fn of_table(table: &str, port: u16) -> Option<u64> {
    let port = format!(":{port:04X}");
    let drops = |line: &str| {
        let mut words = line.split_whitespace();
        let local = words.nth(1)?;
        local.ends_with(&port).then(|| words.last()?.parse().ok())?
    };
    table.lines().filter_map(drops).reduce(|a: u64, b| a + b)
}
