package main

import (
	"fmt"
	"time"

	"linerate/lab/foreign/path"
	"linerate/lab/foreign/station"
)

// caused is a trial with a cause, run again without it; the run without must be faster by the factor gain.
func caused(reason string, gain float64, expected []string, set func(r *Run, hasCause bool) (*Setup, error)) *Trial {
	return &Trial{Answer: Answer{Expected: expected, Reason: reason}, Without: gain > 0, Gain: gain, Set: set}
}

// noGain leaves the gain out of the label: the expected causes have different ones.
func noGain(t *Trial) *Trial {
	t.NoGain = true
	return t
}

// isFull checks that the path was full.
func isFull(rate float64) func(Result) error {
	return func(with Result) error {
		if with.Goodput < 0.78*rate {
			return fmt.Errorf("%.0f bit/s of %.0f", with.Goodput, rate)
		}
		return nil
	}
}

func names(all ...string) []string { return all }

// atLeast checks a counter of the path.
func atLeast(name string, least int64) func(Result) error {
	return func(with Result) error {
		if with.Counts[name] < least {
			return fmt.Errorf("%s: %d, not %d", name, with.Counts[name], least)
		}
		return nil
	}
}

func rateCases() []Case {
	return []Case{
		{"path-rate", 4, pathRate},
		{"line-rate", 2, lineRate},
		{"half-duplex-medium", 2, halfDuplexMedium},
		{"policed", 4, policed},
		{"shallow-queue", 3, shallowQueue},
		{"bufferbloat", 3, bufferbloat},
		{"ack-path-full", 4, ackPathFull},
		{"duplex-mismatch", 3, duplexMismatch},
		{"above-path-rate", 3, abovePathRate},
		{"host-pacing", 3, hostPacing},
		{"limited-server", 2, limitedServer},
	}
}

// transfer is the usual set-up: a bulk transfer over a link with extra stages.
func (r *Run) transfer(link Link, left, right, program string, octets int, there, back []path.Stage) (*Setup, error) {
	a, b, err := r.Ends(left, right)
	if err != nil {
		return nil, err
	}
	x, y := link.Stages(there, back)
	return &Setup{Left: a, Right: b, There: x, Back: y, Drive: r.Bulk(a, b, program, octets)}, nil
}

// pathRate: the kernel's HTB in a router shapes, behind a faster link.
func pathRate(d *Draw, trial int) *Trial {
	rate := d.Log("rate", 1.4e6, 30e6)
	rtt := d.Log("rtt_ms", 6, 40)
	limit := max(16000, int(rate/8*rtt*1.3/1000))
	link := Link{Rate: 100e6, RTT: rtt, QueueMs: 30, Ethernet: true}
	program := Turn(d, "program", trial, "nginx-curl", "rsync", "source", "busybox-wget")
	congestion := Turn(d, "congestion", trial, "cubic", "reno", "bbr", "cubic")
	t := caused("A router shapes to less than either line carries; its queue holds about a round trip.", 0, names("path-rate"),
		func(r *Run, _ bool) (*Setup, error) {
			a, err := r.Host(true, station.HostOptions{Veth: true,
				Sysctl: map[string]string{"net.ipv4.tcp_congestion_control": congestion},
				Router: []string{"tc qdisc add dev PATH root handle 1: htb default 10",
					fmt.Sprintf("tc class add dev PATH parent 1: classid 1:10 htb rate %.0fbit burst 3200 cburst 3200 quantum 1514", rate),
					fmt.Sprintf("tc qdisc add dev PATH parent 1:10 bfifo limit %d", limit)}})
			if err != nil {
				return nil, err
			}
			b, err := r.End(false, "kernel-cubic")
			if err != nil {
				return nil, err
			}
			there, back := link.Stages(nil, nil)
			return &Setup{Left: a, Right: b, There: there, Back: back, Drive: r.Bulk(a, b, program, int(rate/8*5.5))}, nil
		})
	t.Check = isFull(rate)
	return t
}

func lineRate(d *Draw, trial int) *Trial {
	rate := Turn(d, "rate", trial, 100e6, 10e6)
	link := Link{Rate: rate, RTT: d.Log("rtt_ms", 0.3, 2), QueueMs: 9, Ethernet: true}
	program := Turn(d, "program", trial, "python-curl", "push")
	t := caused("The line is full: nothing but its rate limits.", 0, names("at-line-rate", "path-rate"),
		func(r *Run, _ bool) (*Setup, error) {
			return r.transfer(link, "kernel-cubic", "kernel-cubic", program, int(rate/8*min(4, 2.4e8/rate)), nil, nil)
		})
	t.Check = isFull(rate)
	return t
}

func halfDuplexMedium(d *Draw, trial int) *Trial {
	rate := Turn(d, "rate", trial, 10e6, 5.5e6)
	rtt := d.Log("rtt_ms", 1, 5)
	left := Turn(d, "sender", trial, "kernel-cubic", "gvisor-cubic")
	return caused("Both directions share a half-duplex medium, which is full.", 0,
		names("path-rate", "at-line-rate", "transmit-holds-receiver", "collisions"),
		func(r *Run, _ bool) (*Setup, error) {
			a, b, err := r.Ends(left, "kernel-reno")
			if err != nil {
				return nil, err
			}
			medium := &path.Medium{}
			half := func(name string) path.Stage {
				return path.Rate{BitsPerS: rate, Octets: 28000, Ethernet: true, Name: name, Medium: medium}.Stage()
			}
			return &Setup{Left: a, Right: b, There: []path.Stage{path.Delay(ms(rtt / 2)), nil, half("there")},
				Back:  []path.Stage{half("back"), nil, path.Delay(ms(rtt / 2))},
				Drive: r.Bulk(a, b, "push", int(rate/8*3.5))}, nil
		})
}

func policed(d *Draw, trial int) *Trial {
	rate, bucket := d.Log("policed_bits_per_s", 1.8e6, 16e6), d.Log("bucket_octets", 9000, 48000)
	link := Link{Rate: d.Log("rate", 50e6, 100e6), RTT: d.Log("rtt_ms", 8, 45), QueueMs: 60, Ethernet: true}
	left := Turn(d, "sender", trial, "kernel-cubic", "gvisor-reno", "kernel-reno", "gvisor-cubic")
	program := Turn(d, "program", trial, "nuttcp", "push", "python-curl", "source")
	octets := int(rate / 8 * 5)
	t := caused("A policer drops what exceeds its rate and queues nothing.", 1.5, names("policed"),
		func(r *Run, hasCause bool) (*Setup, error) {
			var there []path.Stage
			if hasCause {
				there = []path.Stage{path.Police(rate, bucket)}
			}
			return r.transfer(link, left, "kernel-cubic", program, octets, there, nil)
		})
	t.Check = atLeast("policed", 25)
	return t
}

func shallowQueue(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 9e6, 30e6), RTT: d.Log("rtt_ms", 25, 70), QueueMs: 0}
	frames := d.Whole("frames", 3, 6)
	left := Turn(d, "sender", trial, "gvisor-reno", "kernel-reno", "kernel-cubic")
	ample := max(60000, int(link.Rate/8*link.RTT*1.5/1000))
	octets := int(link.Rate / 8 * 2.2)
	t := caused("The queue before the slowest link holds a few frames, much less than the path needs.", 1.25,
		names("shallow-queue", "queue-overflow"), func(r *Run, hasCause bool) (*Setup, error) {
			a, b, err := r.Ends(left, "kernel-cubic")
			if err != nil {
				return nil, err
			}
			bottleneck := path.Rate{BitsPerS: link.Rate, Octets: ample, Name: "there"}
			if hasCause {
				bottleneck.Octets, bottleneck.Frames = 0, frames
			}
			return &Setup{Left: a, Right: b, There: []path.Stage{path.Delay(ms(link.RTT / 8)), nil, bottleneck.Stage(), path.Delay(ms(link.RTT * 3 / 8))},
				Back: []path.Stage{path.Delay(ms(link.RTT * 3 / 8)), nil, path.Delay(ms(link.RTT / 8))}, Drive: r.Bulk(a, b, "push", octets)}, nil
		})
	t.Check = atLeast("there dropped", 12)
	return t
}

func bufferbloat(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 0.9e6, 5e6), RTT: d.Log("rtt_ms", 8, 30), QueueMs: d.Log("queue_ms", 500, 1300)}
	left := Turn(d, "sender", trial, "kernel-reno", "gvisor-cubic", "kernel-cubic")
	program := Turn(d, "program", trial, "python-curl", "source", "scp")
	t := caused("The queue before the slowest link holds many round trips and is filled.", 0, names("bufferbloat", "path-rate"),
		func(r *Run, _ bool) (*Setup, error) {
			set, err := r.transfer(link, left, "kernel-cubic", program, int(link.Rate/8*9), nil, nil)
			if err != nil {
				return nil, err
			}
			if trial == 1 {
				bulk := set.Drive
				set.Drive = func() error {
					if _, err := set.Right.Exec("ping", "-i", "0.2", set.Left.Address); err != nil {
						return err
					}
					return bulk()
				}
			}
			return set, nil
		})
	least := int64(link.Rate / 8 * 0.2)
	t.Check = atLeast("there most octets", least)
	return t
}

func ackPathFull(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 8e6, 30e6), Back: d.Log("back_rate", 40e3, 110e3), RTT: d.Log("rtt_ms", 10, 50), QueueMs: 250}
	left := Turn(d, "sender", trial, "kernel-cubic", "gvisor-cubic", "kernel-reno", "kernel-cubic")
	program := Turn(d, "program", trial, "nginx-curl", "source", "source", "source")
	isUpload := trial == 4
	d.note("upload_beside", isUpload)
	expected := names("ack-path-full")
	reason := "Acknowledgments queue on a way back that is a hundred times slower."
	if isUpload {
		link.Back, link.QueueMs = d.Log("back_rate", 250e3, 500e3), 400
		expected = names("ack-path-full", "bufferbloat")
		reason = "An upload fills the queue of the slow way back, in which the download's acknowledgments wait."
	}
	octets := int(link.Back * 40 / 8 * 5)
	t := caused(reason, 1.5, expected, func(r *Run, hasCause bool) (*Setup, error) {
		k := link
		if !hasCause && !isUpload {
			k.Back = k.Rate
		}
		// The queue there is the same in both runs.
		set, err := r.transfer(k, left, "kernel-cubic", program, octets, nil, nil)
		if err != nil || !isUpload || !hasCause {
			return set, err
		}
		bulk := set.Drive
		set.Drive = func() error {
			if _, err := set.Left.Start("sink", "listen=:5300"); err != nil {
				return err
			}
			time.Sleep(settle)
			if _, err := set.Right.Start("source", "connect="+set.Left.Address+":5300", "octets=100000000"); err != nil {
				return err
			}
			return bulk()
		}
		return set, nil
	})
	return t
}

func duplexMismatch(d *Draw, trial int) *Trial {
	rate := Turn(d, "rate", trial, 10e6, 100e6, 10e6)
	rtt := d.Log("rtt_ms", 0.6, 4)
	isFar := Turn(d, "sender_is_half_duplex", trial, false, true, true)
	left := Turn(d, "sender", trial, "kernel-cubic", "kernel-reno", "gvisor-cubic")
	random := d.Random()
	octets := int(rate / 8 * 0.7)
	if isFar {
		octets /= 3
	}
	t := caused("One end of the link uses full duplex, the other half duplex: frames collide when both send.", 1.3,
		names("duplex-mismatch", "random-loss", "loss-in-bursts", "wire-errors", "retransmission-stalls"), func(r *Run, hasCause bool) (*Setup, error) {
			a, b, err := r.Ends(left, "kernel-cubic")
			if err != nil {
				return nil, err
			}
			m := &path.Mismatch{BitsPerS: rate, Random: random()}
			there, back := m.Near(), m.Far()
			if isFar {
				there, back = back, there
			}
			if !hasCause {
				there = path.Rate{BitsPerS: rate, Octets: 40000, Ethernet: true, Name: "there"}.Stage()
				back = path.Rate{BitsPerS: rate, Octets: 40000, Ethernet: true, Name: "back"}.Stage()
			}
			return &Setup{Left: a, Right: b, There: []path.Stage{path.Delay(ms(rtt / 4)), nil, there, path.Delay(ms(rtt / 4))},
				Back: []path.Stage{path.Delay(ms(rtt / 4)), back, nil, path.Delay(ms(rtt / 4))}, Drive: r.Bulk(a, b, "push", octets)}, nil
		})
	return t
}

func abovePathRate(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 0.8e6, 8e6), RTT: d.Log("rtt_ms", 2, 40), QueueMs: d.Log("queue_ms", 20, 90), Ethernet: true}
	factor := d.Log("factor", 1.3, 2.6)
	size := Turn(d, "octets", trial, 1200, 800, 1328)
	left, right := Turn(d, "sender", trial, "gvisor", "kernel-cubic", "kernel-cubic"), Turn(d, "receiver", trial, "kernel-cubic", "kernel-cubic", "gvisor")
	rate := link.Rate * factor * float64(size) / float64(size+66)
	blind := Answer{Expected: names("unknown"), Reason: "Nothing at the sender tells what becomes of the datagrams."}
	t := caused("RTP is sent at more than the path carries; its numbers show the loss at the receiver.", 0, names("above-path-rate"),
		func(r *Run, _ bool) (*Setup, error) {
			a, b, err := r.Ends(left, right)
			if err != nil {
				return nil, err
			}
			there, back := link.Stages(nil, nil)
			return &Setup{Left: a, Right: b, There: there, Back: back,
				Drive: datagrams(a, b, key("size", size), key("rate", rate), "seconds=5")}, nil
		})
	t.Other = map[string]Answer{"sender": blind, "middle": blind}
	t.Check = atLeast("there dropped", 50)
	return t
}

func hostPacing(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 30e6, 100e6), RTT: d.Log("rtt_ms", 2, 30), QueueMs: 30, Ethernet: true}
	pacing := d.Log("pacing_bits_per_s", 1.5e6, 9e6)
	left := Turn(d, "sender", trial, "kernel-cubic", "kernel-reno", "veth-cubic")
	octets := int(pacing / 8 * 4)
	return caused("The sending host paces the connection (SO_MAX_PACING_RATE); at a distance that looks like a slower link.", 2,
		names("host-pacing", "path-rate"), func(r *Run, hasCause bool) (*Setup, error) {
			a, b, err := r.Ends(left, "kernel-cubic")
			if err != nil {
				return nil, err
			}
			source := []string{key("octets", octets)}
			if hasCause {
				source = append(source, fmt.Sprintf("pacing=%.0f", pacing/8))
			}
			there, back := link.Stages(nil, nil)
			return &Setup{Left: a, Right: b, There: there, Back: back, Drive: stream(a, b, source, nil)}, nil
		})
}

func limitedServer(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 20e6, 100e6), RTT: d.Log("rtt_ms", 2, 30), QueueMs: 30, Ethernet: true}
	kilo := d.Whole("limit_kbytes_per_s", 60, 400)
	octets := kilo * 1024 * 5
	t := caused("The server limits the rate of the answer (nginx limit_rate); the path would carry more. A reader may also take it for a stream, which has no fault.", 2,
		names("host-pacing", "sender-idle", "sender-stalls"), func(r *Run, hasCause bool) (*Setup, error) {
			a, b, err := r.Ends(Turn(r.Draw, "sender", trial, "kernel-cubic", "veth-cubic"), "kernel-cubic")
			if err != nil {
				return nil, err
			}
			more := ""
			if hasCause {
				more = fmt.Sprintf("limit_rate %dk;", kilo)
			}
			there, back := link.Stages(nil, nil)
			return &Setup{Left: a, Right: b, There: there, Back: back, Drive: func() error {
				directory, err := r.Directory()
				if err != nil {
					return err
				}
				if err := file(directory, "data", octets); err != nil {
					return err
				}
				if err := nginx(a, directory, more); err != nil {
					return err
				}
				j, err := b.Exec("curl", "-s", "-o", "/dev/null", "http://"+a.Address+":8080/data")
				if err != nil {
					return err
				}
				return j.Wait(30 * time.Second)
			}}, nil
		})
	t.OrNone = true
	return t
}
