use linerate_agent::iperf2::{Limits, Server};
use linerate_bench::host::{Driver, Settings};
use std::time::Duration;
fn main() {
    let port = std::env::args().nth(1).unwrap().parse().unwrap();
    let mut d = Driver::new(
        Server::<8>::new(port, Limits::default()),
        Settings::default(),
    )
    .unwrap();
    loop {
        d.turn(Duration::from_secs(1)).unwrap();
        while let Some(f) = d.service().take_finished() {
            println!("{f:?}");
        }
    }
}
