//! Tests with scripted servers.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::Duration;

use linerate_regs_decode::live::{Memory as _, MemoryError};

use super::packet::packet;
use super::{Gdb, GdbError, Stream};

/// Long enough for any host; no test waits for it.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A server that answers each packet with the result of `answer`, and ends with the connection.
fn server(
    answer: impl Fn(&str) -> Vec<u8> + Send + 'static,
) -> (Box<dyn Stream>, JoinHandle<Vec<String>>) {
    let (ours, mut theirs) = UnixStream::pair().expect("a pair");
    let serve = move || {
        let mut asked = Vec::new();
        let mut reader = super::Reader::default();
        let mut octet = [0];
        while theirs.read(&mut octet).is_ok_and(|octets| octets == 1) {
            if let Some(super::Message::Packet(body)) = reader.feed(octet[0]) {
                let body = String::from_utf8(body).expect("text");
                let _ = theirs.write_all(&answer(&body));
                asked.push(body);
            }
        }
        asked
    };
    (Box::new(ours), std::thread::spawn(serve))
}

fn acknowledged(body: &str) -> Vec<u8> {
    [b"+".to_vec(), packet(body)].concat()
}

/// As a minimal server.
fn plain(asked: &str) -> Vec<u8> {
    acknowledged(match asked {
        "?" => "S05",
        "D" | "M1001000e,2:0200" => "OK",
        "m2188084,4" => "6402ee05",
        "m2188088,4" => "E14",
        "m10,1" => "80",
        "M0,4:01000000" => "E22",
        _ => "",
    })
}

#[test]
fn memory_is_read_and_written() {
    let (stream, serving) = server(plain);
    let mut gdb = Gdb::begin(stream, TIMEOUT).expect("attached");
    assert_eq!(gdb.read(0x0218_8084, 32), Ok(0x05ee_0264));
    assert_eq!(gdb.read(0x10, 8), Ok(0x80));
    assert_eq!(gdb.write(0x1001_000e, 16, 2), Ok(()));
    let refused =
        |why: &str| MemoryError::Refused(format!("the device does not answer there ({why})"));
    assert_eq!(gdb.read(0x0218_8088, 32), Err(refused("E14")));
    assert_eq!(gdb.write(0, 32, 1), Err(refused("E22")));
    let none = MemoryError::Lost("the gdb server gives no access to memory".to_owned());
    assert_eq!(gdb.read(4, 32), Err(none));
    gdb.detach().expect("detached");
    let asked = serving.join().expect("a server");
    assert_eq!(asked[..3], ["qSupported", "?", "Qqemu.PhyMemMode:1"]);
    assert_eq!(asked.last().map(String::as_str), Some("D"));
}

#[test]
fn unsolicited_messages_are_ignored() {
    let (stream, _) = server(|asked| {
        let mut noise = packet("T02thread:01;");
        noise.extend(packet("O48656c6c6f"));
        noise.extend(b"%Stop:T05#7f");
        noise.extend(plain(asked));
        noise
    });
    let mut gdb = Gdb::begin(stream, TIMEOUT).expect("attached");
    assert_eq!(gdb.read(0x0218_8084, 32), Ok(0x05ee_0264));
    gdb.detach().expect("detached");
}

#[test]
fn a_corrupted_packet_is_requested_again_a_limited_number_of_times() {
    let (ours, mut theirs) = UnixStream::pair().expect("a pair");
    let attached = std::thread::spawn(move || Gdb::begin(Box::new(ours), TIMEOUT).map(drop));
    theirs.write_all(b"-+$OK#00").expect("written");
    let mut sent = vec![0; 2 * packet("qSupported").len() + 1];
    theirs.read_exact(&mut sent).expect("read");
    assert_eq!(
        sent,
        [packet("qSupported"), packet("qSupported"), b"-".to_vec()].concat()
    );
    theirs.write_all(&b"$OK#00".repeat(4)).expect("written");
    let error = attached.join().expect("no panic").expect_err("damaged");
    assert!(
        error.to_string().contains("sends corrupted packets"),
        "{error}"
    );

    let (stream, _) = server(|_| b"-".to_vec());
    let error = Gdb::begin(stream, TIMEOUT).map(drop).expect_err("refused");
    assert!(
        error.to_string().contains("rejects every packet"),
        "{error}"
    );
}

#[test]
fn a_silent_or_endless_server_times_out() {
    let short = Duration::from_millis(20);
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    let error = Gdb::begin(Box::new(ours), short)
        .map(drop)
        .expect_err("silent");
    assert!(
        error.to_string().contains("gives no answer within 0.02 s"),
        "{error}"
    );
    drop(theirs);

    let (ours, mut theirs) = UnixStream::pair().expect("a pair");
    let chatter = std::thread::spawn(move || while theirs.write_all(b"++++").is_ok() {});
    let error = Gdb::begin(Box::new(ours), short)
        .map(drop)
        .expect_err("chatter");
    assert!(error.to_string().contains("gives no answer"), "{error}");
    chatter.join().expect("it ends with the connection");
}

#[test]
fn a_closed_connection_and_a_missing_server_are_errors() {
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    drop(theirs);
    let error = Gdb::begin(Box::new(ours), TIMEOUT)
        .map(drop)
        .expect_err("gone");
    assert!(matches!(error, GdbError::Protocol(_)), "{error}");

    let (stream, _) = server(|asked| match asked {
        "?" => acknowledged("W00"),
        _ => acknowledged(""),
    });
    let error = Gdb::begin(stream, TIMEOUT).map(drop).expect_err("ended");
    assert!(error.to_string().contains("has ended"), "{error}");

    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    drop(listener);
    let error = Gdb::attach(&address, TIMEOUT)
        .map(drop)
        .expect_err("nobody");
    let start = format!("no gdb server at {address}: ");
    assert!(error.to_string().starts_with(&start), "{error}");
}
