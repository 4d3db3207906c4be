"""Controls: nothing is wrong. Only the limit of a healthy transfer may be named: `path-rate`, `at-line-rate`."""

import shlex

from model import ETHERNET, AT_BOTH, LEFT, RIGHT, Case, Draw, Program, Setup, bulk, into, iperf3, path, shaped

CASES: list[Case] = []
case = into(CASES)


@case("full-10m", "", "A link of 10 Mbit/s with a normal queue is full.")
def full_10m(draw: Draw) -> Setup:
    words = path(draw, 10e6, int(draw.between((25, 40), (30, 50))), draw.between((1, 4), (3, 8)), overhead=ETHERNET,
                 back_rate=10e6)
    return Setup(iperf3(4) if draw.frozen else bulk(""), relay=words)


@case("full-10m-download", "", "A download fills a link of 10 Mbit/s with a normal queue.")
def full_10m_download(draw: Draw) -> Setup:
    if draw.frozen:
        return Setup(iperf3(4, reverse=True), middle=[shaped(9.7e6, 55_000)],
                     congestion=draw.pick(["cubic"], ["reno", "cubic"]))
    words = path(draw, 10e6, 35, 2, overhead=ETHERNET, back_rate=10e6)
    return Setup(bulk("", download=True), relay=words)


@case("full-100m", "", "A link of 100 Mbit/s with a normal queue is full.")
def full_100m(draw: Draw) -> Setup:
    middle = [shaped(97e6, draw.pick([250_000], [180_000]), 8000), shaped(97e6, 180_000, 8000, "toleft")]
    return Setup(iperf3(2, reverse=draw.frozen) if draw.frozen else bulk("", seconds=2), middle=middle)


@case("fast-veth", "", "As fast as the machine, with the segments that interfaces with offload show.")
def fast_veth(draw: Draw) -> Setup:
    size = draw.pick([30e6], [60e6])
    return Setup(bulk(f"bytes={size}", download=draw.frozen), offload=True, timestamps=not draw.frozen)


@case("short-transfer", "", "A short transfer over a short path: a few round trips, nothing to gain.", kinds=AT_BOTH)
def short_transfer(draw: Draw) -> Setup:
    size = int(draw.between((20e3, 60e3), (8e3, 90e3)))
    words = path(draw, 50e6, 200, draw.between((1, 3), (2, 5)))
    return Setup(bulk(f"bytes={size}", download=True), relay=words)


@case("short-transfers", "", "Several short transfers, one connection each, with pauses as a person makes them.")
def short_transfers(draw: Draw) -> Setup:
    count, think = draw.pick([5], [4]), draw.between((500, 900), (900, 1300))
    programs = [Program("left", "answer reply=30000"),
                Program("right", f"ask to={LEFT} reply=30000 count={count} fresh=1 think_ms={think:.0f}", awaited=True)]
    return Setup(programs, relay=path(draw, 50e6, 200, draw.between((1, 3), (2, 5))))


def web(draw: Draw, sizes: list[int], wait: float) -> list[Program]:
    """python's HTTP server at the left end, curl at the right."""
    folder = f"/tmp/links-web-{draw.tag}"
    make = "; ".join(f"head -c {it} /dev/zero > {folder}/{n}" for n, it in enumerate(sizes))
    serve = (f"mkdir -p {folder}; {make}; python3 -m http.server -d {folder} 8000 & server=$!; "
             f"trap 'kill $server; rm -r {folder}' EXIT; trap exit TERM; wait")
    get = f"; sleep {wait}; ".join(f"curl -s -m 8 -o /dev/null http://{LEFT}:8000/{n}" for n in range(len(sizes)))
    return [Program("left", f"!sh -c {shlex.quote(serve)}"),
            Program("right", f"!sh -c {shlex.quote('sleep 0.7; ' + get)}", awaited=True)]


@case("http-files", "", "Some files are fetched with curl from python's HTTP server, at the rate of a good link.")
def http_files(draw: Draw) -> Setup:
    sizes = draw.pick([[400_000, 900_000, 250_000]], [[1_200_000, 300_000], [700_000, 700_000, 50_000]])
    return Setup(web(draw, sizes, 0.5), relay=path(draw, 20e6, 80, draw.between((2, 5), (3, 8)), overhead=ETHERNET))


@case("http-one-file", "", "One file is fetched over a link of 10 Mbit/s, which it fills.")
def http_one_file(draw: Draw) -> Setup:
    return Setup(web(draw, draw.pick([[3_000_000]], [[4_500_000]]), 0.1), timestamps=not draw.frozen,
                 relay=path(draw, 10e6, 40, draw.between((1, 3), (2, 5)), overhead=ETHERNET))


@case("human-pace", "", "A person asks, reads the answer, and asks again.")
def human_pace(draw: Draw) -> Setup:
    reply, think = draw.pick([2500], [900, 6000]), draw.between((900, 1200), (1000, 1500))
    programs = [Program("left", f"answer reply={reply}"),
                Program("right", f"ask to={LEFT} reply={reply} count=5 vary=0.5 think_ms={think:.0f} seed={draw.tag}",
                        awaited=True)]
    return Setup(programs, relay=path(draw, 50e6, 200, draw.between((2, 8), (5, 12))))


@case("terminal", "", "Typing at a terminal, with echo.")
def terminal(draw: Draw) -> Setup:
    programs = [Program("right", "echo"),
                Program("left", f"type to={RIGHT} seconds={draw.pick([5], [7])} seed={draw.tag}", awaited=True)]
    return Setup(programs, relay=path(draw, 50e6, 200, draw.between((3, 10), (10, 25))))


@case("keep-alive", "", "A connection without data is kept open.")
def keep_alive(draw: Draw) -> Setup:
    words = f"keep-alive to={RIGHT} seconds={draw.pick([5], [7])} write={draw.pick([200], [60])}"
    programs = [Program("right", "absorb seconds=9"), Program("left", words, awaited=True)]
    return Setup(programs, relay=path(draw, 50e6, 200, draw.between((3, 10), (10, 25))))


@case("iperf3-upload", "", "iperf3 with its control connection fills a link of 10 Mbit/s.")
def iperf3_upload(draw: Draw) -> Setup:
    words = path(draw, 10e6, 40, draw.between((1, 3), (3, 6)), overhead=ETHERNET)
    return Setup(iperf3(4), relay=words, timestamps=not draw.frozen)


@case("iperf3-parallel", "", "Three streams of iperf3 share a link of 10 Mbit/s.")
def iperf3_parallel(draw: Draw) -> Setup:
    words = path(draw, 10e6, 45, draw.between((2, 4), (4, 8)), overhead=ETHERNET)
    return Setup(iperf3(4, f"-P {draw.pick([3], [2, 4])}", reverse=draw.frozen), relay=words)


@case("iperf2-upload", "", "iperf 2 fills a link of 10 Mbit/s.")
def iperf2_upload(draw: Draw) -> Setup:
    programs = [Program("right", "!iperf -s"), Program("left", f"!iperf -c {RIGHT} -t 4", awaited=True)]
    words = path(draw, 10e6, 40, draw.between((1, 3), (3, 6)), overhead=ETHERNET)
    return Setup(programs, relay=words, congestion=draw.pick(["cubic"], ["reno"]))


@case("video", "", "A camera sends pictures at its own rate, well within the path's.")
def video(draw: Draw) -> Setup:
    picture = draw.between((4e3, 8e3), (8e3, 14e3))
    words = f"picture={picture:.0f} frame_ms={draw.pick([40], [33, 66])} seconds=5 seed={draw.tag}"
    programs = [Program("right", "absorb seconds=9"), Program("left", f"play to={RIGHT} {words}", awaited=True)]
    return Setup(programs, relay=path(draw, 40e6, 200, draw.between((2, 6), (4, 10))))


@case("udp-within-rate", "", "UDP at a steady rate below the path's.")
def udp_within_rate(draw: Draw) -> Setup:
    rate = draw.between((2e6, 4e6), (4e6, 7e6))
    words = path(draw, 10e6, 60, draw.between((2, 6), (4, 10)), overhead=ETHERNET)
    if draw.frozen:
        programs = [Program("right", "!iperf3 -s -1"),
                    Program("left", f"!iperf3 -u -c {RIGHT} -b {rate:.0f} -t 4 -l 1200", awaited=True)]
    else:
        programs = [Program("right", "!iperf -s -u"),
                    Program("left", f"!iperf -u -c {RIGHT} -b {rate:.0f} -t 4", awaited=True)]
    return Setup(programs, relay=words)


@case("udp-audio", "", "A call: a datagram every 20 ms in each direction.")
def udp_audio(draw: Draw) -> Setup:
    rate = draw.pick([64e3], [96e3, 48e3])
    size = int(rate / 8 / 50)
    programs = [Program("left", "swallow port=5006 seconds=6"), Program("right", "swallow port=5004 seconds=6"),
                Program("right", f"stream to={LEFT} port=5006 size={size} rate={rate} seconds=4"),
                Program("left", f"stream to={RIGHT} port=5004 size={size} rate={rate} seconds=4", awaited=True)]
    return Setup(programs, relay=path(draw, 20e6, 100, draw.between((4, 12), (10, 25))))


@case("parallel-connections", "", "Four connections at once fetch what they need over a good link, which they fill.")
def parallel_connections(draw: Draw) -> Setup:
    count = draw.pick([4], [3, 6])
    programs = [Program("right", "absorb seconds=10")]
    programs += [Program("left", f"source to={RIGHT} bytes={draw.pick([900e3], [700e3])}", awaited=True)
                 for _ in range(count)]
    return Setup(programs, relay=path(draw, 10e6, 50, draw.between((2, 4), (3, 8)), overhead=ETHERNET))


@case("rare-queue-losses", "", "A normal queue overflows now and then, which is how TCP finds the path's rate.")
def rare_queue_losses(draw: Draw) -> Setup:
    rate = draw.between((9e6, 12e6), (13e6, 18e6))
    queue = int(rate * 0.03 / 8 / 1500)
    return Setup(iperf3(6) if draw.frozen else bulk("", seconds=6),
                 relay=path(draw, rate, queue, draw.between((6, 10), (10, 15))),
                 congestion=draw.pick(["cubic"], ["reno", "cubic"]))


@case("bbr-full-10m", "", "BBR fills a link of 10 Mbit/s.")
def bbr_full_10m(draw: Draw) -> Setup:
    words = path(draw, 10e6, 60, draw.between((5, 10), (8, 20)), overhead=ETHERNET)
    return Setup(iperf3(4, reverse=True) if draw.frozen else bulk(""), relay=words, congestion="bbr")


@case("both-directions", "", "Transfers in both directions fill a link of 10 Mbit/s, full duplex.")
def both_directions(draw: Draw) -> Setup:
    words = path(draw, 10e6, 40, draw.between((1, 3), (3, 5)), overhead=ETHERNET, back_rate=10e6)
    return Setup(iperf3(4, "--bidir"), relay=words, congestion=draw.pick(["cubic"], ["reno"]))


@case("periodic-telemetry", "", "A device reports some hundred bytes at intervals, and each report is confirmed.")
def periodic_telemetry(draw: Draw) -> Setup:
    think = draw.between((400, 600), (800, 1200))
    programs = [Program("right", "answer request=240 reply=16 nodelay=1"),
                Program("left", f"ask to={RIGHT} request=240 reply=16 think_ms={think:.0f} count=8", awaited=True)]
    return Setup(programs, relay=path(draw, 20e6, 100, draw.between((3, 10), (10, 20))))


@case("chatter", "", "Small broadcasts and a few requests: an ordinary quiet network.")
def chatter(draw: Draw) -> Setup:
    programs = [Program("left", f"shout to=10.9.0.255 rate={draw.between((3, 8), (8, 15)):.0f} size=80 seconds=6"),
                Program("left", "answer reply=4000"),
                Program("right", f"ask to={LEFT} reply=4000 count=5 think_ms=900", awaited=True)]
    return Setup(programs, relay=path(draw, 50e6, 100, draw.between((2, 6), (4, 10))))


@case("lan-100m-small-files", "", "Files of some 100 kB one after another over 100 Mbit/s.")
def lan_small_files(draw: Draw) -> Setup:
    programs = [Program("left", "answer reply=400000"),
                Program("right", f"ask to={LEFT} reply=400000 count={draw.pick([12], [20])}", awaited=True)]
    return Setup(programs, middle=[shaped(97e6, 250_000, 8000)])


@case("udp-video", "", "Pictures as bursts of datagrams, well within the path's rate, with reports from the receiver.")
def udp_video(draw: Draw) -> Setup:
    rate, batch = draw.between((1.5e6, 2.5e6), (2.5e6, 4e6)), draw.pick([6], [9, 12])
    programs = [Program("right", "swallow report_ms=500 seconds=6"),
                Program("left", f"stream to={RIGHT} size=1200 batch={batch} rate={rate:.0f} seconds=4", awaited=True)]
    return Setup(programs, relay=path(draw, 25e6, 100, draw.between((4, 12), (10, 25))))


@case("full-20m", "", "A good link of 20 Mbit/s is full; begun late, its window scale is not known (trial finding 2).")
def full_20m(draw: Draw) -> Setup:
    words = path(draw, draw.pick([20e6], [25e6, 16e6]), 80, draw.between((4, 8), (6, 12)), overhead=ETHERNET)
    return Setup(iperf3(4, reverse=True) if draw.frozen else bulk(""), relay=words)
