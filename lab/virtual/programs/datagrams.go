package programs

import (
	"encoding/binary"
	"fmt"
	"time"

	"linerate.dev/lab/virtual/ends"
	"linerate.dev/lab/virtual/loop"
	"linerate.dev/lab/virtual/wire"
)

// rtp builds a packet of RTP (RFC 3550).
func rtp(l *loop.Loop, i, size int, step uint32) []byte {
	data := filler(l, max(size, 12))
	data[0], data[1] = 0x80, 96
	binary.BigEndian.PutUint16(data[2:], uint16(i))
	binary.BigEndian.PutUint32(data[4:], uint32(i)*step)
	binary.BigEndian.PutUint32(data[8:], 0x5eed0001)
	return data
}

// source sends datagrams at a rate, in bursts where that is how they come.
func (p *pair) source(from ends.Station, socket ends.Socket, port int, isMain bool) {
	c := p.config
	from.Start(func(proc *loop.Proc) {
		if isMain {
			defer p.done()
		}
		burst := max(c.Burst, 1)
		interval := time.Duration(float64(c.Size*8*burst) / c.Rate * 1e9)
		if c.EachMS > 0 {
			interval = time.Duration(c.EachMS * 1e6)
		}
		begin := p.Now()
		for i := 0; p.Now()-begin < time.Duration(c.ForMS*1e6); {
			for range burst {
				data := rtp(p.Loop, i, c.Size, 160)
				if c.Flavour == "syslog" {
					data = fmt.Appendf(nil, "<134>1 2026-11-30T12:00:%02dZ gw app %d - - %x", i%60, i, data[:min(len(data), 300)])
				}
				socket.SendTo(data, p.address, uint16(port))
				p.report.Sent++
				i++
			}
			proc.Sleep(begin + time.Duration(i/burst)*interval - p.Now())
		}
		proc.Sleep(500 * time.Millisecond)
	})
}

func (p *pair) sinkOf(at ends.Station, port int, answer bool) {
	socket := at.Bind(uint16(port))
	at.Start(func(proc *loop.Proc) {
		socket.Notify(proc.Wake)
		for {
			var data []byte
			var from wire.Address
			var back uint16
			proc.Until(0, func() bool {
				var ok bool
				data, from, back, ok = socket.Recv()
				return ok
			})
			p.report.add(p.Loop, len(data))
			p.report.Messages++
			if answer {
				socket.SendTo(data, from, back)
			}
		}
	})
}

// datagrams is a stream in one direction: the server's, after a request, or the client's.
func (p *pair) datagrams() {
	c := p.config
	p.left = 1
	if c.Up {
		p.sinkOf(p.server, c.Port, false)
		p.source(p.client, p.client.Bind(0), c.Port, true)
		return
	}
	server := p.server.Bind(uint16(c.Port))
	client := p.client.Bind(uint16(c.Port + 1))
	p.client.Start(func(proc *loop.Proc) {
		client.Notify(proc.Wake)
		client.SendTo([]byte("PLAY 1"), p.address, uint16(c.Port))
		for {
			var data []byte
			proc.Until(0, func() bool {
				var ok bool
				data, _, _, ok = client.Recv()
				return ok
			})
			p.report.add(p.Loop, len(data))
			p.report.Messages++
		}
	})
	p.server.Start(func(proc *loop.Proc) {
		server.Notify(proc.Wake)
		var from wire.Address
		var port uint16
		proc.Until(0, func() bool {
			var ok bool
			_, from, port, ok = server.Recv()
			return ok
		})
		inner := *p
		inner.address = from
		inner.source(p.server, server, int(port), false)
		proc.Sleep(time.Duration(c.ForMS*1e6) + 600*time.Millisecond)
		p.done()
	})
}

// call is speech in both directions.
func (p *pair) call() {
	c := p.config
	p.left = 1
	socket := p.client.Bind(uint16(c.Port + 2))
	p.client.Start(func(proc *loop.Proc) {
		socket.Notify(proc.Wake)
		for {
			proc.Until(0, func() bool {
				data, _, _, ok := socket.Recv()
				if ok {
					p.report.add(p.Loop, len(data))
				}
				return ok
			})
		}
	})
	p.source(p.client, socket, c.Port, true)
	server := p.server.Bind(uint16(c.Port))
	p.server.Start(func(proc *loop.Proc) {
		server.Notify(proc.Wake)
		isBegun := false
		for {
			var from wire.Address
			var port uint16
			proc.Until(0, func() bool {
				_, from2, port2, ok := server.Recv()
				from, port = from2, port2
				return ok
			})
			p.report.Messages++
			if !isBegun {
				isBegun = true
				inner := *p
				inner.address = from
				inner.source(p.server, server, int(port), false)
			}
		}
	})
}

// question builds what a protocol of requests by UDP asks, and the answer.
func (p *pair) question(i int) (request, answer []byte) {
	c := p.config
	switch c.Flavour {
	case "snmp":
		oid := []byte{0x2b, 6, 1, 2, 1, 2, 2, 1, byte(10 + i%8), byte(1 + i%24)}
		return snmp(0xa0, i, oid, []byte{5, 0}), snmp(0xa2, i, oid, []byte{0x41, 4, byte(i), 2, 3, 4})
	case "coap":
		request = append([]byte{0x44, 1, byte(i >> 8), byte(i), 1, 2, 3, byte(i), 0xb7}, "sensors"...)
		answer = append([]byte{0x64, 0x45, byte(i >> 8), byte(i), 1, 2, 3, byte(i), 0xc0, 0xff}, filler(p.Loop, max(c.Answer, 1))...)
		return request, answer
	case "ntp":
		request = make([]byte, 48)
		request[0] = 0x23
		answer = filler(p.Loop, 48)
		answer[0], answer[1] = 0x24, 2
		return request, answer
	case "dns":
		request = dns(i, false)
		return request, dns(i, true)
	default: // BACnet/IP, ReadProperty
		return []byte{0x81, 0x0a, 0, 17, 1, 4, 0, 5, byte(i), 12, 12, 0, 128, 0, byte(i % 30), 25, 85},
			append([]byte{0x81, 0x0a, 0, 22, 1, 0, 0x30, byte(i), 12, 12, 0, 128, 0, byte(i % 30), 25, 85, 0x3e, 0x44}, filler(p.Loop, 5)...)
	}
}

func snmp(kind byte, i int, oid, value []byte) []byte {
	wrap := func(tag byte, parts ...[]byte) []byte {
		var body []byte
		for _, it := range parts {
			body = append(body, it...)
		}
		return append([]byte{tag, byte(len(body))}, body...)
	}
	bind := wrap(0x30, wrap(0x30, wrap(6, oid), value))
	pdu := wrap(kind, wrap(2, []byte{byte(i >> 8 & 127), byte(i)}), wrap(2, []byte{0}), wrap(2, []byte{0}), bind)
	return wrap(0x30, wrap(2, []byte{1}), wrap(4, []byte("public")), pdu)
}

func dns(i int, isAnswer bool) []byte {
	data := []byte{byte(0x40 + i>>8), byte(i), 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 5}
	data = append(data, "files"...)
	data = append(append(data, 7), "example"...)
	data = append(data, 0, 0, 1, 0, 1)
	if isAnswer {
		data[2], data[3], data[7] = 0x81, 0x80, 1
		data = append(data, 0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 10, 0, 2, 20)
	}
	return data
}

// asks is a client that asks by UDP, one question after the other, and asks again after a time.
func (p *pair) asks() {
	c := p.config
	p.left = 1
	server := p.server.Bind(uint16(c.Port))
	p.server.Start(func(proc *loop.Proc) {
		server.Notify(proc.Wake)
		for i := 0; ; i++ {
			var from wire.Address
			var port uint16
			var data []byte
			proc.Until(0, func() bool {
				var ok bool
				data, from, port, ok = server.Recv()
				return ok
			})
			if c.Fault == "mute" {
				continue
			}
			if c.ThinkMS > 0 {
				think := spread(p.Loop, c.ThinkMS, c.ThinkSpread)
				p.report.wait("server_s", think)
				proc.Sleep(think)
			}
			_, answer := p.question(numberOf(c.Flavour, data, i))
			server.SendTo(answer, from, port)
		}
	})
	p.client.Start(func(proc *loop.Proc) {
		defer p.done()
		socket := p.client.Bind(0)
		socket.Notify(proc.Wake)
		deadline := time.Duration(c.ForMS * 1e6)
		for i := 0; i < c.Count && (deadline == 0 || p.Now() < deadline); i++ {
			request, _ := p.question(i)
			limit := time.Duration(c.RetryMS * 1e6)
			isAnswered := false
			for try := 0; try <= c.Retries && !isAnswered; try++ {
				socket.SendTo(request, p.address, uint16(c.Port))
				p.report.Sent++
				isAnswered = proc.Until(limit, func() bool {
					data, _, _, ok := socket.Recv()
					if ok {
						p.report.add(p.Loop, len(data))
						p.report.Messages++
					}
					return ok
				})
				if c.Doubles {
					limit *= 2
				}
			}
			if !isAnswered {
				p.report.Failures++
			}
			if c.EachMS > 0 {
				period := time.Duration(c.EachMS * 1e6)
				proc.Sleep((p.Now()/period+1)*period - p.Now())
			}
			if c.WaitMS > 0 {
				wait := spread(p.Loop, c.WaitMS, c.WaitSpread)
				p.report.wait("client_s", wait)
				proc.Sleep(wait)
			}
		}
		proc.Sleep(200 * time.Millisecond)
	})
}

// numberOf reads which question it is, so that an answer has the number of its request.
func numberOf(flavour string, data []byte, otherwise int) int {
	switch {
	case flavour == "coap" && len(data) > 3:
		return int(data[2])<<8 | int(data[3])
	case flavour == "dns" && len(data) > 1:
		return int(data[0]-0x40)<<8 | int(data[1])
	case flavour == "snmp" && len(data) > 18:
		return int(data[17])<<8 | int(data[18])
	case flavour == "bacnet" && len(data) > 8:
		return int(data[8])
	}
	return otherwise
}
