package programs

import (
	"fmt"
	"time"

	"linerate.dev/lab/virtual/ends"
	"linerate.dev/lab/virtual/loop"
)

// bulk is a file, up or down, over one connection or several: raw (iperf, FTP's data), or with HTTP's head.
func (p *pair) bulk() {
	c := p.config
	n := max(c.Connections, 1)
	p.left = n
	each := c.Octets / n
	listenAt := func() {
		p.server.Listen(uint16(c.Port), func(conn ends.Conn) {
			p.server.Start(func(proc *loop.Proc) {
				s := open(proc, conn)
				if c.Up {
					p.drain(s, each, c.Flavour == "http")
					s.Sleep(100 * time.Millisecond)
					p.done()
				} else {
					p.fill(s, each)
				}
			})
		})
	}
	listenAt()
	for i := range n {
		p.After(time.Duration(i)*3*time.Millisecond, func() {
			p.client.Start(func(proc *loop.Proc) {
				s := p.dial(proc, p.client, c.Port)
				if s == nil {
					p.report.Failures++
					p.done()
					return
				}
				if c.Up {
					// The transfer is over when the server has all of it.
					p.fill(s, each)
					return
				}
				p.drain(s, each, c.Flavour == "http")
				s.Sleep(100 * time.Millisecond)
				p.done()
			})
		})
	}
}

// fill writes a file, in blocks where it has to prepare them.
func (p *pair) fill(s *stream, octets int) {
	c := p.config
	switch {
	case c.Flavour == "http" && c.Up:
		s.write(fmt.Appendf(nil, "PUT /upload/%08x.bin HTTP/1.1\r\nHost: files.example\r\nUser-Agent: curl/8.9.1\r\nContent-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n", p.Random.Uint32(), octets))
	case c.Flavour == "http":
		if s.head(60*time.Second) == nil {
			return
		}
		s.write(fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nServer: nginx/1.26.2\r\nContent-Type: application/octet-stream\r\nContent-Length: %d\r\nConnection: close\r\n\r\n", octets))
	}
	block := c.Block
	if block == 0 {
		block = 65536
	}
	data := filler(p.Loop, min(block, max(octets, 1)))
	for left := octets; left > 0; left -= block {
		if !s.write(data[:min(left, len(data))]) {
			p.report.Failures++
			return
		}
		p.report.Sent += min(left, len(data))
		if c.Fault == "hangs-up" && p.report.Sent > octets*2/5 {
			s.Abort()
			return
		}
		if c.BlockMS > 0 && left > block {
			wait := spread(p.Loop, c.BlockMS, c.BlockSpread)
			p.report.wait("writer_s", wait)
			s.Sleep(wait)
		}
	}
	s.Close()
}

// drain reads a file, at once or as slowly as its program does.
func (p *pair) drain(s *stream, octets int, hasHead bool) {
	c := p.config
	if hasHead && !c.Up {
		s.write(fmt.Appendf(nil, "GET /files/%08x.bin HTTP/1.1\r\nHost: files.example\r\nUser-Agent: curl/8.9.1\r\nAccept: */*\r\n\r\n", p.Random.Uint32()))
	}
	if hasHead {
		if s.head(60*time.Second) == nil {
			return
		}
	}
	most := c.ReadOctets
	if most == 0 {
		most = 65536
	}
	got := 0
	for {
		var data []byte
		if c.ReadMS > 0 && c.Fault == "whole-blocks" {
			data = s.exactly(min(most, max(octets-got, 1)), 120*time.Second)
		} else {
			data = s.some(most, 120*time.Second)
		}
		if data == nil {
			break
		}
		got += len(data)
		p.report.add(p.Loop, len(data))
		if c.Fault == "reader-quits" && got > octets*2/5 {
			s.Abort()
			return
		}
		if c.ReadMS > 0 {
			wait := spread(p.Loop, c.ReadMS, c.BlockSpread)
			p.report.wait("reader_s", wait)
			s.Sleep(wait)
		}
	}
	s.Close()
}
