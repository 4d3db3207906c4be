//! A link with an urgent channel for messages of 24 octets and a bulk channel for messages of 256, in static memory. With
//! `self-test` it tests itself on a third channel, and can find the highest bit rate.

use core::cell::UnsafeCell;
use core::hint::black_box;
use core::mem::MaybeUninit;

use linerate_link::{Channel, Config, Instant, Link, memory_octets};
#[cfg(feature = "self-test")]
use linerate_link::{SelfTest, self_test::SelfTestConfig};

/// Memory for the link: its size is in the ELF's symbols.
struct Place<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: the program has one thread, and `run` fills each place once.
unsafe impl<T> Sync for Place<T> {}

impl<T> Place<T> {
    const fn new() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    fn put(&'static self, value: T) -> &'static mut T {
        // SAFETY: called once for each place, by the only thread.
        unsafe { (*self.0.get()).write(value) }
    }
}

const URGENT: usize = memory_octets(24);
const BULK: usize = memory_octets(256);

static URGENT_MEMORY: Place<[[u8; URGENT]; 2]> = Place::new();
static BULK_MEMORY: Place<[[u8; BULK]; 2]> = Place::new();

#[cfg(not(feature = "self-test"))]
const CHANNELS: usize = 2;
#[cfg(feature = "self-test")]
const CHANNELS: usize = 3;

#[cfg(feature = "self-test")]
static TEST_MEMORY: Place<[[u8; BULK]; 2]> = Place::new();
#[cfg(feature = "self-test")]
static TEST: Place<SelfTest> = Place::new();

static LINK: Place<Link<&'static mut [u8], CHANNELS>> = Place::new();

/// Makes every call of a program with a link.
pub fn run() {
    let [urgent_out, urgent_in] = URGENT_MEMORY.put([[0; URGENT]; 2]);
    let [bulk_out, bulk_in] = BULK_MEMORY.put([[0; BULK]; 2]);
    #[cfg(feature = "self-test")]
    let [test_out, test_in] = TEST_MEMORY.put([[0; BULK]; 2]);
    #[cfg(feature = "self-test")]
    let Ok(test) = SelfTest::new(SelfTestConfig::new(2, black_box(100_000))).map(|t| TEST.put(t))
    else {
        return;
    };
    let link = LINK.put(Link::new(
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
