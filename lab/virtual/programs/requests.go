package programs

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"time"

	"linerate.dev/lab/virtual/ends"
	"linerate.dev/lab/virtual/loop"
)

// exchange is one request with its answer; both ends draw the same ones.
func (p *pair) exchange(i int) (request, answer []byte) {
	c := p.config
	random := rand.New(rand.NewSource(int64(c.Port)*7919 + int64(i)))
	size := c.Answer
	if c.AnswerMost > c.Answer {
		size = int(math.Exp(math.Log(float64(c.Answer)) + random.Float64()*math.Log(float64(c.AnswerMost)/float64(c.Answer))))
	}
	fill := func(n int) []byte {
		data := make([]byte, max(n, 0))
		random.Read(data)
		return data
	}
	switch c.Flavour {
	case "modbus":
		n := max(min(size, 125), 1)
		request = []byte{byte(i >> 8), byte(i), 0, 0, 0, 6, 1, 3, 0, byte(i % 7 * 10), 0, byte(n)}
		answer = append([]byte{byte(i >> 8), byte(i), 0, 0, byte((3 + 2*n) >> 8), byte(3 + 2*n), 1, 3, byte(2 * n)}, fill(2*n)...)
	case "sql":
		query := fmt.Sprintf("SELECT id, name, value, changed FROM readings WHERE device = %d AND id > %d LIMIT 50", i%37, i*50)
		request = append([]byte{byte(len(query) + 1), 0, 0, 0, 3}, query...)
		answer = append([]byte{byte(size), byte(size >> 8), byte(size >> 16), 1}, fill(size)...)
	case "mqtt":
		body := append([]byte{0, 9, 's', 'e', 'n', 's', 'o', 'r', 's', '/', 'a', byte(i >> 8), byte(i)}, fill(min(c.Request, 100))...)
		request = append([]byte{0x32, byte(len(body))}, body...)
		answer = []byte{0x40, 2, byte(i >> 8), byte(i)}
	case "smb":
		request = append([]byte{0, 0, 0, 112, 0xfe, 'S', 'M', 'B', 64, 0, 1, 0, 0, 0, 0, 0, 8, 0}, fill(98)...)
		answer = append([]byte{0, byte(size >> 16), byte(size >> 8), byte(size), 0xfe, 'S', 'M', 'B', 64, 0, 1, 0}, fill(size-8)...)
	case "post":
		body := fill(c.Request)
		request = append(fmt.Appendf(nil, "POST /api/v1/records HTTP/1.1\r\nHost: api.example\r\nContent-Type: application/cbor\r\nContent-Length: %d\r\n\r\n", len(body)), body...)
		answer = fmt.Appendf(nil, "HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%s", size, fill(size))
	default:
		request = fmt.Appendf(nil, "GET /v1/items/%d HTTP/1.1\r\nHost: api.example\r\nUser-Agent: okhttp/4.12.0\r\nAccept: application/json\r\nAuthorization: Bearer %016x\r\n\r\n", i, random.Uint64())
		answer = fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", size)
		answer = append(answer, fill(size)...)
	}
	return request, answer
}

func (p *pair) octets(request, answer []byte) int {
	if p.config.Up {
		return len(request)
	}
	return len(answer)
}

// requests is a client that asks, over one connection or a new one each time.
func (p *pair) requests() {
	c := p.config
	n := max(c.Connections, 1)
	p.left = n
	next := 0
	p.server.Listen(uint16(c.Port), func(conn ends.Conn) {
		p.server.Start(func(proc *loop.Proc) { p.serve(open(proc, conn), &next) })
	})
	for k := range n {
		p.After(time.Duration(k)*7*time.Millisecond, func() {
			p.client.Start(func(proc *loop.Proc) {
				defer p.done()
				p.ask(proc, k, c.Count/n)
			})
		})
	}
}

// serve answers what comes.
func (p *pair) serve(s *stream, next *int) {
	c := p.config
	for {
		first := append([]byte(nil), s.some(1, 0)...)
		if len(first) == 0 {
			break
		}
		i := *next
		*next++
		s.rest = append(first, s.rest...)
		request, answer := p.exchange(i)
		if c.Flavour == "http" {
			// Several connections ask in any order; the path shows for what.
			if request = s.head(60 * time.Second); request == nil {
				break
			}
			fmt.Sscanf(string(request), "GET /v1/items/%d", &i)
			_, answer = p.exchange(i)
		} else if s.exactly(len(request), 60*time.Second) == nil {
			break
		}
		if c.Fault == "mute" && i >= c.Count*3/5 {
			s.Sleep(100 * time.Second)
			break
		}
		if c.ThinkMS > 0 && c.Fault == "" {
			think := spread(p.Loop, c.ThinkMS, c.ThinkSpread)
			p.report.wait("server_s", think)
			s.Sleep(think)
		}
		if c.Up {
			p.report.add(p.Loop, len(request))
		}
		s.write(answer)
		if c.IsNewEach {
			break
		}
	}
	s.Close()
}

func (p *pair) ask(proc *loop.Proc, k, count int) {
	c := p.config
	var s *stream
	sent, got := 0, 0
	var asked []int
	deadline := time.Duration(c.ForMS * 1e6)
	for got < count && (deadline == 0 || p.Now() < deadline) {
		if s == nil {
			if s = p.dial(proc, p.client, c.Port); s == nil {
				p.report.Failures++
				return
			}
			sent = got
		}
		for sent < count && sent-got < max(c.Depth, 1) {
			request, _ := p.exchange(p.report.Sent)
			asked = append(asked, p.report.Sent)
			p.report.Sent++
			sent++
			if c.Fault == "two-writes-up" {
				s.write(request[:min(c.Block, len(request))])
				s.write(request[min(c.Block, len(request)):])
			} else if !s.write(request) {
				p.report.Failures++
				return
			}
		}
		_, answer := p.exchange(asked[0])
		asked = asked[1:]
		limit := 60 * time.Second
		if c.RetryMS > 0 {
			limit = time.Duration(c.RetryMS * 1e6)
		}
		if s.exactly(len(answer), limit) == nil {
			p.report.Failures++
			s.Close()
			return
		}
		p.report.Messages++
		got++
		if !c.Up {
			p.report.add(p.Loop, len(answer))
		}
		if c.IsNewEach {
			s.Close()
			s = nil
		}
		if c.EachMS > 0 {
			period := c.EachMS * 1e6
			until := time.Duration((math.Floor(float64(p.Now())/period) + 1) * period)
			proc.Sleep(until - p.Now())
		}
		if c.WaitMS > 0 {
			wait := spread(p.Loop, c.WaitMS, c.WaitSpread)
			p.report.wait("client_s", wait)
			proc.Sleep(wait)
		}
	}
	if s != nil {
		s.Close()
	}
	proc.Sleep(200 * time.Millisecond)
}

// pages is a browser: some pages, each with objects over several connections, read by a person between.
func (p *pair) pages() {
	c := p.config
	p.left = 1
	next := 0
	p.server.Listen(uint16(c.Port), func(conn ends.Conn) {
		p.server.Start(func(proc *loop.Proc) { p.serve(open(proc, conn), &next) })
	})
	p.client.Start(func(proc *loop.Proc) {
		defer p.done()
		for page := range c.Count {
			n := max(c.Connections, 1)
			left := n
			for k := range n {
				p.After(time.Duration(k)*4*time.Millisecond, func() {
					p.client.Start(func(each *loop.Proc) {
						inner := *p
						inner.config.WaitMS = 0
						inner.ask(each, page*n+k, c.Depth)
						left--
						proc.Wake()
					})
				})
			}
			proc.Until(60*time.Second, func() bool { return left == 0 })
			if page < c.Count-1 {
				proc.Sleep(spread(p.Loop, c.WaitMS, c.WaitSpread))
			}
		}
	})
}

// events is a stream of messages that are sent when they happen: by a clock, or a source of its own.
func (p *pair) events() {
	c := p.config
	p.left = 1
	send := func(s *stream) {
		until := p.Now() + time.Duration(c.ForMS*1e6)
		for i := 0; p.Now() < until; i++ {
			n := c.Size
			if c.AnswerMost > n {
				n += p.Random.Intn(c.AnswerMost - n)
			}
			data := filler(p.Loop, n)
			if n >= 8 {
				copy(data, []byte{0x30, byte(n - 2), 0, 6, 's', 't', 'a', 't'})
				binary.BigEndian.PutUint16(data[n-2:], uint16(i))
			}
			for range max(c.Burst, 1) {
				if !s.write(data) {
					return
				}
			}
			p.report.Sent++
			s.Sleep(spread(p.Loop, c.EachMS, c.BlockSpread))
		}
		s.Close()
	}
	take := func(s *stream) {
		for {
			data := s.some(65536, 0)
			if data == nil {
				break
			}
			p.report.add(p.Loop, len(data))
			p.report.Messages++
		}
		s.Close()
	}
	p.server.Listen(uint16(c.Port), func(conn ends.Conn) {
		p.server.Start(func(proc *loop.Proc) {
			if c.Up {
				take(open(proc, conn))
			} else {
				send(open(proc, conn))
			}
		})
	})
	p.client.Start(func(proc *loop.Proc) {
		defer p.done()
		if s := p.dial(proc, p.client, c.Port); s != nil {
			if c.Up {
				send(s)
				s.Sleep(400 * time.Millisecond)
			} else {
				take(s)
			}
		}
	})
}
