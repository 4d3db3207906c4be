package main

import (
	"fmt"
	"strings"
	"time"

	"linerate/lab/foreign/path"
	"linerate/lab/foreign/station"
)

// control is a healthy transfer.
func control(reason string, set func(*Run, bool) (*Setup, error)) *Trial {
	return &Trial{Answer: Answer{Reason: reason}, Control: true, Set: set}
}

func healthyCases() []Case {
	return []Case{
		{"full-10", 3, full10},
		{"full-100", 3, full100},
		{"full-odd-rate", 4, fullOddRate},
		{"full-offload", 3, fullOffload},
		{"full-netstack", 3, fullNetstack},
		{"full-ipv6", 2, fullIPv6},
		{"full-lwip", 2, fullLwIP},
		{"full-smoltcp", 2, fullSmoltcp},
		{"full-slirp", 1, fullSlirp},
		{"upload-beside-download", 2, uploadBesideDownload},
		{"full-then-idle", 2, fullThenIdle},
		{"full-long-path", 2, fullLongPath},
		{"two-downloads", 2, twoDownloads},
		{"short-pages", 5, shortPages},
		{"request-answer", 3, requestAnswer},
		{"telemetry-mqtt", 3, telemetryMQTT},
		{"telemetry-plain", 2, telemetryPlain},
		{"constant-stream", 3, constantStream},
		{"rtp-stream", 3, rtpStream},
		{"idle-control", 3, idleControl},
		{"polled-registers", 2, polledRegisters},
		{"name-and-page", 2, nameAndPage},
		{"syslog", 1, syslogDatagrams},
	}
}

func bulkTrial(d *Draw, trial int, link Link, left, right, program string, octets int) *Trial {
	d.note("sender", left)
	d.note("receiver", right)
	d.note("program", program)
	t := control("", func(r *Run, _ bool) (*Setup, error) {
		a, b, err := r.Ends(left, right)
		if err != nil {
			return nil, err
		}
		there, back := link.Stages(nil, nil)
		return &Setup{Left: a, Right: b, There: there, Back: back, Drive: r.Bulk(a, b, program, octets)}, nil
	})
	t.Check = isFull(link.Rate)
	return t
}

func full10(d *Draw, trial int) *Trial {
	link := Link{Rate: 10e6, RTT: d.Log("rtt_ms", 0.4, 4), QueueMs: d.Log("queue_ms", 12, 25), Ethernet: true}
	program := Turn(d, "", trial, "nuttcp", "python-curl", "rsync")
	t := bulkTrial(d, trial, link, Turn(d, "", trial, "kernel-reno", "kernel-cubic", "veth-cubic"), "kernel-cubic", program, 3_600_000)
	t.Reason = "A 10BASE-T link is full from the beginning to the end."
	return t
}

func full100(d *Draw, trial int) *Trial {
	link := Link{Rate: 100e6, RTT: d.Log("rtt_ms", 0.3, 3), QueueMs: d.Log("queue_ms", 4, 10), Ethernet: true}
	program := Turn(d, "", trial, "busybox-wget", "ftp", "nginx-curl")
	t := bulkTrial(d, trial, link, Turn(d, "", trial, "kernel-cubic", "kernel-reno", "kernel-cubic"), "kernel-cubic", program, 26_000_000)
	t.Reason = "A 100BASE-TX link is full from the beginning to the end."
	return t
}

func fullOddRate(d *Draw, trial int) *Trial {
	rtt := d.Log("rtt_ms", 5, 24)
	link := Link{Rate: d.Log("rate", 4e6, 45e6), RTT: rtt, QueueMs: max(15, rtt*1.3)}
	octets := int(link.Rate / 8 * 5)
	program := Turn(d, "", trial, "nuttcp", "scp", "nginx-curl", "serve-wget")
	t := bulkTrial(d, trial, link, Turn(d, "", trial, "kernel-cubic", "kernel-cubic", "kernel-bbr", "gvisor-cubic"), "kernel-cubic", program, octets)
	t.Reason = "The slowest link, of an odd rate, is full; its queue holds about a round trip."
	return t
}

func fullOffload(d *Draw, trial int) *Trial {
	link := Link{Rate: Turn(d, "rate", trial, 100e6, 50e6, 20e6), RTT: d.Log("rtt_ms", 1, 6), QueueMs: 10, Ethernet: true}
	program := Turn(d, "", trial, "python-curl", "source", "nuttcp")
	t := bulkTrial(d, trial, link, Turn(d, "", trial, "veth-cubic", "any-cubic", "veth-bbr"),
		Turn(d, "", trial, "kernel-cubic", "any-cubic", "veth-cubic"), program, int(link.Rate/8*2.2))
	t.Reason = "The path is full; the host's interface segments, so its capture shows segments longer than the MTU."
	return t
}

func fullNetstack(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 5e6, 40e6), RTT: d.Log("rtt_ms", 2, 12), QueueMs: 22, Ethernet: true}
	t := bulkTrial(d, trial, link, Turn(d, "", trial, "gvisor-cubic", "gvisor-reno", "kernel-cubic"),
		Turn(d, "", trial, "gvisor-cubic", "kernel-cubic", "gvisor-cubic"), Turn(d, "", trial, "push", "source"), int(link.Rate/8*4))
	t.Reason = "gVisor's TCP fills the path."
	return t
}

func fullIPv6(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 8e6, 30e6), RTT: d.Log("rtt_ms", 2, 15), QueueMs: 20, Ethernet: true}
	host, page := d.IntN(60000), d.IntN(60000)
	address := func(n int) string { return fmt.Sprintf("2001:db8:%x:%x::%d", host, page, n) }
	t := control("The path is full, over IPv6.", func(r *Run, _ bool) (*Setup, error) {
		a, err := r.Host(true, station.HostOptions{IPv6: address(1)})
		if err != nil {
			return nil, err
		}
		b, err := r.Host(false, station.HostOptions{IPv6: address(2)})
		if err != nil {
			return nil, err
		}
		a.Address, b.Address = "["+address(1)+"]", "["+address(2)+"]"
		there, back := link.Stages(nil, nil)
		return &Setup{Left: a, Right: b, There: there, Back: back,
			Drive: r.Bulk(a, b, Turn(d, "program", trial, "source", "push"), int(link.Rate/8*4))}, nil
	})
	t.Check = isFull(link.Rate)
	return t
}

func fullLwIP(d *Draw, trial int) *Trial {
	link := Link{Rate: 10e6, RTT: d.Log("rtt_ms", 0.3, 1.2), QueueMs: 15, Ethernet: true}
	isSender := trial%2 == 0
	d.note("lwip_sends", isSender)
	t := control("An lwIP device fills its 10BASE-T link: its window is larger than the path needs.",
		func(r *Run, _ bool) (*Setup, error) {
			octets := 3_000_000
			left, right, drive, err := r.withProgram(isSender, "lwip", "medium", octets)
			if err != nil {
				return nil, err
			}
			there, back := link.Stages(nil, nil)
			return &Setup{Left: left, Right: right, There: there, Back: back, Drive: drive}, nil
		})
	t.Check = isFull(link.Rate)
	return t
}

func fullSmoltcp(d *Draw, trial int) *Trial {
	link := Link{Rate: 10e6, RTT: d.Log("rtt_ms", 0.3, 1.5), QueueMs: 40, Ethernet: true}
	isSender := trial%2 == 0
	d.note("smoltcp_sends", isSender)
	t := control("A smoltcp device fills its 10BASE-T link: its buffers are larger than the path needs.",
		func(r *Run, _ bool) (*Setup, error) {
			left, right, drive, err := r.withProgram(isSender, "smoltcp", "", 3_000_000, "rx=24000", "tx=24000")
			if err != nil {
				return nil, err
			}
			there, back := link.Stages(nil, nil)
			return &Setup{Left: left, Right: right, There: there, Back: back, Drive: drive}, nil
		})
	t.Check = isFull(link.Rate)
	return t
}

// withProgram is a transfer of octets between a program with lwIP or smoltcp and a host.
func (r *Run) withProgram(isSender bool, tcp, build string, octets int, settings ...string) (left, right *station.End, drive func() error, err error) {
	return r.withProgramAnd("kernel-cubic", isSender, tcp, build, octets, nil, settings...)
}

// withProgramAnd is the same with another TCP than the system's CUBIC, and with settings for the program there.
func (r *Run) withProgramAnd(other string, isSender bool, tcp, build string, octets int, there []string, settings ...string) (left, right *station.End, drive func() error, err error) {
	start := func(left bool, settings ...string) (*station.End, error) {
		if tcp == "lwip" {
			return r.LwIP(left, build, settings...)
		}
		return r.Smoltcp(left, settings...)
	}
	host, err := r.End(!isSender, other)
	if err != nil {
		return nil, nil, nil, err
	}
	if isSender {
		device, err := start(true, append([]string{"role=source", "port=5001", key("octets", octets)}, settings...)...)
		return device, host, func() error {
			time.Sleep(settle)
			j, err := host.Start("sink", append([]string{"connect=" + device.Address + ":5001"}, there...)...)
			if err != nil {
				return err
			}
			return j.Wait(35 * time.Second)
		}, err
	}
	device, err := start(false, append([]string{"role=sink", "port=5001"}, settings...)...)
	return host, device, func() error {
		time.Sleep(settle)
		j, err := host.Start("source", append([]string{"connect=" + device.Address + ":5001", key("octets", octets)}, there...)...)
		if err != nil {
			return err
		}
		return j.Wait(35 * time.Second)
	}, err
}

func fullSlirp(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 14e6, 19e6), RTT: d.Log("rtt_ms", 13, 18), QueueMs: 40, Ethernet: true}
	t := control("QEMU's user network fills the path: 64 KiB are more than it needs.", func(r *Run, _ bool) (*Setup, error) {
		return r.slirpBulk(link, nil, int(link.Rate/8*3.5))
	})
	t.Check = isFull(link.Rate)
	return t
}

// slirpBulk downloads from behind QEMU's user network.
func (r *Run) slirpBulk(link Link, there []path.Stage, octets int) (*Setup, error) {
	a, err := r.Slirp(true)
	if err != nil {
		return nil, err
	}
	b, err := r.End(false, "kernel-cubic")
	if err != nil {
		return nil, err
	}
	x, y := link.Stages(there, nil)
	return &Setup{Left: a, Right: b, There: x, Back: y, Drive: func() error {
		if _, err := a.Start("source", "listen=127.0.0.1:5201", key("octets", octets)); err != nil {
			return err
		}
		time.Sleep(settle)
		j, err := b.Start("sink", "connect="+a.Address+":5201")
		if err != nil {
			return err
		}
		return j.Wait(35 * time.Second)
	}}, nil
}

func uploadBesideDownload(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 8e6, 24e6), RTT: d.Log("rtt_ms", 2, 8), QueueMs: 18, Ethernet: true}
	left := Turn(d, "sender", trial, "kernel-cubic", "gvisor-cubic")
	return control("An upload and a download fill both directions of a full-duplex path.", func(r *Run, _ bool) (*Setup, error) {
		a, b, err := r.Ends(left, "kernel-cubic")
		if err != nil {
			return nil, err
		}
		there, back := link.Stages(nil, nil)
		octets := int(link.Rate / 8 * 4)
		return &Setup{Left: a, Right: b, There: there, Back: back, Drive: func() error {
			if _, err := a.Start("source", "listen=:5201", key("octets", octets)); err != nil {
				return err
			}
			if _, err := a.Start("sink", "listen=:5202"); err != nil {
				return err
			}
			time.Sleep(settle)
			down, err := b.Start("sink", "connect="+a.Address+":5201")
			if err != nil {
				return err
			}
			up, err := b.Start("source", "connect="+a.Address+":5202", key("octets", octets))
			if err != nil {
				return err
			}
			if err := down.Wait(30 * time.Second); err != nil {
				return err
			}
			return up.Wait(30 * time.Second)
		}}, nil
	})
}

func fullThenIdle(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 8e6, 30e6), RTT: d.Log("rtt_ms", 1, 12), QueueMs: 18, Ethernet: true}
	left := Turn(d, "sender", trial, "gvisor-cubic", "kernel-cubic")
	linger := d.Whole("idle_ms", 1500, 3500)
	return control("A file is sent at the full rate; then the connection stays open without anything to send.", func(r *Run, _ bool) (*Setup, error) {
		a, b, err := r.Ends(left, "kernel-cubic")
		if err != nil {
			return nil, err
		}
		there, back := link.Stages(nil, nil)
		return &Setup{Left: a, Right: b, There: there, Back: back,
			Drive: stream(a, b, []string{key("octets", int(link.Rate/8*3)), key("linger", linger)}, nil)}, nil
	})
}

func fullLongPath(d *Draw, trial int) *Trial {
	rtt := d.Log("rtt_ms", 50, 90)
	link := Link{Rate: d.Log("rate", 3e6, 10e6), RTT: rtt, QueueMs: rtt * 1.2}
	t := bulkTrial(d, trial, link, Turn(d, "", trial, "kernel-cubic", "kernel-bbr"), "kernel-cubic", Turn(d, "", trial, "nginx-curl", "source"), int(link.Rate/8*9))
	t.Reason = "A long path is full but for the first round trips; its queue holds about a round trip."
	return t
}

func twoDownloads(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 10e6, 30e6), RTT: d.Log("rtt_ms", 2, 12), QueueMs: 22, Ethernet: true}
	left := Turn(d, "sender", trial, "kernel-cubic", "gvisor-cubic")
	t := control("Two downloads share a full path.", func(r *Run, _ bool) (*Setup, error) {
		a, b, err := r.Ends(left, "kernel-cubic")
		if err != nil {
			return nil, err
		}
		there, back := link.Stages(nil, nil)
		return &Setup{Left: a, Right: b, There: there, Back: back, Drive: func() error {
			if _, err := a.Start("serve", "listen=:8080"); err != nil {
				return err
			}
			time.Sleep(settle)
			url := fmt.Sprintf("http://%s:8080/%d", a.Address, int(link.Rate/8*2))
			first, err := b.Exec("curl", "-s", "-o", "/dev/null", url)
			if err != nil {
				return err
			}
			second, err := b.Exec("wget", "-q", "-O", "/dev/null", url)
			if err != nil {
				return err
			}
			if err := first.Wait(30 * time.Second); err != nil {
				return err
			}
			return second.Wait(30 * time.Second)
		}}, nil
	})
	t.Check = isFull(link.Rate)
	return t
}

func shortPages(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 10e6, 100e6), RTT: d.Log("rtt_ms", 1, 25), QueueMs: 30, Ethernet: true}
	size := d.Whole("octets", 900, 14000)
	count := d.Whole("pages", 5, 12)
	gap := ms(d.Log("gap_ms", 150, 500))
	program := Turn(d, "server", trial, "nginx", "busybox", "lwip", "gvisor", "python")
	return control("Short pages, each answered at once.", func(r *Run, _ bool) (*Setup, error) {
		var a *station.End
		var err error
		switch program {
		case "lwip":
			a, err = r.LwIP(true, "medium", "role=http", "port=8080", key("octets", size))
		case "gvisor":
			a, err = r.End(true, "gvisor-cubic")
		default:
			a, err = r.End(true, "kernel-cubic")
		}
		if err != nil {
			return nil, err
		}
		b, err := r.End(false, "kernel-cubic")
		if err != nil {
			return nil, err
		}
		there, back := link.Stages(nil, nil)
		return &Setup{Left: a, Right: b, There: there, Back: back, Drive: func() error {
			directory, err := r.Directory()
			if err != nil {
				return err
			}
			if err := file(directory, fmt.Sprint(size), size); err != nil {
				return err
			}
			switch program {
			case "nginx":
				err = nginx(a, directory, "")
			case "busybox":
				_, err = a.Exec("busybox", "httpd", "-f", "-p", "8080", "-h", directory)
			case "python":
				_, err = a.Exec("python3", "-m", "http.server", "-d", directory, "8080")
				time.Sleep(settle)
			case "gvisor":
				_, err = a.Start("serve", "listen=:8080")
			}
			if err != nil {
				return err
			}
			time.Sleep(2 * settle)
			for range count {
				j, err := b.Exec("curl", "-s", "-o", "/dev/null", fmt.Sprintf("http://%s:8080/%d", a.Address, size))
				if err != nil {
					return err
				}
				if err := j.Wait(10 * time.Second); err != nil {
					return fmt.Errorf("curl: %w %s", err, j.Output.String())
				}
				time.Sleep(gap)
			}
			return nil
		}}, nil
	})
}

// asks runs the programs `answer` at left and `ask` at right.
func asks(a, b *station.End, answer, ask []string) func() error {
	return func() error {
		if _, err := a.Start("answer", append([]string{"listen=:7001", "nodelay=1"}, answer...)...); err != nil {
			return err
		}
		time.Sleep(settle)
		j, err := b.Start("ask", append([]string{"connect=" + a.Address + ":7001"}, ask...)...)
		if err != nil {
			return err
		}
		return j.Wait(35 * time.Second)
	}
}

func requestAnswer(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 10e6, 100e6), RTT: d.Log("rtt_ms", 0.5, 5), QueueMs: 30, Ethernet: true}
	request, answer := d.Whole("request", 60, 400), d.Whole("answer", 60, 1400)
	pause := d.Log("pause_ms", 20, 80)
	left, right := Turn(d, "server", trial, "gvisor-cubic", "kernel-cubic", "veth-cubic"), Turn(d, "client", trial, "kernel-cubic", "gvisor-cubic", "kernel-cubic")
	return control("Requests are answered at once; the client asks now and then.", func(r *Run, _ bool) (*Setup, error) {
		a, b, err := r.Ends(left, right)
		if err != nil {
			return nil, err
		}
		there, back := link.Stages(nil, nil)
		sizes := []string{key("request", request), key("answer", answer)}
		return &Setup{Left: a, Right: b, There: there, Back: back,
			Drive: asks(a, b, sizes, append(sizes, "nodelay=1", "count=60", key("pause", pause)))}, nil
	})
}

func telemetryMQTT(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 1e6, 100e6), RTT: d.Log("rtt_ms", 1, 60), QueueMs: 50, Ethernet: true}
	rate := d.Log("messages_per_s", 2, 10)
	size := d.Whole("octets", 20, 220)
	qos := Turn(d, "qos", trial, 0, 1)
	return control("Measured values are published at a low rate.", func(r *Run, _ bool) (*Setup, error) {
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
			text := "listener 1883\nallow_anonymous true\npersistence false\nuser root\n"
			if err := writeFile(directory+"/mosquitto.conf", text); err != nil {
				return err
			}
			if _, err := b.Exec("mosquitto", "-c", directory+"/mosquitto.conf"); err != nil {
				return err
			}
			time.Sleep(2 * settle)
			line := fmt.Sprintf("for i in $(seq %d); do echo \"$i %s\"; sleep %.3f; done | mosquitto_pub -l -q %d -h %s -t plant/line/3",
				int(6*rate), strings.Repeat("7", size), 1/rate, qos, b.Address)
			j, err := a.Exec("sh", "-c", line)
			if err != nil {
				return err
			}
			return j.Wait(30 * time.Second)
		}}, nil
	})
}

func telemetryPlain(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 0.5e6, 20e6), RTT: d.Log("rtt_ms", 2, 90), QueueMs: 60, Ethernet: true}
	size, interval := d.Whole("octets", 30, 300), d.Log("interval_ms", 120, 700)
	left := Turn(d, "sender", trial, "gvisor-cubic", "kernel-cubic")
	return control("A sensor sends a value now and then.", func(r *Run, _ bool) (*Setup, error) {
		a, b, err := r.Ends(left, "kernel-cubic")
		if err != nil {
			return nil, err
		}
		there, back := link.Stages(nil, nil)
		return &Setup{Left: a, Right: b, There: there, Back: back,
			Drive: stream(a, b, []string{key("chunk", size), key("interval", interval), "seconds=7", "nodelay=1", "exact=1"}, nil)}, nil
	})
}

// stream runs `source` at left, which connects to `sink` at right.
func stream(a, b *station.End, source, sink []string) func() error {
	return func() error {
		if _, err := b.Start("sink", append([]string{"listen=:5201"}, sink...)...); err != nil {
			return err
		}
		time.Sleep(settle)
		j, err := a.Start("source", append([]string{"connect=" + b.Address + ":5201"}, source...)...)
		if err != nil {
			return err
		}
		return j.Wait(35 * time.Second)
	}
}

func constantStream(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 25e6, 100e6), RTT: d.Log("rtt_ms", 1, 10), QueueMs: 30, Ethernet: true}
	bits := d.Log("stream_bits_per_s", 0.6e6, 4e6)
	interval := Turn(d, "interval_ms", trial, 40.0, 20.0, 33.3)
	left := Turn(d, "sender", trial, "kernel-cubic", "gvisor-cubic", "veth-cubic")
	return control("A camera's stream of constant rate over TCP; the path carries many times more.", func(r *Run, _ bool) (*Setup, error) {
		a, b, err := r.Ends(left, "kernel-cubic")
		if err != nil {
			return nil, err
		}
		there, back := link.Stages(nil, nil)
		return &Setup{Left: a, Right: b, There: there, Back: back,
			Drive: stream(a, b, []string{key("chunk", int(bits/8*interval/1000)), key("interval", interval), "seconds=5", "nodelay=1", "exact=1"}, nil)}, nil
	})
}

func rtpStream(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 10e6, 100e6), RTT: d.Log("rtt_ms", 1, 40), QueueMs: 60, Ethernet: true}
	size := Turn(d, "octets", trial, 172, 1200, 1328)
	rate := Turn(d, "payload_bits_per_s", trial, 68800.0, 2.4e6, 4.1e6)
	burst := Turn(d, "datagrams_at_once", trial, 1, 8, 1)
	left, right := Turn(d, "sender", trial, "gvisor", "kernel-cubic", "kernel-cubic"), Turn(d, "receiver", trial, "kernel-cubic", "kernel-cubic", "gvisor")
	return control("RTP at a constant rate, which the path carries.", func(r *Run, _ bool) (*Setup, error) {
		a, b, err := r.Ends(left, right)
		if err != nil {
			return nil, err
		}
		there, back := link.Stages(nil, nil)
		return &Setup{Left: a, Right: b, There: there, Back: back,
			Drive: datagrams(a, b, key("size", size), key("rate", rate), key("burst", burst), "seconds=5")}, nil
	})
}

// datagrams sends RTP from left to right.
func datagrams(a, b *station.End, settings ...string) func() error {
	return func() error {
		if _, err := b.Start("receive-datagrams", "listen="+b.Address+":5004"); err != nil {
			return err
		}
		time.Sleep(settle)
		j, err := a.Start("send-datagrams", append([]string{"connect=" + b.Address + ":5004"}, settings...)...)
		if err != nil {
			return err
		}
		return j.Wait(35 * time.Second)
	}
}

func idleControl(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 10e6, 100e6), RTT: d.Log("rtt_ms", 1, 50), QueueMs: 30, Ethernet: true}
	pause := d.Log("interval_ms", 500, 1100)
	program := Turn(d, "program", trial, "ssh", "ask", "ask")
	return control("A control connection is idle but for signs of life.", func(r *Run, _ bool) (*Setup, error) {
		left := "kernel-cubic"
		if trial%3 == 2 {
			left = "gvisor-cubic"
		}
		a, b, err := r.Ends(left, "kernel-cubic")
		if err != nil {
			return nil, err
		}
		there, back := link.Stages(nil, nil)
		drive := asks(a, b, []string{"request=24", "answer=24"}, []string{"request=24", "answer=24", "nodelay=1", "count=8", key("pause", pause)})
		if program == "ssh" {
			drive = func() error {
				directory, err := r.Directory()
				if err != nil {
					return err
				}
				if err := sshd(a, directory); err != nil {
					return err
				}
				time.Sleep(2 * settle)
				command := append([]string{"ssh", "-p", "2222", "-o", "ServerAliveInterval=1"}, sshOptions(directory)...)
				j, err := b.Exec(append(command, "root@"+a.Address, "for i in 1 2 3 4 5 6 7 8; do uptime; sleep 0.8; done")...)
				if err != nil {
					return err
				}
				if err := j.Wait(25 * time.Second); err != nil {
					return fmt.Errorf("ssh: %w %s", err, j.Output.String())
				}
				return nil
			}
		}
		return &Setup{Left: a, Right: b, There: there, Back: back, Drive: drive}, nil
	})
}

func polledRegisters(d *Draw, trial int) *Trial {
	link := Link{Rate: Turn(d, "rate", trial, 10e6, 100e6), RTT: d.Log("rtt_ms", 0.4, 3), QueueMs: 20, Ethernet: true}
	pause := d.Log("interval_ms", 90, 210)
	left := Turn(d, "server", trial, "gvisor-reno", "kernel-reno")
	return control("A controller polls registers (Modbus/TCP) at a fixed interval.", func(r *Run, _ bool) (*Setup, error) {
		a, b, err := r.Ends(left, "kernel-cubic")
		if err != nil {
			return nil, err
		}
		there, back := link.Stages(nil, nil)
		return &Setup{Left: a, Right: b, There: there, Back: back,
			Drive: asks(a, b, []string{"request=12", "answer=59"}, []string{"request=12", "answer=59", "nodelay=1", "count=45", key("pause", pause)})}, nil
	})
}

func nameAndPage(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 10e6, 60e6), RTT: d.Log("rtt_ms", 2, 20), QueueMs: 30, Ethernet: true}
	size := d.Whole("octets", 3000, 40000)
	left := Turn(d, "server", trial, "kernel-cubic", "gvisor-cubic")
	t := control("A name is looked up at once, then a page is fetched, a few times.", func(r *Run, _ bool) (*Setup, error) {
		return r.named(link, left, size, 6, 0, 0, ms(400))
	})
	t.Snap = 262144
	return t
}

// named looks up a name and fetches a page by it, count times; the answer takes think ms, the first mute questions get
// none.
func (r *Run) named(link Link, left string, size, count int, think float64, mute int, gap time.Duration) (*Setup, error) {
	a, err := r.End(true, left)
	if err != nil {
		return nil, err
	}
	b, err := r.Host(false, station.HostOptions{Resolver: []string{"nameserver " + a.Address, "options timeout:2"}})
	if err != nil {
		return nil, err
	}
	there, back := link.Stages(nil, nil)
	return &Setup{Left: a, Right: b, There: there, Back: back, Drive: func() error {
		if _, err := a.Start("dns", "listen="+a.Address+":53", "address="+a.Address, key("think", think), key("mute", mute)); err != nil {
			return err
		}
		if _, err := a.Start("serve", "listen=:80"); err != nil {
			return err
		}
		time.Sleep(settle)
		for i := range count {
			j, err := b.Exec("curl", "-4", "-s", "-o", "/dev/null", fmt.Sprintf("http://plc%d.plant.example/%d", i, size))
			if err != nil {
				return err
			}
			if err := j.Wait(30 * time.Second); err != nil {
				return fmt.Errorf("curl: %w %s", err, j.Output.String())
			}
			time.Sleep(gap)
		}
		return nil
	}}, nil
}

func syslogDatagrams(d *Draw, trial int) *Trial {
	link := Link{Rate: 10e6, RTT: d.Log("rtt_ms", 1, 20), QueueMs: 20, Ethernet: true}
	return control("A device sends log lines and answers pings.", func(r *Run, _ bool) (*Setup, error) {
		a, b, err := r.Ends("kernel-cubic", "kernel-cubic")
		if err != nil {
			return nil, err
		}
		there, back := link.Stages(nil, nil)
		return &Setup{Left: a, Right: b, There: there, Back: back, Drive: func() error {
			if _, err := b.Start("receive-datagrams", "listen="+b.Address+":514"); err != nil {
				return err
			}
			ping, err := b.Exec("ping", "-i", "0.5", "-c", "10", a.Address)
			if err != nil {
				return err
			}
			j, err := a.Start("send-datagrams", "connect="+b.Address+":514", "size=96", "rate=8000", "seconds=5")
			if err != nil {
				return err
			}
			if err := j.Wait(10 * time.Second); err != nil {
				return err
			}
			return ping.Wait(10 * time.Second)
		}}, nil
	})
}
