//! A link with an urgent channel for messages of 24 octets and a bulk channel for messages of 256, in static memory. With
//! `self-test` it tests itself on a third channel, and can find the highest bit rate.

use core::hint::black_box;
use core::mem::MaybeUninit;

use linerate_link::{Channel, Config, Instant, Link, memory_octets};
#[cfg(feature = "self-test")]
use linerate_link::{SelfTest, self_test::SelfTestConfig};

const URGENT: usize = memory_octets(24);
const BULK: usize = memory_octets(256);

/// Static memory, so that its size is in the ELF's symbols.
static mut URGENT_MEMORY: [[u8; URGENT]; 2] = [[0; URGENT]; 2];
static mut BULK_MEMORY: [[u8; BULK]; 2] = [[0; BULK]; 2];

#[cfg(not(feature = "self-test"))]
const CHANNELS: usize = 2;
#[cfg(feature = "self-test")]
const CHANNELS: usize = 3;

#[cfg(feature = "self-test")]
static mut TEST_MEMORY: [[u8; BULK]; 2] = [[0; BULK]; 2];
#[cfg(feature = "self-test")]
static mut TEST: MaybeUninit<SelfTest> = MaybeUninit::uninit();

static mut LINK: MaybeUninit<Link<&'static mut [u8], CHANNELS>> = MaybeUninit::uninit();

/// The static variable at `place`.
///
/// # Safety
/// To be called once for each.
unsafe fn take<T>(place: *mut T) -> &'static mut T {
    // SAFETY: the variable lives as long as the program, and nothing else refers to it.
    unsafe { &mut *place }
}

/// Makes every call of a program with a link.
///
/// # Safety
/// To be called once: it takes the static memory.
pub unsafe fn run() {
    // SAFETY: only this function names them, and it is called once.
    let ([urgent_out, urgent_in], [bulk_out, bulk_in], place) = unsafe {
        (
            take(&raw mut URGENT_MEMORY),
            take(&raw mut BULK_MEMORY),
            take(&raw mut LINK),
        )
    };
    #[cfg(feature = "self-test")]
    // SAFETY: the same.
    let ([test_out, test_in], test) = unsafe { (take(&raw mut TEST_MEMORY), take(&raw mut TEST)) };
    #[cfg(feature = "self-test")]
    let Ok(test) =
        SelfTest::new(SelfTestConfig::new(2, black_box(100_000))).map(|new| test.write(new))
    else {
        return;
    };
    let link = place.write(Link::new(
        Config::new(black_box(1)),
        [
            Channel::reliable(urgent_out, urgent_in),
            Channel::unreliable(bulk_out, bulk_in),
            #[cfg(feature = "self-test")]
            Channel::unreliable(test_out, test_in),
        ],
    ));
    loop {
        let now = Instant::from_us(black_box(1));
        let mut wire = black_box([0; 16]);
        #[cfg(not(feature = "self-test"))]
        {
            link.receive(now, &wire);
            black_box(link.transmit(now, &mut wire));
        }
        #[cfg(feature = "self-test")]
        {
            test.receive(now, link, &wire);
            black_box(test.transmit(now, link, &mut wire));
            black_box(test.poll(now, link));
            test.find_highest_rate(black_box(100));
            black_box((test.changes().next(), test.figures(), test.baseline()));
        }
        black_box(&wire);
        let _ = black_box(link.send(black_box(0), &wire));
        black_box(link.read(black_box(1), &mut wire));
        #[cfg(not(feature = "self-test"))]
        black_box(link.event());
        #[cfg(feature = "self-test")]
        if let Some(event) = link.event() {
            test.on_event(&event);
        }
        black_box(link.next_timeout());
        black_box(link.probe());
        black_box(link.counters());
        black_box(link.lost(black_box(1)));
    }
}
