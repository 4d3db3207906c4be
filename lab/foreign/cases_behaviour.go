package main

import (
	"fmt"
	"syscall"
	"time"

	"linerate/lab/foreign/path"
	"linerate/lab/foreign/station"
)

func allCases() []Case {
	var all []Case
	for _, cases := range [][]Case{healthyCases(), rateCases(), windowCases(), lossCases(), openingCases(), behaviourCases()} {
		all = append(all, cases...)
	}
	return all
}

func openingCases() []Case {
	return []Case{
		{"no-answer", 4, noAnswer},
		{"refused", 4, refused},
		{"slow-handshake", 4, slowHandshake},
		{"mtu-black-hole", 3, mtuBlackHole},
		{"slow-names", 4, slowNames},
	}
}

func behaviourCases() []Case {
	return []Case{
		{"server-thinks", 4, serverThinks},
		{"client-thinks", 3, clientThinks},
		{"receiver-stops", 4, receiverStops},
		{"device-frozen", 3, deviceFrozen},
		{"slow-reader", 3, slowReader},
		{"sender-stops", 4, senderStops},
		{"sleeping-radio", 3, sleepingRadio},
	}
}

// plain is a link without a cause of its own.
func plain(d *Draw) Link {
	return Link{Rate: d.Log("rate", 10e6, 100e6), RTT: d.Log("rtt_ms", 1, 40), QueueMs: 40, Ethernet: true}
}

func noAnswer(d *Draw, trial int) *Trial {
	link := plain(d)
	how := Turn(d, "how", trial, "firewall at the server", "firewall on the path", "no host", "silent server")
	right := Turn(d, "client", trial, "kernel-cubic", "gvisor-cubic", "kernel-cubic", "gvisor-cubic")
	t := caused("Nothing answers the client.", 0, names("no-answer"), func(r *Run, _ bool) (*Setup, error) {
		var setup []string
		if how == "firewall at the server" {
			setup = []string{"ip route add blackhole " + r.RightIP + "/32"}
		}
		if how == "no host" {
			setup = []string{"ip addr flush dev IF"}
		}
		a, err := r.Host(true, station.HostOptions{Setup: setup})
		if err != nil {
			return nil, err
		}
		b, err := r.End(false, right)
		if err != nil {
			return nil, err
		}
		there, back := link.Stages(nil, nil)
		if how == "firewall on the path" {
			back = append(back, path.Drop("dropped by the firewall", func(_ []byte, p path.Packet, _ time.Duration) bool { return p.IsTCP }))
		}
		return &Setup{Left: a, Right: b, There: there, Back: back, Drive: func() error {
			if how == "silent server" {
				if _, err := a.Start("receive-datagrams", "listen="+a.Address+":69"); err != nil {
					return err
				}
				time.Sleep(settle)
				j, err := b.Start("send-lockstep", "connect="+a.Address+":69", "size=48", "count=4", "timeout=900")
				if err != nil {
					return err
				}
				_ = j.Wait(8 * time.Second)
				return nil
			}
			var j *station.Job
			var err error
			if b.Net == nil {
				j, err = b.Exec("curl", "-s", "--connect-timeout", "9", "http://"+a.Address+":80/")
			} else {
				j, err = b.Start("ask", "connect="+a.Address+":80")
			}
			if err != nil {
				return err
			}
			_ = j.Wait(9500 * time.Millisecond)
			return nil
		}}, nil
	})
	t.Skip = names("late", "truncated")
	if how == "no host" {
		t.Reason = "Not even ARP is answered: the host is off or has another address."
	}
	if how == "firewall on the path" {
		t.Skip = append(t.Skip, "sender")
	}
	return t
}

func refused(d *Draw, trial int) *Trial {
	link := plain(d)
	server := Turn(d, "server", trial, "lwip", "gvisor", "kernel")
	isUDP := trial == 4
	d.note("udp", isUDP)
	right := Turn(d, "client", trial, "kernel-cubic", "kernel-cubic", "gvisor-cubic")
	return caused("The port is closed: each attempt is reset, or answered by ICMP.", 0, names("refused"), func(r *Run, _ bool) (*Setup, error) {
		var a *station.End
		var err error
		if server == "lwip" {
			a, err = r.LwIP(true, "medium", "role=closed")
		} else {
			a, err = r.End(true, server+"-cubic")
		}
		if err != nil {
			return nil, err
		}
		b, err := r.End(false, right)
		if err != nil {
			return nil, err
		}
		there, back := link.Stages(nil, nil)
		return &Setup{Left: a, Right: b, There: there, Back: back, Drive: func() error {
			time.Sleep(settle)
			for range 8 {
				program := "ask"
				if isUDP {
					program = "send-lockstep"
				}
				j, err := b.Start(program, "connect="+a.Address+":502")
				if err != nil {
					return err
				}
				_ = j.Wait(5 * time.Second)
				time.Sleep(400 * time.Millisecond)
			}
			return nil
		}}, nil
	})
}

func slowHandshake(d *Draw, trial int) *Trial {
	link := plain(d)
	how := Turn(d, "how", trial, "slow device", "SYN ACK lost", "SYN lost", "slow device")
	delay := d.Log("delay_ms", 500, 2800)
	octets := d.Whole("octets", 8000, 60000)
	t := caused("Opening the connection takes many round trips' time, the transfer little.", 1.5, names("slow-handshake"),
		func(r *Run, hasCause bool) (*Setup, error) {
			if how == "slow device" {
				o := station.DeviceOptions{MSS: 1460, Window: 20000, AckEvery: 2, AckDelay: ms(40), LeastUpdate: 1460}
				if hasCause {
					o.SynDelay = ms(delay)
				}
				return r.device(link, Turn(d, "sender", trial, "kernel-cubic", "gvisor-cubic"), o, octets)
			}
			a, b, err := r.Ends("kernel-cubic", "kernel-cubic")
			if err != nil {
				return nil, err
			}
			there, back := link.Stages(nil, nil)
			lost := 0
			dropFirst := path.Drop("SYN lost", func(_ []byte, p path.Packet, _ time.Duration) bool {
				if p.IsTCP && p.Flags&path.SYN != 0 && lost < 1 {
					lost++
					return true
				}
				return false
			})
			// The server sends, so a SYN goes back and a SYN ACK there.
			if hasCause && how == "SYN lost" {
				back = append(back, dropFirst)
			} else if hasCause {
				there = append(there, dropFirst)
			}
			return &Setup{Left: a, Right: b, There: there, Back: back, Drive: r.Bulk(a, b, "source", octets)}, nil
		})
	t.Skip = names("late")
	t.NoPartialGain = true
	if how == "SYN lost" {
		// It never reached the server.
		t.Skip = append(t.Skip, "sender")
	}
	return t
}

func mtuBlackHole(d *Draw, trial int) *Trial {
	link := plain(d)
	mtu := Turn(d, "mtu", trial, 1280, 1400, 1420)
	probing := Turn(d, "probing", trial, "0", "0", "1")
	octets := d.Whole("octets", 20000, 120000)
	blind := Answer{Expected: names("unknown"), Reason: "What is missing here never arrived, whatever the reason."}
	t := caused("Packets above the tunnel's MTU vanish without an ICMP message; small ones pass.", 0, names("mtu-black-hole"),
		func(r *Run, _ bool) (*Setup, error) {
			a, err := r.End(true, Turn(d, "sender", trial, "gvisor-cubic", "kernel-cubic", "kernel-cubic"), "net.ipv4.tcp_mtu_probing="+probing,
				"net.ipv4.tcp_base_mss=1024")
			if err != nil {
				return nil, err
			}
			b, err := r.End(false, "kernel-cubic")
			if err != nil {
				return nil, err
			}
			hole := path.Drop("too long", func(_ []byte, p path.Packet, _ time.Duration) bool { return p.Length > mtu })
			there, back := link.Stages([]path.Stage{hole}, nil)
			return &Setup{Left: a, Right: b, There: there, Back: back, Drive: func() error {
				if _, err := a.Start("source", "listen=:5201", "request=80", key("octets", octets)); err != nil {
					return err
				}
				time.Sleep(settle)
				j, err := b.Start("sink", "connect="+a.Address+":5201", "request=80")
				if err != nil {
					return err
				}
				_ = j.Wait(8 * time.Second)
				return nil
			}}, nil
		})
	t.Other = map[string]Answer{"receiver": blind}
	t.Skip = names("late")
	t.Check = atLeast("too long", 4)
	return t
}

func slowNames(d *Draw, trial int) *Trial {
	link := plain(d)
	size := d.Whole("octets", 5000, 60000)
	think := d.Log("answer_after_ms", 500, 1800)
	how := Turn(d, "how", trial, "slow", "first lost", "slow", "slow")
	left := Turn(d, "server", trial, "kernel-cubic", "gvisor-cubic")
	t := caused("Looking up the name takes far longer than what follows.", 1.5, names("name-resolution"),
		func(r *Run, hasCause bool) (*Setup, error) {
			if !hasCause {
				return r.named(link, left, size, 3, 0, 0, 0)
			}
			if how == "first lost" {
				return r.named(link, left, size, 3, 0, 1, 0)
			}
			return r.named(link, left, size, 3, think, 0, 0)
		})
	if how == "first lost" {
		t.Expected = names("name-resolution", "no-answer")
	}
	t.Snap = 262144
	t.LeastCut = 90
	t.Skip = names("late")
	t.NoPartialGain = true
	return t
}

func serverThinks(d *Draw, trial int) *Trial {
	link := plain(d)
	think := d.Log("think_ms", 180, 900)
	request, answer := d.Whole("request", 60, 500), d.Whole("answer", 400, 30000)
	server := Turn(d, "server", trial, "gvisor", "lwip", "kernel", "busybox")
	count := max(4, int(4500/think))
	return caused("The server takes a time before each answer.", 2, names("server-think-time", "peer-turnaround"),
		func(r *Run, hasCause bool) (*Setup, error) {
			pause := think
			if !hasCause {
				pause = 0
			}
			there, back := link.Stages(nil, nil)
			set := &Setup{There: there, Back: back}
			var err error
			if server == "lwip" {
				set.Left, err = r.LwIP(true, "medium", "role=http", "port=8080", key("octets", answer), fmt.Sprintf("think=%.0f", pause))
			} else {
				set.Left, err = r.End(true, map[string]string{"gvisor": "gvisor-cubic", "kernel": "kernel-cubic", "busybox": "kernel-cubic"}[server])
			}
			if err != nil {
				return nil, err
			}
			if set.Right, err = r.End(false, "kernel-cubic"); err != nil {
				return nil, err
			}
			sizes := []string{key("request", request), key("answer", answer)}
			set.Drive = asks(set.Left, set.Right, append(sizes, key("think", pause)), append(sizes, "nodelay=1", key("count", count)))
			if server == "gvisor" || server == "kernel" {
				return set, nil
			}
			set.Drive = func() error {
				url := fmt.Sprintf("http://%s:8080/page", set.Left.Address)
				if server == "busybox" {
					directory, err := r.Directory()
					if err != nil {
						return err
					}
					script := fmt.Sprintf("#!/bin/sh\nsleep %.3f\necho 'Content-Type: text/plain'\necho\nhead -c %d /dev/zero\n", pause/1000, answer)
					if err := station.Run("mkdir", "-p", directory+"/cgi-bin"); err != nil {
						return err
					}
					if err := writeFile(directory+"/cgi-bin/status", script); err != nil {
						return err
					}
					if err := station.Run("chmod", "-R", "a+rx", directory); err != nil {
						return err
					}
					if _, err := set.Left.Exec("busybox", "httpd", "-f", "-p", "8080", "-h", directory); err != nil {
						return err
					}
					url = fmt.Sprintf("http://%s:8080/cgi-bin/status", set.Left.Address)
				}
				time.Sleep(2 * settle)
				for range count {
					j, err := set.Right.Exec("wget", "-q", "-O", "/dev/null", url)
					if err != nil {
						return err
					}
					if err := j.Wait(10 * time.Second); err != nil {
						return fmt.Errorf("wget: %w %s", err, j.Output.String())
					}
				}
				return nil
			}
			return set, nil
		})
}

func clientThinks(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 20e6, 100e6), RTT: d.Log("rtt_ms", 2, 25), QueueMs: 50, Ethernet: true}
	pause := d.Log("think_ms", 180, 700)
	answer := d.Whole("answer", 24000, 90000)
	left, right := Turn(d, "server", trial, "gvisor-cubic", "kernel-cubic", "kernel-cubic"), Turn(d, "client", trial, "kernel-cubic", "gvisor-cubic", "kernel-cubic")
	count := max(5, int(5000/pause))
	return caused("The client fetches a file in pieces and writes each to flash before it asks for the next.", 2, names("client-think-time"),
		func(r *Run, hasCause bool) (*Setup, error) {
			a, b, err := r.Ends(left, right)
			if err != nil {
				return nil, err
			}
			wait := pause
			if !hasCause {
				wait = 0
			}
			there, back := link.Stages(nil, nil)
			sizes := []string{"request=96", key("answer", answer)}
			return &Setup{Left: a, Right: b, There: there, Back: back,
				Drive: asks(a, b, sizes, append(sizes, "nodelay=1", key("count", count), key("pause", wait)))}, nil
		})
}

// receiverStops: the program stops reading at intervals, and the window closes.
func receiverStops(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 5e6, 20e6), RTT: d.Log("rtt_ms", 1, 12), QueueMs: 40, Ethernet: true}
	every, stop := d.Log("works_ms", 350, 800), d.Log("stops_ms", 250, 700)
	stack := Turn(d, "receiver", trial, "lwip", "kernel", "smoltcp", "gvisor")
	left := Turn(d, "sender", trial, "kernel-cubic", "gvisor-cubic", "kernel-cubic")
	octets := int(link.Rate / 8 * 2.4)
	if stack == "lwip" || stack == "smoltcp" {
		octets = int(min(link.Rate/8, 11680/(link.RTT+1.5)*1000) * 2.4)
	}
	times := []string{fmt.Sprintf("every=%.0f", every), fmt.Sprintf("for=%.0f", stop)}
	return caused("The receiving program stops reading at intervals (it erases flash); the window closes meanwhile.", 1.3,
		names("receiver-stalls"), func(r *Run, hasCause bool) (*Setup, error) {
			there, back := link.Stages(nil, nil)
			set := &Setup{There: there, Back: back}
			var settings []string
			if hasCause {
				settings = times
			}
			var err error
			switch stack {
			case "lwip":
				set.Left, set.Right, set.Drive, err = r.withProgramAnd(left, false, "lwip", "medium", octets, nil, settings...)
			case "smoltcp":
				set.Left, set.Right, set.Drive, err = r.withProgramAnd(left, false, "smoltcp", "", octets, nil, append(settings, "rx=11680")...)
			case "gvisor":
				if set.Left, err = r.End(true, left); err != nil {
					return nil, err
				}
				set.Right, err = r.Netstack(false, station.NetstackOptions{ReceiveBuffer: 80000})
				set.Drive = stream(set.Left, set.Right, []string{key("octets", octets)}, settings)
			default:
				if set.Left, set.Right, err = r.Ends(left, "kernel-cubic"); err != nil {
					return nil, err
				}
				set.Drive = stream(set.Left, set.Right, []string{key("octets", octets)}, append(settings, "rcvbuf=60000"))
			}
			return set, err
		})
}

// deviceFrozen: the whole device stands still at intervals and acknowledges nothing.
func deviceFrozen(d *Draw, trial int) *Trial {
	link := Link{Rate: 10e6, RTT: d.Log("rtt_ms", 1, 5), QueueMs: 40, Ethernet: true}
	every, stop := d.Log("works_ms", 350, 800), d.Log("stops_ms", 220, 600)
	stack := Turn(d, "device", trial, "lwip", "smoltcp", "lwip")
	octets := int(min(link.Rate/8, 11680/(link.RTT+2)*1000) * 2.2)
	left := Turn(d, "sender", trial, "kernel-cubic", "kernel-reno", "gvisor-cubic")
	return caused("The device stands still at intervals (SIGSTOP): nothing is acknowledged, then everything.", 1.3,
		names("receiver-stalls"), func(r *Run, hasCause bool) (*Setup, error) {
			var settings []string
			if stack == "smoltcp" {
				settings = []string{"rx=11680"}
			}
			a, b, drive, err := r.withProgramAnd(left, false, stack, "medium", octets, nil, settings...)
			if err != nil {
				return nil, err
			}
			there, back := link.Stages(nil, nil)
			set := &Setup{Left: a, Right: b, There: there, Back: back, Drive: drive}
			if hasCause {
				set.Drive = func() error {
					done := make(chan struct{})
					defer close(done)
					go func() {
						for {
							select {
							case <-done:
								return
							case <-time.After(ms(every)):
							}
							b.Program().Signal(syscall.SIGSTOP)
							time.Sleep(ms(stop))
							b.Program().Signal(syscall.SIGCONT)
						}
					}()
					return drive()
				}
			}
			return set, nil
		})
}

func slowReader(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 10e6, 60e6), RTT: d.Log("rtt_ms", 1, 12), QueueMs: 40, Ethernet: true}
	interval := d.Log("interval_ms", 4, 10)
	chunk := d.Whole("chunk", 1200, 4000)
	stack := Turn(d, "receiver", trial, "kernel", "lwip", "gvisor")
	octets := int(float64(chunk) / interval * 1000 * 4)
	if stack == "lwip" {
		octets = int(float64(chunk/int(interval)) * 1000 * 4)
	}
	return caused("The receiving program reads slower than segments arrive; the window is what it has read.", 1.5,
		names("receiver-reads-slowly", "receive-window"), func(r *Run, hasCause bool) (*Setup, error) {
			there, back := link.Stages(nil, nil)
			set := &Setup{There: there, Back: back}
			var err error
			if stack == "lwip" {
				var settings []string
				if hasCause {
					settings = []string{key("drain", chunk/int(interval))}
				}
				set.Left, set.Right, set.Drive, err = r.withProgramAnd("kernel-cubic", false, "lwip", "medium", octets, nil, settings...)
				return set, err
			}
			if set.Left, err = r.End(true, "kernel-cubic"); err != nil {
				return nil, err
			}
			var sink []string
			if hasCause {
				sink = []string{key("chunk", chunk), key("interval", interval), "exact=1"}
			}
			if stack == "gvisor" {
				set.Right, err = r.Netstack(false, station.NetstackOptions{ReceiveBuffer: 64000})
			} else {
				set.Right, err = r.End(false, "kernel-cubic")
				sink = append(sink, "rcvbuf=40000")
			}
			set.Drive = stream(set.Left, set.Right, []string{key("octets", octets)}, sink)
			return set, err
		})
}

func senderStops(d *Draw, trial int) *Trial {
	link := Link{Rate: d.Log("rate", 5e6, 25e6), RTT: d.Log("rtt_ms", 1, 20), QueueMs: 40, Ethernet: true}
	every, stop := d.Log("works_ms", 250, 700), d.Log("stops_ms", 250, 700)
	stack := Turn(d, "sender", trial, "gvisor", "lwip", "kernel", "smoltcp")
	octets := int(link.Rate / 8 * 2)
	if stack == "lwip" || stack == "smoltcp" {
		octets = int(min(link.Rate/8, 11680/(link.RTT+2)*1000) * 2)
	}
	times := []string{fmt.Sprintf("every=%.0f", every), fmt.Sprintf("for=%.0f", stop)}
	return caused("The sending program stops at intervals (its card is busy); nothing is outstanding meanwhile.", 1.3,
		names("sender-stalls", "sender-idle"), func(r *Run, hasCause bool) (*Setup, error) {
			there, back := link.Stages(nil, nil)
			set := &Setup{There: there, Back: back}
			var settings []string
			if hasCause {
				settings = times
			}
			var err error
			switch stack {
			case "lwip":
				set.Left, set.Right, set.Drive, err = r.withProgram(true, "lwip", "medium", octets, settings...)
			case "smoltcp":
				set.Left, set.Right, set.Drive, err = r.withProgram(true, "smoltcp", "", octets, append(settings, "tx=11680")...)
			default:
				if stack == "gvisor" {
					set.Left, err = r.Netstack(true, station.NetstackOptions{SendBuffer: 60000})
				} else {
					set.Left, err = r.End(true, "kernel-cubic")
				}
				if err != nil {
					return nil, err
				}
				set.Right, err = r.End(false, "kernel-cubic")
				source := append([]string{key("octets", octets), "write=8192", "sndbuf=60000"}, settings...)
				set.Drive = stream(set.Left, set.Right, source, nil)
			}
			return set, err
		})
}

// sleepingRadio: the server's radio sleeps when idle; the first request after a pause waits for it, those after it do not.
func sleepingRadio(d *Draw, trial int) *Trial {
	rtt, rate := d.Log("rtt_ms", 2, 12), d.Log("rate", 4e6, 20e6)
	wake, idle := d.Log("wake_ms", 90, 350), d.Log("idle_ms", 40, 120)
	pause := d.Log("pause_ms", 300, 600)
	burst := 3 + d.IntN(3)
	left, right := Turn(d, "server", trial, "kernel-cubic", "gvisor-cubic"), Turn(d, "client", trial, "gvisor-cubic", "kernel-cubic", "kernel-cubic")
	request, answer := d.Whole("request", 50, 300), d.Whole("answer", 100, 1200)
	random := d.Random()
	t := caused("The station's radio sleeps when idle: the first packet after a pause waits until it wakes up.", 0,
		names("wake-up-latency", "client-think-time"), func(r *Run, hasCause bool) (*Setup, error) {
			a, b, err := r.Ends(left, right)
			if err != nil {
				return nil, err
			}
			link := path.Rate{BitsPerS: rate, Octets: 60000, Ethernet: true, Name: "link"}
			sizes := []string{key("request", request), key("answer", answer)}
			return &Setup{Left: a, Right: b, There: []path.Stage{link.Stage(), path.Delay(ms(rtt / 4)), nil, path.Delay(ms(rtt / 4))},
				Back: []path.Stage{path.Delay(ms(rtt / 4)), nil, path.Delay(ms(rtt / 4)), link.Stage(),
					path.Sleep(ms(idle), ms(wake), random())},
				Drive: asks(a, b, sizes, append(sizes, "nodelay=1", key("count", 8*burst), key("burst", burst), key("pause", pause)))}, nil
		})
	t.Other = map[string]Answer{"sender": {Expected: names("unknown"),
		Reason: "At the sleeping station itself requests merely arrive with pauses."}}
	t.Check = atLeast("woken", 5)
	return t
}
