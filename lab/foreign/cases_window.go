package main

import (
	"fmt"
	"strings"
	"time"

	"linerate/lab/foreign/path"
	"linerate/lab/foreign/station"
)

func windowCases() []Case {
	return []Case{
		{"receive-window", 5, receiveWindow},
		{"no-window-scaling", 4, noWindowScaling},
		{"small-mss", 3, smallMSS},
		{"silly-window", 3, sillyWindow},
		{"send-buffer", 5, sendBuffer},
		{"congestion-window", 4, congestionWindow},
		{"delayed-ack-nagle", 3, delayedAckNagle},
		{"late-acks", 2, lateAcks},
		{"stretch-acks", 3, stretchAcks},
		{"tftp", 3, tftp},
		{"lockstep", 2, lockstep},
		{"one-segment-device", 2, oneSegmentDevice},
	}
}

func receiveWindow(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 20e6, 60e6), RTT: d.Log("rtt_ms", 25, 80), QueueMs: 60, Ethernet: true}
	stack := Turn(d, "receiver", trial, "gvisor", "kernel", "smoltcp", "lwip", "gvisor")
	size := d.Whole("buffer_octets", 7000, 24000)
	octets := int(float64(size) * 8 / link.RTT * 1000 / 8 * 4)
	if stack == "lwip" {
		octets = int(11680 / link.RTT * 1000 * 4)
	}
	left := Turn(d, "sender", trial, "kernel-cubic", "gvisor-cubic", "kernel-reno", "kernel-bbr", "veth-cubic")
	return caused("The receiver's window is smaller than the path needs and is full all the time.", 1.6, names("receive-window"),
		func(r *Run, hasCause bool) (*Setup, error) {
			there, back := link.Stages(nil, nil)
			set := &Setup{There: there, Back: back}
			var err error
			switch stack {
			case "smoltcp":
				buffer := 65000
				if hasCause {
					buffer = size
				}
				set.Left, set.Right, set.Drive, err = r.withProgramAnd(left, false, "smoltcp", "", octets, nil, key("rx", buffer))
			case "lwip":
				build := "large"
				if hasCause {
					build = "medium"
				}
				set.Left, set.Right, set.Drive, err = r.withProgramAnd(left, false, "lwip", build, octets, nil)
			case "gvisor":
				o := station.NetstackOptions{}
				if hasCause {
					o.ReceiveBuffer = size * 2
				}
				if set.Left, err = r.End(true, left); err != nil {
					return nil, err
				}
				set.Right, err = r.Netstack(false, o)
				set.Drive = stream(set.Left, set.Right, []string{key("octets", octets)}, nil)
			default:
				set.Left, set.Right, err = r.Ends(left, "kernel-cubic")
				var sink []string
				if hasCause {
					sink = []string{key("rcvbuf", size)}
				}
				if err == nil {
					set.Drive = stream(set.Left, set.Right, []string{key("octets", octets)}, sink)
				}
			}
			return set, err
		})
}

// stripScaling replaces the window-scale option of SYN segments by no-operations, as some firewalls do.
func stripScaling() path.Stage {
	return func(l *path.Loop, next path.Sink) path.Sink {
		return func(frame []byte, at time.Duration) {
			p := path.Parse(frame)
			if !p.IsTCP || p.Flags&path.SYN == 0 {
				next(frame, at)
				return
			}
			end := p.Transport + int(frame[p.Transport+12]>>4)*4
			for i := p.Transport + 20; i < end && frame[i] != 0; {
				if frame[i] == 1 {
					i++
					continue
				}
				if frame[i] == 3 {
					frame[i], frame[i+1], frame[i+2] = 1, 1, 1
					path.FixTCP(frame, p)
					l.Count("scaling removed", 1)
					break
				}
				i += max(2, int(frame[i+1]))
			}
			next(frame, at)
		}
	}
}

func noWindowScaling(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 30e6, 100e6), RTT: d.Log("rtt_ms", 70, 170), QueueMs: 80, Ethernet: true}
	how := Turn(d, "how", trial, "slirp", "receiver", "firewall", "sender")
	octets := int(65535 / link.RTT * 1000 * 4)
	if how == "slirp" {
		octets *= 2
	}
	t := caused("One end does not offer window scaling (or a firewall removes it): 64 KiB in flight are less than the path needs.", 1.5,
		names("no-window-scaling"), func(r *Run, hasCause bool) (*Setup, error) {
			if how == "slirp" && hasCause {
				return r.slirpBulk(link, nil, octets)
			}
			none := map[string]string{"net.ipv4.tcp_window_scaling": "0"}
			o := [2]station.HostOptions{}
			if hasCause && how == "receiver" {
				o[1].Sysctl = none
			}
			if hasCause && how == "sender" {
				o[0].Sysctl = none
			}
			a, err := r.Host(true, o[0])
			if err != nil {
				return nil, err
			}
			b, err := r.Host(false, o[1])
			if err != nil {
				return nil, err
			}
			var there, back []path.Stage
			if hasCause && how == "firewall" {
				there, back = []path.Stage{stripScaling()}, []path.Stage{stripScaling()}
			}
			x, y := link.Stages(there, back)
			return &Setup{Left: a, Right: b, There: x, Back: y, Drive: r.Bulk(a, b, "push", octets)}, nil
		})
	t.LeastCut = 84
	t.Other = map[string]Answer{"late": {Expected: names("no-window-scaling", "receive-window"),
		Reason: "Without the handshake, a window of exactly 64 KiB hints at missing scaling but does not prove it."}}
	return t
}

func smallMSS(d *Draw, trial int) *Trial {
	mss := d.Whole("mss", 160, 460)
	perFrame := d.Log("per_frame_us", 250, 700)
	rtt := d.Log("rtt_ms", 2, 15)
	stack := Turn(d, "receiver", trial, "kernel", "gvisor", "device")
	octets := int(float64(mss) / (perFrame / 1e6) * 4)
	return caused("The receiver asks for segments of a fraction of what the link carries, and a router takes a time for each.", 1.4,
		names("small-mss", "path-rate"), func(r *Run, hasCause bool) (*Setup, error) {
			a, err := r.End(true, Turn(d, "sender", trial, "kernel-cubic", "kernel-reno", "gvisor-cubic"))
			if err != nil {
				return nil, err
			}
			var b *station.End
			size := 1460
			if hasCause {
				size = mss
			}
			switch stack {
			case "gvisor":
				b, err = r.Netstack(false, station.NetstackOptions{MTU: size + 40})
			case "device":
				b, err = r.Device(false, station.DeviceOptions{MSS: size, Window: 40000, AckEvery: 2, AckDelay: ms(50), LeastUpdate: 1460})
			default:
				var setup []string
				if hasCause {
					subnet := r.RightIP[:strings.LastIndex(r.RightIP, ".")] + ".0/24"
					setup = []string{fmt.Sprintf("ip route change %s dev IF src %s advmss %d", subnet, r.RightIP, mss)}
				}
				b, err = r.Host(false, station.HostOptions{Setup: setup})
			}
			if err != nil {
				return nil, err
			}
			router := path.Rate{BitsPerS: 60e6, PerFrame: time.Duration(perFrame * 1000), Frames: 60, Ethernet: true, Name: "there"}.Stage()
			drive := r.Bulk(a, b, "push", octets)
			if stack == "device" {
				drive = toDevice(a, b, octets)
			}
			return &Setup{Left: a, Right: b, There: []path.Stage{path.Delay(ms(rtt / 4)), nil, router, path.Delay(ms(rtt / 4))},
				Back: []path.Stage{path.Delay(ms(rtt / 4)), nil, path.Delay(ms(rtt / 4))}, Drive: drive}, nil
		})
}

// toDevice sends octets to a device.
func toDevice(a, b *station.End, octets int, settings ...string) func() error {
	return func() error {
		j, err := a.Start("source", append([]string{"connect=" + b.Address + ":2000", key("octets", octets)}, settings...)...)
		if err != nil {
			return err
		}
		return j.Wait(35 * time.Second)
	}
}

func sillyWindow(d *Draw, trial int) *Trial {
	link := Link{Rate: Turn(d, "rate", trial, 10e6, 100e6), RTT: d.Log("rtt_ms", 0.5, 4), QueueMs: 40, Ethernet: true}
	window, chunk := d.Whole("window", 1500, 3200), d.Whole("chunk", 60, 240)
	interval := d.Log("interval_ms", 0.15, 0.5)
	sender := Turn(d, "sender", trial, "smoltcp", "kernel-cubic", "gvisor-cubic")
	octets := d.Whole("octets", 400000, 800000)
	return noGain(caused("The device advertises each few octets that it reads, mostly less than a segment.", 1.25,
		names("silly-window", "receive-window"), func(r *Run, hasCause bool) (*Setup, error) {
			o := station.DeviceOptions{MSS: 1460, Window: window, AckEvery: 2, AckDelay: ms(20), Chunk: chunk,
				Interval: ms(interval), LeastUpdate: 1}
			if !hasCause {
				o.LeastUpdate, o.Window, o.Chunk = 1460, 2*1460, 1460
			}
			b, err := r.Device(false, o)
			if err != nil {
				return nil, err
			}
			there, back := link.Stages(nil, nil)
			set := &Setup{Right: b, There: there, Back: back}
			if sender == "smoltcp" {
				set.Left, err = r.Smoltcp(true, "role=source", "peer="+b.Address, "port=2000", key("octets", octets), "tx=16000", "nagle=0")
				set.Drive = func() error {
					_ = set.Left.Program().Wait(12 * time.Second)
					return nil
				}
				return set, err
			}
			set.Left, err = r.End(true, sender)
			if err == nil {
				set.Drive = toDevice(set.Left, b, octets)
			}
			return set, err
		}))
}

func sendBuffer(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 20e6, 60e6), RTT: d.Log("rtt_ms", 30, 90), QueueMs: 60, Ethernet: true}
	stack := Turn(d, "sender", trial, "lwip", "gvisor", "lwip", "smoltcp", "gvisor")
	size := d.Whole("buffer_octets", 7000, 26000)
	octets := int(float64(size) / link.RTT * 1000 * 4)
	if stack == "lwip" {
		octets = int(5840 / link.RTT * 1000 * 4)
	}
	return caused("The sender's buffer holds less than the path needs; the window is open, and nothing is lost.", 1.5,
		names("send-buffer", "congestion-window"), func(r *Run, hasCause bool) (*Setup, error) {
			there, back := link.Stages(nil, nil)
			set := &Setup{There: there, Back: back}
			var err error
			switch stack {
			case "lwip":
				build := "large"
				if hasCause {
					build = "sndbuf"
				}
				set.Left, set.Right, set.Drive, err = r.withProgram(true, "lwip", build, octets)
			case "smoltcp":
				buffer := 400000
				if hasCause {
					buffer = size
				}
				set.Left, set.Right, set.Drive, err = r.withProgram(true, "smoltcp", "", octets, key("tx", buffer), "reno=1")
			case "gvisor":
				o := station.NetstackOptions{}
				if hasCause {
					o.SendBuffer = size
				}
				if set.Left, err = r.Netstack(true, o); err != nil {
					return nil, err
				}
				set.Right, err = r.End(false, "kernel-cubic")
				set.Drive = stream(set.Left, set.Right, []string{key("octets", octets)}, nil)
			}
			return set, err
		})
}

func congestionWindow(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 50e6, 100e6), RTT: d.Log("rtt_ms", 90, 200), QueueMs: 100, Ethernet: true}
	octets := d.Whole("octets", 70000, 260000)
	congestion := Turn(d, "congestion", trial, "cubic", "reno")
	program := Turn(d, "program", trial, "source", "nginx-curl", "python-curl")
	t := caused("A short transfer over a long path ends before its congestion window has grown to what the path carries.", 1.3,
		names("congestion-window"), func(r *Run, hasCause bool) (*Setup, error) {
			o := station.HostOptions{Sysctl: map[string]string{"net.ipv4.tcp_congestion_control": congestion}}
			if !hasCause {
				subnet := r.LeftIP[:strings.LastIndex(r.LeftIP, ".")] + ".0/24"
				o.Setup = []string{fmt.Sprintf("ip route change %s dev IF src %s initcwnd 300", subnet, r.LeftIP)}
			}
			a, err := r.Host(true, o)
			if err != nil {
				return nil, err
			}
			b, err := r.End(false, "kernel-cubic")
			if err != nil {
				return nil, err
			}
			there, back := link.Stages(nil, nil)
			return &Setup{Left: a, Right: b, There: there, Back: back, Drive: r.Bulk(a, b, program, octets)}, nil
		})
	t.NoPartialGain = true
	t.Skip = names("late")
	return t
}

func delayedAckNagle(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 10e6, 100e6), RTT: d.Log("rtt_ms", 0.4, 8), QueueMs: 30, Ethernet: true}
	request, answer := d.Whole("request", 120, 900), d.Whole("answer", 20, 600)
	split := d.Whole("split", 6, 60)
	right := Turn(d, "client", trial, "kernel-cubic", "veth-cubic", "kernel-reno")
	return caused("The client writes each request in two parts: Nagle's algorithm holds the second one until the delayed acknowledgment.", 2,
		names("delayed-ack-with-nagle"), func(r *Run, hasCause bool) (*Setup, error) {
			a, b, err := r.Ends("kernel-cubic", right)
			if err != nil {
				return nil, err
			}
			sizes := []string{key("request", request), key("answer", answer)}
			ask := append(append([]string(nil), sizes...), key("split", split), "count=90")
			if !hasCause {
				ask = append(ask, "nodelay=1")
			}
			there, back := link.Stages(nil, nil)
			return &Setup{Left: a, Right: b, There: there, Back: back, Drive: asks(a, b, sizes, ask)}, nil
		})
}

func lateAcks(d *Draw, trial int) *Trial {
	link := Link{Rate: Turn(d, "rate", trial, 10e6, 100e6), RTT: d.Log("rtt_ms", 1, 10), QueueMs: 40, Ethernet: true}
	segments, delay := d.Whole("window_segments", 3, 6), d.Log("ack_delay_ms", 40, 160)
	left := Turn(d, "sender", trial, "kernel-cubic", "gvisor-cubic")
	octets := int(float64(segments*1460) / (delay / 1000) * 4)
	return noGain(caused("The device acknowledges only after a delay, when its window is full long before.", 2,
		names("late-acks", "stretch-acks", "receive-window"), func(r *Run, hasCause bool) (*Setup, error) {
			o := station.DeviceOptions{MSS: 1460, Window: segments * 1460, AckEvery: 50, AckDelay: ms(delay), LeastUpdate: 1460}
			if !hasCause {
				o.AckEvery = 1
			}
			return r.device(link, left, o, octets)
		}))
}

// device is an upload to a device over a link.
func (r *Run) device(link Link, left string, o station.DeviceOptions, octets int) (*Setup, error) {
	a, err := r.End(true, left)
	if err != nil {
		return nil, err
	}
	b, err := r.Device(false, o)
	if err != nil {
		return nil, err
	}
	there, back := link.Stages(nil, nil)
	return &Setup{Left: a, Right: b, There: there, Back: back, Drive: toDevice(a, b, octets)}, nil
}

func stretchAcks(d *Draw, trial int) *Trial {
	link := Link{Rate: Turn(d, "rate", trial, 100e6, 50e6), RTT: d.Log("rtt_ms", 8, 25), QueueMs: 40, Ethernet: true}
	every := d.Whole("ack_every", 8, 14)
	segments := every + d.IntN(3)
	d.note("window_segments", segments)
	left := Turn(d, "sender", trial, "kernel-reno", "gvisor-reno", "kernel-cubic")
	octets := int(float64(segments*1460) / (link.RTT + 4) * 1000 * 3)
	return noGain(caused("The device acknowledges every n-th segment only, with hardly more in its window.", 1.1,
		names("stretch-acks", "late-acks", "receive-window"), func(r *Run, hasCause bool) (*Setup, error) {
			o := station.DeviceOptions{MSS: 1460, Window: segments * 1460, AckEvery: every, AckDelay: ms(120), LeastUpdate: 1460}
			if !hasCause {
				o.AckEvery = 2
			}
			return r.device(link, left, o, octets)
		}))
}

func tftp(d *Draw, trial int) *Trial {
	link := Link{Rate: Turn(d, "rate", trial, 100e6, 10e6), RTT: d.Log("rtt_ms", 4, 30), QueueMs: 40, Ethernet: true}
	block := Turn(d, "block", trial, 512, 1428, 1024)
	server := Turn(d, "server", trial, "tftpd-hpa", "dnsmasq")
	octets := int(float64(block) / link.RTT * 1000 * 4)
	return caused("TFTP sends one block and waits for its acknowledgment.", 0, names("one-in-flight"), func(r *Run, _ bool) (*Setup, error) {
		a, b, err := r.Ends("kernel-cubic", "kernel-cubic")
		if err != nil {
			return nil, err
		}
		there, back := link.Stages(nil, nil)
		return &Setup{Left: a, Right: b, There: there, Back: back, Drive: func() error {
			directory, err := r.Directory()
			if err != nil {
				return err
			}
			if err := file(directory, "firmware", octets); err != nil {
				return err
			}
			if err := station.Run("chmod", "-R", "a+rX", directory); err != nil {
				return err
			}
			if server == "dnsmasq" {
				_, err = a.Exec("dnsmasq", "-d", "--conf-file=/dev/null", "--port=0", "--enable-tftp", "--tftp-root="+directory, "--user=root", "--pid-file=")
			} else {
				_, err = a.Exec("in.tftpd", "-L", "-4", "--user", "root", "--secure", "--address", a.Address+":69", directory)
			}
			if err != nil {
				return err
			}
			time.Sleep(2 * settle)
			j, err := b.Exec("curl", "-s", "-o", "/dev/null", "--tftp-blksize", fmt.Sprint(block), "tftp://"+a.Address+"/firmware")
			if err != nil {
				return err
			}
			if err := j.Wait(30 * time.Second); err != nil {
				return fmt.Errorf("curl: %w %s", err, j.Output.String())
			}
			return nil
		}}, nil
	})
}

func lockstep(d *Draw, trial int) *Trial {
	link := Link{Rate: Turn(d, "rate", trial, 10e6, 100e6), RTT: d.Log("rtt_ms", 5, 25), QueueMs: 40, Ethernet: true}
	size := d.Whole("octets", 256, 1200)
	left := Turn(d, "sender", trial, "gvisor", "kernel-cubic")
	count := int(4000/link.RTT) / 8 * 8
	return caused("A loader over UDP sends one block and waits for its acknowledgment.", 2, names("one-in-flight"),
		func(r *Run, hasCause bool) (*Setup, error) {
			a, b, err := r.Ends(left, "kernel-cubic")
			if err != nil {
				return nil, err
			}
			window := 8
			if hasCause {
				window = 1
			}
			there, back := link.Stages(nil, nil)
			return &Setup{Left: a, Right: b, There: there, Back: back, Drive: func() error {
				if _, err := b.Start("receive-lockstep", "listen="+b.Address+":6900", key("window", window)); err != nil {
					return err
				}
				time.Sleep(settle)
				j, err := a.Start("send-lockstep", "connect="+b.Address+":6900", key("size", size), key("count", count), key("window", window))
				if err != nil {
					return err
				}
				return j.Wait(30 * time.Second)
			}}, nil
		})
}

func oneSegmentDevice(d *Draw, trial int) *Trial {
	link := Link{Rate: 10e6, RTT: d.Log("rtt_ms", 3, 25), QueueMs: 75, Ethernet: true}
	octets := d.Whole("octets", 300000, 600000)
	return noGain(caused("The lwIP device has a buffer for one segment and waits for its (delayed) acknowledgment.", 1.5,
		names("one-in-flight", "send-buffer", "late-acks"), func(r *Run, hasCause bool) (*Setup, error) {
			build := "large"
			if hasCause {
				build = "single"
			}
			left, right, drive, err := r.withProgram(true, "lwip", build, octets)
			if err != nil {
				return nil, err
			}
			there, back := link.Stages(nil, nil)
			return &Setup{Left: left, Right: right, There: there, Back: back, Drive: drive}, nil
		}))
}
