package main

import (
	"time"

	"linerate/lab/foreign/path"
	"linerate/lab/foreign/station"
)

func lossCases() []Case {
	return []Case{
		{"random-loss", 4, randomLoss},
		{"fading-radio", 3, fadingRadio},
		{"close-frames", 3, closeFrames},
		{"device-queue", 3, deviceQueue},
		{"reordering", 4, reordering},
		{"timeouts", 3, timeouts},
		{"no-sack", 3, noSACK},
		{"duplicates", 3, duplicates},
		{"bad-checksums", 3, badChecksums},
		{"outage", 4, outage},
	}
}

func randomLoss(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 20e6, 60e6), RTT: d.Log("rtt_ms", 18, 60), QueueMs: 70, Ethernet: true}
	p := d.Log("loss", 0.003, 0.02)
	left := Turn(d, "sender", trial, "gvisor-reno", "kernel-cubic", "kernel-reno", "gvisor-cubic")
	right := Turn(d, "receiver", trial, "kernel-cubic", "gvisor-cubic", "kernel-cubic", "veth-cubic")
	octets := int(min(link.Rate, 1.2*1460*8/(link.RTT/1000)/sqrt(p)) / 8 * 7)
	random := d.Random()
	program := "push"
	if left[0] != 'g' && right[0] != 'g' {
		program = Turn(d, "program", trial, "push", "python-curl", "source")
	}
	t := caused("Frames are lost at random, each with the same probability.", 1.4, names("random-loss", "wire-errors"),
		func(r *Run, hasCause bool) (*Setup, error) {
			var there []path.Stage
			if hasCause {
				there = []path.Stage{path.Lose(p, random())}
			}
			return r.transfer(link, left, right, program, octets, there, nil)
		})
	t.Check = atLeast("lost", 12)
	return t
}

func fadingRadio(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 8e6, 30e6), RTT: d.Log("rtt_ms", 6, 30), QueueMs: 50, Ethernet: true}
	length := d.Log("fade_ms", 8, 30)
	interval := d.Log("interval_ms", 250, 600)
	left := Turn(d, "sender", trial, "kernel-cubic", "gvisor-cubic", "kernel-reno")
	random := d.Random()
	octets := int(link.Rate / 8 * 1.6)
	t := caused("A radio fades for some ms now and then and loses all frames of that time.", 1.2,
		names("loss-in-bursts", "random-loss", "wire-errors", "retransmission-stalls"), func(r *Run, hasCause bool) (*Setup, error) {
			var there []path.Stage
			if hasCause {
				there = []path.Stage{path.Bursts(ms(interval*0.5), ms(interval*1.5), ms(length), random())}
			}
			return r.transfer(link, left, "kernel-cubic", "push", octets, there, nil)
		})
	t.Check = atLeast("lost", 25)
	return t
}

// closeFrames: a receiver that is not ready again for a time after a frame.
func closeFrames(d *Draw, trial int) *Trial {
	link := Link{Rate: 100e6, RTT: d.Log("rtt_ms", 3, 15), QueueMs: 30, Ethernet: true}
	dead := d.Log("dead_us", 200, 500)
	p := d.Log("loss_if_close", 0.03, 0.15)
	left := Turn(d, "sender", trial, "kernel-reno", "kernel-cubic", "gvisor-cubic")
	octets := d.Whole("octets", 700000, 1500000)
	random := d.Random()
	t := caused("The receiver loses frames that follow another one closely.", 1.4,
		names("loss-in-bursts", "queue-overflow", "interrupt-overruns-gap"), func(r *Run, hasCause bool) (*Setup, error) {
			var there []path.Stage
			set, err := r.transfer(link, left, "kernel-cubic", "push", octets, there, nil)
			if err != nil || !hasCause {
				return set, err
			}
			generator := random()
			last := -time.Hour
			set.There = append(set.There, path.Drop("lost", func(_ []byte, _ path.Packet, at time.Duration) bool {
				isClose := at-last < time.Duration(dead*1000)
				last = at
				return isClose && generator.Float64() < p
			}))
			return set, nil
		})
	t.Check = atLeast("lost", 12)
	return t
}

// deviceQueue: the lwIP device's few receive descriptors, emptied slowly.
func deviceQueue(d *Draw, trial int) *Trial {
	link := Link{Rate: 100e6, RTT: d.Log("rtt_ms", 0.5, 6), QueueMs: 30, Ethernet: true}
	frames := d.Whole("descriptors", 3, 6)
	perFrame := d.Log("per_frame_us", 250, 900)
	build := Turn(d, "build", trial, "large", "large-noooseq", "large-noooseq")
	left := Turn(d, "sender", trial, "kernel-cubic", "gvisor-cubic", "kernel-reno")
	octets := int(1460 / (perFrame / 1e6) * 0.5)
	t := caused("The device's receive ring holds a few frames and is emptied slowly; its window permits far more at once.", 1.25,
		names("queue-overflow", "shallow-queue", "loss-in-bursts", "retransmission-stalls"), func(r *Run, hasCause bool) (*Setup, error) {
			a, b, drive, err := r.withProgramAnd(left, false, "lwip", build, octets, nil)
			if err != nil {
				return nil, err
			}
			there, back := link.Stages(nil, nil)
			ring := path.Rate{BitsPerS: 1e9, PerFrame: time.Duration(perFrame * 1000), Frames: frames, Name: "ring"}
			if !hasCause {
				ring.Frames = 80
			}
			return &Setup{Left: a, Right: b, There: append(there, ring.Stage()), Back: back, Drive: drive}, nil
		})
	t.Check = atLeast("ring dropped", 12)
	return t
}

func reordering(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 20e6, 60e6), RTT: d.Log("rtt_ms", 12, 45), QueueMs: 60, Ethernet: true}
	how := Turn(d, "how", trial, "two links", "held back", "two links", "held back")
	longer := d.Log("longer_ms", 2.5, 9)
	every := d.Whole("every", 8, 30)
	share := d.Log("share", 0.02, 0.08)
	random := d.Random()
	octets := int(link.Rate / 8 * 3)
	sender := Turn(d, "sender", trial, "gvisor without RACK", "kernel without RACK", "kernel without RACK", "gvisor without RACK")
	t := caused("Some frames take a longer way and arrive after later ones; the sender takes them for lost.", 1.2, names("reordering"),
		func(r *Run, hasCause bool) (*Setup, error) {
			var a *station.End
			var err error
			if sender[0] == 'g' {
				a, err = r.Netstack(true, station.NetstackOptions{NoRACK: true, Congestion: "reno"})
			} else {
				a, err = r.Host(true, station.HostOptions{Sysctl: map[string]string{"net.ipv4.tcp_recovery": "0",
					"net.ipv4.tcp_max_reordering": "3", "net.ipv4.tcp_timestamps": "0", "net.ipv4.tcp_dsack": "0", "net.ipv4.tcp_congestion_control": "reno"}})
			}
			if err != nil {
				return nil, err
			}
			b, err := r.End(false, "kernel-cubic", "net.ipv4.tcp_dsack=0")
			if err != nil {
				return nil, err
			}
			there, back := link.Stages(nil, nil)
			if hasCause && how == "two links" {
				there = append(there, path.Alternate(ms(longer), every))
			} else if hasCause {
				there = append(there, path.Overtake(share, ms(longer/2), ms(longer), random()))
			}
			return &Setup{Left: a, Right: b, There: there, Back: back, Drive: r.Bulk(a, b, "push", octets)}, nil
		})
	t.Check = atLeast("held back", 30)
	return t
}

// timeouts: messages of one segment, each lost one of which costs a retransmission time-out.
func timeouts(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 2e6, 20e6), RTT: d.Log("rtt_ms", 3, 20), QueueMs: 60, Ethernet: true}
	p := d.Log("loss", 0.02, 0.05)
	request, answer := d.Whole("request", 40, 300), d.Whole("answer", 40, 1000)
	left, right := Turn(d, "server", trial, "kernel-cubic", "gvisor-cubic", "kernel-reno"), Turn(d, "client", trial, "gvisor-cubic", "kernel-cubic", "kernel-cubic")
	random := d.Random()
	t := caused("Requests and answers of one segment are lost now and then; nothing follows that would show it before the time-out.", 1.4,
		names("retransmission-stalls", "random-loss", "wire-errors"), func(r *Run, hasCause bool) (*Setup, error) {
			a, b, err := r.Ends(left, right)
			if err != nil {
				return nil, err
			}
			var there, back []path.Stage
			if hasCause {
				generator := random()
				there, back = []path.Stage{path.Lose(p, generator)}, []path.Stage{path.Lose(p, generator)}
			}
			x, y := link.Stages(there, back)
			sizes := []string{key("request", request), key("answer", answer)}
			return &Setup{Left: a, Right: b, There: x, Back: y,
				Drive: asks(a, b, sizes, append(sizes, "nodelay=1", "count=150"))}, nil
		})
	t.Check = atLeast("lost", 5)
	return t
}

func noSACK(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 20e6, 50e6), RTT: d.Log("rtt_ms", 30, 80), QueueMs: 70, Ethernet: true}
	share, length, interval := d.Log("loss", 0.15, 0.4), d.Log("for_ms", 6, 20), d.Log("interval_ms", 500, 1100)
	who := Turn(d, "who", trial, "receiver kernel", "receiver lwip", "sender kernel")
	octets := int(link.Rate / 8 * 2)
	random := d.Random()
	t := caused("One end lacks selective acknowledgments, so of several losses in a window one is repaired per round trip.", 1.2,
		names("no-sack", "random-loss", "wire-errors", "loss-in-bursts"), func(r *Run, hasCause bool) (*Setup, error) {
			there, back := link.Stages([]path.Stage{path.Scatter(share, ms(interval), ms(length), random())}, nil)
			set := &Setup{There: there, Back: back}
			sack := "net.ipv4.tcp_sack=1"
			if hasCause {
				sack = "net.ipv4.tcp_sack=0"
			}
			var err error
			switch who {
			case "receiver lwip":
				build := "sack"
				if hasCause {
					build = "large"
				}
				set.Left, set.Right, set.Drive, err = r.withProgramAnd("kernel-cubic", false, "lwip", build, octets, nil)
				return set, err
			case "sender kernel":
				if set.Left, err = r.End(true, "kernel-cubic", sack); err != nil {
					return nil, err
				}
				set.Right, err = r.End(false, "gvisor-cubic")
			default:
				if set.Left, err = r.End(true, "kernel-cubic"); err != nil {
					return nil, err
				}
				set.Right, err = r.End(false, "kernel-cubic", sack)
			}
			set.Drive = stream(set.Left, set.Right, []string{key("octets", octets)}, nil)
			return set, err
		})
	t.NoGain = true
	t.LeastCut = 84
	t.Check = atLeast("lost", 9)
	return t
}

func duplicates(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 3e6, 12e6), RTT: d.Log("rtt_ms", 4, 20), QueueMs: 40, Ethernet: true}
	share := Turn(d, "share", trial, 1.0, 0.8, 1.0)
	left := Turn(d, "sender", trial, "kernel-cubic", "gvisor-cubic", "kernel-reno")
	octets := int(link.Rate / 8 * 2.2)
	random := d.Random()
	return caused("A switch sends frames twice (a mirror port in the path); the copies take their share of the link.", 1.3,
		names("duplicate-frames", "path-rate"), func(r *Run, hasCause bool) (*Setup, error) {
			var there, back []path.Stage
			if hasCause {
				generator := random()
				there = []path.Stage{path.Copy(share, 20*time.Microsecond, generator)}
				back = []path.Stage{path.Copy(share, 20*time.Microsecond, generator)}
			}
			return r.transfer(link, left, "kernel-cubic", "push", octets, there, back)
		})
}

func badChecksums(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 8e6, 20e6), RTT: d.Log("rtt_ms", 15, 50), QueueMs: 60, Ethernet: true}
	share := d.Log("share", 0.006, 0.025)
	left := Turn(d, "sender", trial, "kernel-cubic", "gvisor-cubic", "kernel-reno")
	right := Turn(d, "receiver", trial, "kernel-cubic", "kernel-cubic", "gvisor-cubic")
	octets := int(min(link.Rate, 1.2*1460*8/(link.RTT/1000)/sqrt(share)) / 8 * 4.5)
	random := d.Random()
	before := Answer{Expected: names("random-loss", "wire-errors", "checksum-errors"),
		Reason: "Payload is damaged beyond this place: here segments are merely sent again."}
	t := caused("A device on the path damages octets of the payload; the receiver drops segments with a wrong checksum.", 1.2,
		names("checksum-errors"), func(r *Run, hasCause bool) (*Setup, error) {
			var there []path.Stage
			if hasCause {
				there = []path.Stage{path.Corrupt(share, random())}
			}
			return r.transfer(link, left, right, "push", octets, there, nil)
		})
	t.Other = map[string]Answer{"sender": before, "middle": before, "snapped": {Expected: before.Expected,
		Reason: "The packets are cut, so their checksums cannot be verified."}}
	t.Snap = 262144
	t.Check = atLeast("corrupted", 12)
	return t
}

func outage(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 6e6, 20e6), RTT: d.Log("rtt_ms", 2, 30), QueueMs: 40, Ethernet: true}
	from, length := d.Log("after_ms", 1300, 2000), d.Log("down_ms", 900, 2600)
	left := Turn(d, "sender", trial, "kernel-cubic", "gvisor-cubic", "kernel-reno", "kernel-cubic")
	how := Turn(d, "how", trial, "path", "path", "interface down", "path")
	octets := int(link.Rate / 8 * 4)
	t := caused("The link is down for a while in the middle of the transfer.", 1.2, names("link-interrupted"),
		func(r *Run, hasCause bool) (*Setup, error) {
			var there, back []path.Stage
			if hasCause && how == "path" {
				there = []path.Stage{path.Outage(ms(from), ms(from+length))}
				back = []path.Stage{path.Outage(ms(from), ms(from+length))}
			}
			set, err := r.transfer(link, left, "kernel-cubic", "push", octets, there, back)
			if err != nil || !hasCause || how == "path" {
				return set, err
			}
			bulk := set.Drive
			set.Drive = func() error {
				go func() {
					time.Sleep(ms(from) + settle)
					right := set.Right.Namespace
					tap := "t" + right[len(right)-3:]
					_ = station.Run("ip", "netns", "exec", right, "ip", "link", "set", tap, "down")
					time.Sleep(ms(length))
					_ = station.Run("ip", "netns", "exec", right, "ip", "link", "set", tap, "up")
				}()
				return bulk()
			}
			return set, nil
		})
	t.LateFrom, t.LateTo = 0.02, 0.12
	t.KeptFrom, t.KeptTo = 0.82, 0.95
	t.NoPartialGain = true
	return t
}
