//! Starts the chosen driver and the stack on it.

use embassy_executor::Spawner;
use embassy_net::{Config, Ipv4Address, Ipv4Cidr, Runner, Stack, StackResources, StaticConfigV4};
use embassy_net_wiznet::chip::W5500 as Chip;
use embassy_net_wiznet::{Device as WiznetDevice, Runner as WiznetRunner, State};
use embassy_time::{Delay, Timer};
use embedded_hal_bus::spi::ExclusiveDevice;
use esp_hal::gpio::{Input, InputConfig, Level, Output, OutputConfig, Pull};
use esp_hal::peripherals::{DMA_CH0, GPIO, GPIO2, GPIO3, GPIO6, GPIO7, GPIO10, GPIO11, SPI2};
use esp_hal::spi::Mode;

use esp_hal::spi::master::{Config as SpiConfig, Spi, SpiDma};
use esp_hal::time::Rate;
use esp_hal::{Async, Blocking, dma_rx_buffer, dma_tx_buffer};
use linerate_ether::frame::MacAddress;
use linerate_nic::adapter::embassy::{Adapter, AtomicWaker};
use linerate_nic::device::LinkState;
use linerate_nic::w5500::{FRAME_BUFFER, Settings, SpiTransport, Transport, W5500};
use static_cell::{ConstStaticCell, StaticCell};

use crate::LINERATE_LEDGER;
use crate::console::{Choice, Driver};
use crate::dma::{DmaTransport, RxBuffer, TxBuffer};
use crate::naive::ByteTransport;

/// The station's addresses.
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];
const ADDRESS: Ipv4Cidr = Ipv4Cidr::new(Ipv4Address::new(169, 254, 10, 2), 16);
/// GPIO of the interrupt pin.
const INTERRUPT: u32 = 11;
/// Sockets of the programs.
const SOCKETS: usize = 5;
/// Frames in each queue of embassy-net-wiznet: as in its example.
const FRAMES: usize = 8;
/// Octets of the copies that esp-hal's slice functions make where DMA cannot access a slice.
const COPY: usize = 2048;

/// What the W5500 is connected to.
pub struct Wires {
    /// The controller.
    pub spi: SPI2<'static>,
    /// Its DMA channel, if it is used.
    pub dma: DMA_CH0<'static>,
    /// SCLK.
    pub clock: GPIO6<'static>,
    /// MOSI.
    pub mosi: GPIO7<'static>,
    /// MISO.
    pub miso: GPIO2<'static>,
    /// SCSn.
    pub select: GPIO10<'static>,
    /// INTn.
    pub interrupt: GPIO11<'static>,
    /// RSTn.
    pub reset: GPIO3<'static>,
}

type Fifo = ExclusiveDevice<Spi<'static, Async>, Output<'static>, Delay>;
type WithDma = ExclusiveDevice<SpiDma<'static, Async>, Output<'static>, Delay>;
type Loop = ExclusiveDevice<Spi<'static, Blocking>, Output<'static>, Delay>;
type Wiznet<S> = WiznetRunner<'static, Chip, S, Input<'static>, Output<'static>>;
type Ours<T> = Adapter<'static, W5500<T, fn() -> bool>>;
type Bytes = ByteTransport<Spi<'static, Blocking>, Output<'static>>;

/// Wakes the stack for the drivers of `linerate-nic`.
static WAKER: AtomicWaker = AtomicWaker::new();

/// Starts the driver and the stack.
///
/// # Panics
/// If the W5500 does not answer.
pub async fn start(spawner: Spawner, choice: &Choice, wires: Wires) -> Stack<'static> {
    let config = SpiConfig::default()
        .with_frequency(Rate::from_hz(choice.hertz))
        .with_mode(Mode::_0)
        .with_min_async_transfer_size(choice.min_async_octets);
    let spi = Spi::new(wires.spi, config)
        .expect("a possible clock")
        .with_sck(wires.clock)
        .with_mosi(wires.mosi)
        .with_miso(wires.miso);
    let select = Output::new(wires.select, Level::High, OutputConfig::default());
    let mut reset = Output::new(wires.reset, Level::High, OutputConfig::default());
    let interrupt = InputConfig::default().with_pull(Pull::Up);
    let interrupt = Input::new(wires.interrupt, interrupt);
    match choice.driver {
        Driver::Wiznet => {
            let spi = ExclusiveDevice::new(spi.into_async(), select, Delay);
            let spi = spi.expect("the pin is an output");
            let (device, runner) = wiznet(spi, interrupt, reset).await;
            spawner.spawn(wiznet_fifo(runner).expect("started once"));
            let (stack, runner) = stack(device);
            spawner.spawn(net_wiznet(runner).expect("started once"));
            stack
        }
        Driver::WiznetDma => {
            let copies = (dma_rx_buffer!(COPY), dma_tx_buffer!(COPY));
            let (Ok(rx), Ok(tx)) = copies else {
                panic!("buffers fit")
            };
            let spi = spi.with_dma(wires.dma).with_buffers(rx, tx).into_async();
            let spi = ExclusiveDevice::new(spi, select, Delay).expect("the pin is an output");
            let (device, runner) = wiznet(spi, interrupt, reset).await;
            spawner.spawn(wiznet_dma(runner).expect("started once"));
            let (stack, runner) = stack(device);
            spawner.spawn(net_wiznet(runner).expect("started once"));
            stack
        }
        Driver::Bytes => {
            restart(&mut reset).await;
            let transport = ByteTransport::new(spi, select);
            let device = ours(transport, frame_buffers(), false, spawner, interrupt).await;
            let (stack, runner) = stack(device);
            spawner.spawn(net_bytes(runner).expect("started once"));
            stack
        }
        Driver::Burst => {
            restart(&mut reset).await;
            let spi = ExclusiveDevice::new(spi, select, Delay).expect("the pin is an output");
            let transport = SpiTransport::new(spi);
            let device = ours(transport, frame_buffers(), false, spawner, interrupt).await;
            let (stack, runner) = stack(device);
            spawner.spawn(net_burst(runner).expect("started once"));
            stack
        }
        Driver::Dma | Driver::Ahead => {
            restart(&mut reset).await;
            let copies = (dma_rx_buffer!(COPY), dma_tx_buffer!(COPY));
            let (Ok(rx), Ok(tx)) = copies else {
                panic!("buffers fit")
            };
            let spi = spi.with_dma(wires.dma).with_buffers(rx, tx);
            let transport = DmaTransport::new(spi, select);
            let ahead = choice.driver == Driver::Ahead;
            let device = ours(transport, dma_buffers(), ahead, spawner, interrupt).await;
            let (stack, runner) = stack(device);
            spawner.spawn(net_dma(runner).expect("started once"));
            stack
        }
    }
}

async fn restart(reset: &mut Output<'static>) {
    reset.set_low();
    Timer::after_millis(1).await;
    reset.set_high();
    Timer::after_millis(2).await;
}

fn stack<D: embassy_net::driver::Driver + 'static>(
    device: D,
) -> (Stack<'static>, Runner<'static, D>) {
    static RESOURCES: StaticCell<StackResources<SOCKETS>> = StaticCell::new();
    let address = StaticConfigV4 {
        address: ADDRESS,
        gateway: None,
        dns_servers: Default::default(),
    };
    let resources = RESOURCES.init(StackResources::new());
    embassy_net::new(device, Config::ipv4_static(address), resources, 1)
}

async fn wiznet<S: embedded_hal_async::spi::SpiDevice>(
    spi: S,
    interrupt: Input<'static>,
    reset: Output<'static>,
) -> (WiznetDevice<'static>, Wiznet<S>) {
    static STATE: StaticCell<State<FRAMES, FRAMES>> = StaticCell::new();
    let state = STATE.init(State::new());
    match embassy_net_wiznet::new(MAC, state, spi, interrupt, reset).await {
        Ok(started) => started,
        Err(_) => panic!("the W5500 does not answer"),
    }
}

async fn ours<T: Transport>(
    transport: T,
    buffers: ([T::RxBuffer; 2], [T::TxBuffer; 2]),
    reads_ahead: bool,
    spawner: Spawner,
    interrupt: Input<'static>,
) -> Ours<T> {
    let is_interrupted: fn() -> bool = || GPIO::regs().in_().read().bits() >> INTERRUPT & 1 == 0;
    let settings = Settings { reads_ahead };
    let address = MacAddress(MAC);
    let started = W5500::start(
        transport,
        is_interrupted,
        buffers,
        address,
        settings,
        &LINERATE_LEDGER,
    );
    let mut device = started.unwrap_or_else(|error| panic!("{error}"));
    while device.poll_link() == LinkState::Down {
        Timer::after_millis(10).await;
    }
    spawner.spawn(follow(interrupt).expect("started once"));
    Adapter::new(device, &WAKER)
}

type FrameBuffers = [&'static mut [u8; FRAME_BUFFER]; 2];

fn frame_buffers() -> (FrameBuffers, FrameBuffers) {
    static MEMORY: ConstStaticCell<[[u8; FRAME_BUFFER]; 4]> =
        ConstStaticCell::new([[0; FRAME_BUFFER]; 4]);
    let [first, second, third, fourth] = MEMORY.take();
    ([first, second], [third, fourth])
}

fn dma_buffers() -> ([RxBuffer; 2], [TxBuffer; 2]) {
    let rx = [dma_rx_buffer!(FRAME_BUFFER), dma_rx_buffer!(FRAME_BUFFER)];
    let tx = [dma_tx_buffer!(FRAME_BUFFER), dma_tx_buffer!(FRAME_BUFFER)];
    (
        rx.map(|buffer| RxBuffer(buffer.unwrap_or_else(|_| panic!("it fits")))),
        tx.map(|buffer| TxBuffer(buffer.unwrap_or_else(|_| panic!("it fits")))),
    )
}

/// Wakes the stack whenever the interrupt pin has become low.
#[embassy_executor::task]
async fn follow(mut interrupt: Input<'static>) -> ! {
    loop {
        interrupt.wait_for_low().await;
        WAKER.wake();
        interrupt.wait_for_high().await;
    }
}

#[embassy_executor::task]
async fn wiznet_fifo(runner: Wiznet<Fifo>) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn wiznet_dma(runner: Wiznet<WithDma>) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn net_wiznet(mut runner: Runner<'static, WiznetDevice<'static>>) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn net_bytes(mut runner: Runner<'static, Ours<Bytes>>) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn net_burst(mut runner: Runner<'static, Ours<SpiTransport<Loop>>>) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn net_dma(mut runner: Runner<'static, Ours<DmaTransport>>) -> ! {
    runner.run().await
}
