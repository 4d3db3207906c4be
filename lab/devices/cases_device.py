"""Causes at the device: its windows, buffers, program, flash, sleep."""

from checks import between, both, check, faster, no_payload, printed, socket, takes_at_most, thinks
from draw import case
from setups import disturbed_by, line
from stacks import device, from_device, in_flight_at_most, served, to_device

LOSSES = ["random-loss", "wire-errors", "loss-in-bursts", "retransmission-stalls"]
WINDOWS = {"lwip-own": 2_144, "lwip-2": 2_920, "lwip-3": 4_380, "lwip-5": 7_300, "lwip-8": 11_680, "lwip-11": 16_060, "lwip-16": 23_360}


def slow_rtt(d, octets, low=0.1, high=0.36):
    """A rate, and a round trip at which so many octets in flight take a share of it."""
    rate = d.log("rate", 9e6, 32e6)
    rtt = round(octets * 8e3 / (rate * d.log("share", low, high)), 2)
    d.note(rtt_ms=rtt)
    return rate, rtt


@case("device-window", ["receive-window"], "The device's stack grants a window of a few segments.", 5, check=both(faster(1.3), socket("rwnd_limited_share", 40)))
def device_window(d):
    stack = d.turn("stack", "smoltcp", "lwip-own", "lwip-3", "picotcp", "lwip-11")
    octets = WINDOWS.get(stack) or int(d.log("receive", 2_600, 15_000))
    rate, rtt = slow_rtt(d, octets)
    program = d.turn("program", "socat", "lwiperf", "nc", "iperf", "post") if stack.startswith("lwip") else d.turn("program", "iperf", "nc")
    words = "" if stack in WINDOWS else f"receive={octets}"
    it = {**line(rate, rtt, 40), **to_device(octets * 8e3 / rtt, stack, program, words=words)}
    return {**it, "without": to_device(rate * 0.3, "lwip-wide", program)}


@case("device-no-scaling", {"late": ["no-window-scaling", "receive-window"], "snapped": ["no-window-scaling", "receive-window"], "else": ["no-window-scaling"]},
      "lwIP without window scaling: 64 KB are less than the path holds.", 2, check=both(faster(1.3), socket("rwnd_limited_share", 30)))
def device_no_scaling(d):
    rate, rtt = d.log("rate", 20e6, 34e6), d.log("rtt_ms", 60, 88)
    program = d.turn("program", "lwiperf", "post")
    it = {**line(rate, rtt, 70), **to_device(65_535 * 8e3 / rtt, "lwip-wide", program, seconds=4)}
    return {**it, "without": to_device(rate * 0.5, "lwip-scaled", program, seconds=4)}


@case("device-send-buffer", ["send-buffer", "congestion-window"], "The device's buffer holds a few segments to send.", 5, check=faster(1.3))
def device_send_buffer(d):
    stack = d.turn("stack", "netstack", "lwip-2", "smoltcp", "lwip-own", "lwip-5")
    octets = {"lwip-own": 1_072}.get(stack) or WINDOWS.get(stack) or int(d.log("send", 3_000, 12_000))
    rate, rtt = slow_rtt(d, octets)
    program, words = ("curl", "") if stack in WINDOWS else ("nc", f"send={octets}")
    it = {**line(rate, rtt, 40), **from_device(octets * 8e3 / rtt, stack, program, words=words)}
    return {**it, "without": from_device(rate * 0.3, "lwip-wide", program)}


@case("uip-sends", ["one-in-flight"], "uIP has one segment in flight.", 3, check=both(faster(1.3), in_flight_at_most(1_461)))
def uip_sends(d):
    octets = int(d.turn("buffer", "1514", "420", "800"))
    rtt, program = d.log("rtt_ms", 7, 48), d.turn("program", "curl", "wget")
    it = {**line(d.log("rate", 6e6, 28e6), rtt), **from_device((octets - 54) * 8e3 / rtt, f"uip-{octets}", program)}
    return {**it, "without": from_device(3e6, "lwip-wide", program)}


@case("uip-receives", ["receive-window", "one-in-flight"], "uIP's window is one segment.", 2, check=both(faster(1.3), in_flight_at_most(1_461)))
def uip_receives(d):
    octets = int(d.turn("buffer", "800", "1514"))
    rtt = d.log("rtt_ms", 6, 40)
    program = d.turn("program", "socat", "nc")
    it = {**line(d.log("rate", 6e6, 28e6), rtt), **to_device((octets - 54) * 8e3 / rtt, f"uip-{octets}", program, words="")}
    it["servers"] = [("B", device(f"uip-{octets}", "port=9000 octets=10"))]
    return {**it, "without": to_device(3e6, "lwip-wide", program)}


@case("one-and-delayed", ["late-acks", "one-in-flight"], "uIP has one segment in flight, and lwIP at the other end delays its acknowledgment.", 2, check=faster(1.4))
def one_and_delayed(d):
    octets, rtt = int(d.turn("buffer", "1514", "800")), d.log("rtt_ms", 1, 9)
    it = {**line(d.log("rate", 3e6, 20e6), rtt), "sender": "B", "device": "AB", "octets": 18 * (octets - 54), "longest": 40,
          "client": device("lwip-wide", "role=fetch port=80", "A")}
    return {**it, "servers": [("B", device(f"uip-{octets}", "octets=@N"))], "without": {"servers": [("B", device("lwip-wide", "role=httpd octets=@N"))], "octets": 900_000}}


@case("device-splits", ["delayed-ack-with-nagle"], "The device writes a request in two parts, with Nagle's algorithm; the host delays acknowledgments.", 2,
      check=both(faster(1.5), printed("answers", 10)))
def device_splits(d):
    rtt, request, answer, split = d.log("rtt_ms", 0.8, 9), d.log("request", 70, 600), d.log("answer", 50, 900), int(d.log("split", 4, 50))
    ask = f"role=ask port=5204 request={request} answer={answer} split={split} pause=1 count={int(3_400 / (rtt + 43))}"
    return {**line(d.log("rate", 3e6, 50e6), rtt), "sender": "A", "client_at": "B", "servers": [("A", f"@P listen @A 5204 answer request={request} answer={answer}")],
            "client": device("lwip-8", ask), "without": {"client": device("lwip-8", f"{ask} nodelay=1")}}


@case("device-delays", ["delayed-ack-with-nagle"], "The host writes a request in two parts, with Nagle's algorithm; lwIP acknowledges at its 250 ms timer.", 2,
      check=both(faster(1.5), printed("answers", 10)))
def device_delays(d):
    rtt, request, answer, split = d.log("rtt_ms", 0.8, 12), d.log("request", 60, 500), d.log("answer", 50, 800), int(d.log("split", 2, 40))
    ask = f"@P connect @B 502 ask request={request} answer={answer} split={split} count={int(d.log('count', 13, 20))}"
    return {**line(d.log("rate", 3e6, 50e6), rtt), "sender": "B", "servers": [("B", device("lwip-5", f"role=answer port=502 request={request} answer={answer} nodelay=1"))],
            "client": ask, "without": {"client": ask + " nodelay=1"}}


@case("writes-flash", ["receiver-reads-slowly", "receive-window", "receiver-stalls"], "The device's web server writes each sector to flash before it takes more.", 3,
      check=both(faster(1.3), socket("rwnd_limited_share", 40)))
def writes_flash(d):
    stack, program = d.turn("stack", "lwip-3", "lwip-5", "lwip-8"), d.turn("program", "post", "nc", "post")
    sector, takes = int(d.turn("sector", "2048", "4096")), d.log("takes_ms", 18, 90)
    rate = d.log("rate", 8e6, 40e6)
    it = {**line(rate, d.log("rtt_ms", 1, 14)), **to_device(sector * 8e3 / takes, stack, program, words=f"flash={sector} stops={int(takes)}")}
    return {**it, "without": to_device(rate * 0.3, stack, program)}


@case("erases-sector", ["receiver-stalls", "receiver-reads-slowly"], "The device stands still while it erases flash: nothing is acknowledged.", 3, check=faster(1.3))
def erases_sector(d):
    stack, program = d.turn("stack", "lwip-8", "lwip-16", "lwip-wide"), d.turn("program", "post", "nc", "socat")
    sector, takes = int(d.turn("sector", "32768", "65536")), int(d.log("takes_ms", 110, 330))
    rate = d.log("rate", 4e6, 14e6)
    it = {**line(rate, d.log("rtt_ms", 1, 20), 120), **to_device(sector * 8e3 / (takes + sector * 8e3 / rate), stack, program, 4, f"flash={sector} stops={takes} stack=1")}
    return {**it, "without": to_device(rate * 0.7, stack, program)}


@case("reads-card", ["sender-idle", "sender-stalls"], "The device's web server waits for its card before each part of the file.", 3, check=faster(1.3))
def reads_card(d):
    stack, part, pause = d.turn("stack", "lwip-8", "lwip-16", "lwip-wide"), int(d.log("part", 1_024, 4_096)), int(d.log("pause_ms", 14, 60))
    rate, program = d.log("rate", 6e6, 40e6), d.turn("program", "curl", "wget")
    it = {**line(rate, d.log("rtt_ms", 1, 10)), **from_device(part * 8e3 / pause, stack, program, words=f"chunk={part} pause={pause}")}
    return {**it, "without": from_device(rate * 0.4, stack, program)}


@case("device-stops", ["sender-stalls", "sender-idle"], "The device stands still at intervals while it sends.", 3, check=faster(1.3))
def device_stops(d):
    stack = d.turn("stack", "lwip-8", "smoltcp", "lwip-wide")
    works, stops, rate = int(d.log("works_ms", 160, 420)), int(d.log("stops_ms", 180, 640)), d.log("rate", 2e6, 8e6)
    program = "nc" if stack == "smoltcp" else "curl"
    it = {**line(rate, d.log("rtt_ms", 1, 20), 100), **from_device(rate * 0.4, stack, program, words=f"works={works} stops={stops}")}
    return {**it, "without": from_device(rate * 0.7, stack, program)}


@case("device-lines", ["small-writes", "sender-idle"], "The device's program writes a few octets at a time, without Nagle's algorithm.", 2, check=faster(1.3))
def device_lines(d):
    octets, pause, rate = int(d.log("octets", 18, 90)), int(d.turn("pause_ms", "2", "3")), d.log("rate", 2e6, 9e6)
    it = {**line(rate, d.log("rtt_ms", 2, 20)), **from_device(octets * 8e3 / (pause + 0.3), "lwip-5", "nc", words=f"chunk={octets} pause={pause} nodelay=1")}
    return {**it, "without": from_device(rate * 0.6, "lwip-5", "nc")}


@case("device-thinks", ["server-think-time", "peer-turnaround"], "The device takes its time for each answer.", 3, gain=False, check=thinks())
def device_thinks(d):
    rtt, think, answer = d.log("rtt_ms", 1, 26), int(d.log("think_ms", 100, 520)), int(d.log("answer", 120, 9_000))
    count = max(5, round(3_400 / think))
    it = {**line(d.log("rate", 4e6, 30e6), rtt), "sender": "B", "thinks_s": (count - 1) * think / 1e3}
    if d.turn("program", "curl", "exchange") == "exchange":
        return {**it, "servers": [("B", device("lwip-5", f"role=answer port=1502 request=24 answer={answer} think={think}"))],
                "client": f"@P connect @B 1502 ask request=24 answer={answer} count={count}"}
    return {**it, "servers": [("B", device("lwip-5", f"role=httpd octets={answer} think={think}"))], "client": f"curl -s -o /dev/null 'http://@B/?[1-{count}]'"}


@case("device-works", ["client-think-time"], "The device works on each part that it fetched before it asks for the next.", 2, gain=False, check=both(between(2, 12), printed("answers", 5)))
def device_works(d):
    think, answer = int(d.log("think_ms", 160, 420)), int(d.log("answer", 9_000, 40_000))
    return {**line(d.log("rate", 12e6, 40e6), d.log("rtt_ms", 1, 14)), "sender": "A", "client_at": "B",
            "servers": [("A", f"@P listen @A 5204 answer request=90 answer={answer}")],
            "client": device("lwip-16", f"role=ask port=5204 request=90 answer={answer} count={max(6, round(3_400 / think))} pause={think}")}


@case("device-tftp", ["one-in-flight"], "A file by TFTP from or to the device, one block in flight at a time.", 3, gain=False, check=between(1.2, 16))
def device_tftp(d):
    rtt, program = d.log("rtt_ms", 4, 44), d.turn("program", "device-fetches", "curl", "busybox")
    octets = int(3_200 / rtt) * 512
    if program == "device-fetches":
        serve = f"chmod 755 @D; truncate -s {octets} @D/data; chmod 644 @D/data; exec in.tftpd -L -s -a @A -u root @D"
        return {**line(9e6, rtt), "sender": "A", "client_at": "B", "servers": [("A", serve)], "client": device("lwip-3", "role=tftpc port=69")}
    words = {"curl": "curl -s -o /dev/null tftp://@B/data", "busybox": "cd @D; busybox tftp -g -r data -l got @B"}[program]
    return {**line(9e6, rtt), "sender": "B", "client": words, "servers": [("B", device("lwip-3", f"role=tftpd octets={octets}"))]}


@case("slow-timer", ["retransmission-stalls", "random-loss", "wire-errors"], "Exchanges are lost; lwIP's timer repairs them after a second or more.", 2, check=faster(1.3))
def slow_timer(d):
    rtt, share, answer = d.log("rtt_ms", 3, 24), d.log("loss_percent", 2.5, 6), int(d.log("answer", 40, 700))
    stack = d.turn("stack", "lwip-5", "uip-800")
    it = {**line(9e6, rtt), "sender": "B", "servers": [("B", device(stack, f"role=answer port=502 request=40 answer={answer} octets=10"))], "longest": 40,
          "client": f"@P connect @B 502 ask request=40 answer={answer} count={int(8 / (rtt / 1e3 + share * 0.012))}"}
    return disturbed_by(it, rtt, f"loss random {share}%", f"loss random {share / 4:.2f}%")


@case("device-sleeps", ["wake-up-latency", "server-think-time", "peer-turnaround"], "The device sleeps when idle, and looks for frames at intervals.", 3, check=faster(1.3))
def device_sleeps(d):
    wakes, after, answer = int(d.log("wakes_ms", 90, 340)), int(d.log("after_ms", 6, 20, 2)), int(d.log("answer", 30, 900))
    pause = int(after + wakes * d.log("pause_share", 0.1, 0.35))
    served = f"role=answer port=502 request=16 answer={answer}"
    return {**line(d.log("rate", 5e6, 40e6), d.log("rtt_ms", 1, 9)), "sender": "B", "servers": [("B", device("lwip-5", f"{served} wakes={wakes} after={after}"))],
            "client": f"@P connect @B 502 ask request=16 answer={answer} count={int(3_600 / wakes)} pause={pause}", "without": {"servers": [("B", device("lwip-5", served))]}}


@case("device-slow", ["main-thread-bound", "per-frame-cost", "receive-window", "late-acks", "path-rate"], "The device's processor takes its time for each frame.", 2, check=faster(1.3))
def device_slow(d):
    stack, each = d.turn("stack", "lwip-8", "lwip-5"), int(d.log("frame_us", 900, 2_600))
    it = {**line(60e6, d.log("rtt_ms", 0.5, 2)), **to_device(1_460 * 8e6 / each, stack, d.turn("program", "lwiperf", "post"), words=f"frame_us={each}")}
    return {**it, "without": to_device(12e6, stack, d.settings["program"])}


@case("device-overruns", {"late": ["queue-overflow", "shallow-queue", "loss-in-bursts", "random-loss"], "else": ["queue-overflow", "shallow-queue", "loss-in-bursts"]},
      "Frames that arrive in a burst overrun the device's receive ring.", 3,
      check=both(faster(1.3), check("the ring drops at least 5", lambda truth, trial: truth["path"]["counts"]["ring_drops_B"] >= 5)))
def device_overruns(d):
    ring, each, rtt = int(d.log("ring", 3, 7, 1)), int(d.log("frame_us", 300, 700)), d.log("rtt_ms", 10, 30)
    stack = d.turn("stack", "lwip-wide", "lwip-sack", "lwip-wide")
    it = {**line(50e6, rtt, 1.5 * rtt), **to_device(5e6, stack, d.turn("program", "lwiperf", "socat"), words=f"frame_us={each}"), "congestion": "reno"}
    return {**it, "ring": {"B": ring}, "without": {"ring": {"B": 1000}}}


@case("device-without-sack", ["no-sack", *LOSSES], "Several packets at a time are lost, and lwIP does not acknowledge selectively; with SACK it is faster.", 3, check=faster(1.3))
def device_without_sack(d):
    rtt, rate = d.log("rtt_ms", 14, 48), d.log("rate", 10e6, 26e6)
    begins, length = d.log("begins_percent", 0.25, 0.7), d.log("length_packets", 3, 6)
    program = d.turn("program", "lwiperf", "post", "socat")
    it = {**line(rate, rtt, 40 + 2 * rtt), **to_device(rate * 0.1, "lwip-wide", program, 4), "congestion": "reno"}
    it = {**disturbed_by(it, rtt, f"loss gemodel {begins}% {100 / length:.1f}%")}
    return {**it, "without": to_device(rate * 0.15, "lwip-sack", program, 4)}


@case("device-forgets", ["no-sack", *LOSSES], "A packet is lost, and lwIP keeps nothing that comes behind it; with its queue it is faster.", 2, check=faster(1.3))
def device_forgets(d):
    rtt, rate, share = d.log("rtt_ms", 12, 44), d.log("rate", 10e6, 26e6), d.log("loss_percent", 0.3, 0.9)
    program = d.turn("program", "socat", "lwiperf")
    it = {**line(rate, rtt, 40 + 2 * rtt), **to_device(rate * 0.1, "lwip-forgets", program, 4), "congestion": "reno"}
    return {**disturbed_by(it, rtt, f"loss random {share}%"), "without": to_device(rate * 0.2, "lwip-wide", program, 4)}


@case("device-mss", ["small-mss"], "The device announces a small MSS; headers take much of the line.", 2, check=faster(1.3))
def device_mss(d):
    rate, program = d.log("rate", 1.2e6, 2.4e6), d.turn("program", "lwiperf", "socat")
    it = {**line(rate, d.log("rtt_ms", 2, 12), 60), **to_device(rate * 0.5, f"lwip-mss-{d.turn('mss', '90', '110')}", program), "timestamps": 0}
    return {**it, "without": to_device(rate * 0.9, "lwip-mss-1460", program)}


@case("device-short", ["congestion-window"], "A short page over a long path is over before the device's window has grown.", 2, gain=False,
      kinds=("sender", "receiver", "middle", "truncated", "snapped"), truncated=(0.7, 0.85),
      check=both(check("nothing is lost", lambda truth, trial: truth["lost_segments"] == 0), takes_at_most(0.5)))
def device_short(d):
    rtt, octets = d.log("rtt_ms", 130, 420), int(d.log("octets", 24_000, 56_000))
    it = {**line(d.log("rate", 12e6, 34e6), rtt, 60), **from_device(octets * 8, "lwip-wide", d.turn("program", "curl", "wget"), 1)}
    return {**it, "client": it["client"] + "; sleep 1.2", "least_s": 0.3, "fixed_octets": True}


@case("device-refuses", ["refused"], "The device refuses connections.", 2, gain=False, kinds=("sender", "middle", "truncated", "snapped"), truncated=(0.6, 0.9), check=no_payload())
def device_refuses(d):
    stack = d.turn("stack", "picotcp", "lwip-5")
    return {**line(8e6, d.log("rtt_ms", 2, 50)), "sender": "A", "one_end": "sender", "least_s": 0, "servers": [("B", device(stack, "role=echo port=7"))],
            "client": "for i in 1 2 3 4 5; do curl -s -m 2 -o /dev/null http://@B:8080/; sleep 0.5; done; true"}


@case("device-names", ["name-resolution"], "The device asks for a name, and the server answers late.", 2, gain=False, kinds=("sender", "receiver", "middle", "snapped"),
      check=check("payload comes late", lambda truth, trial: truth["path"]["wait_s"] >= 0.4))
def device_names(d):
    octets, after = int(d.log("octets", 5_000, 50_000)), d.log("after_ms", 480, 900)
    it = served(octets)
    return {**line(8e6, d.log("rtt_ms", 3, 40)), "sender": "A", "client_at": "B", "one_end": "receiver", "least_s": 0, "files": it["files"],
            "servers": [("A", it["start"]), ("A", f"@P listen @A 53 names to=10.53.1.2 after={after}")], "client": device("lwip-5", "role=fetch port=8080 think=1")}
