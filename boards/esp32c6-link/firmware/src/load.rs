//! An interrupt of higher priority that takes time: the rest of a firmware.

use core::cell::RefCell;
use core::sync::atomic::{AtomicU32, Ordering};
use critical_section::Mutex;
use esp_hal::Blocking;
use esp_hal::interrupt::Priority;
use esp_hal::peripherals::TIMG0;
use esp_hal::time::{Duration, Instant};
use esp_hal::timer::PeriodicTimer;
use esp_hal::timer::timg::TimerGroup;

static TIMER: Mutex<RefCell<Option<PeriodicTimer<'static, Blocking>>>> =
    Mutex::new(RefCell::new(None));
static LOAD_US: AtomicU32 = AtomicU32::new(0);

/// Interrupts for `load_us` each `period_us` from now on, unless one of them is 0.
pub fn start(timers: TIMG0<'static>, load_us: u32, period_us: u32) {
    if load_us == 0 || period_us == 0 {
        return;
    }
    LOAD_US.store(load_us, Ordering::Relaxed);
    // The handler must find the timer, or the interrupt would never be cleared.
    critical_section::with(|token| {
        let mut timer = PeriodicTimer::new(TimerGroup::new(timers).timer0);
        timer.set_interrupt_handler(take_time);
        timer
            .start(Duration::from_micros(period_us.into()))
            .expect("a period of less than an hour");
        timer.clear_interrupt();
        timer.listen();
        TIMER.borrow_ref_mut(token).replace(timer);
    });
}

#[esp_hal::handler(priority = Priority::Priority3)]
fn take_time() {
    let begin = Instant::now();
    critical_section::with(|token| {
        if let Some(timer) = TIMER.borrow_ref_mut(token).as_mut() {
            timer.clear_interrupt();
        }
    });
    let span = Duration::from_micros(LOAD_US.load(Ordering::Relaxed).into());
    while begin.elapsed() < span {
        core::hint::spin_loop();
    }
}
