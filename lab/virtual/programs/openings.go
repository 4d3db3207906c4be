package programs

import (
	"time"

	"linerate.dev/lab/virtual/ends"
	"linerate.dev/lab/virtual/loop"
)

// names is a client that looks a name up before each of its requests; the name server answers late, or not at first.
func (p *pair) names() {
	c := p.config
	p.left = 1
	name := p.server.Bind(53)
	lost := c.NameLost
	p.server.Start(func(proc *loop.Proc) {
		name.Notify(proc.Wake)
		for {
			var answer func()
			proc.Until(0, func() bool {
				data, from, port, ok := name.Recv()
				if ok {
					answer = func() { name.SendTo(dns(numberOf("dns", data, 0), true), from, port) }
				}
				return ok
			})
			if lost > 0 {
				lost--
				continue
			}
			wait := spread(p.Loop, c.NameMS, 0.3)
			p.After(wait, answer)
			lost = c.NameLost
		}
	})
	next := 0
	p.server.Listen(uint16(c.Port), func(conn ends.Conn) {
		p.server.Start(func(proc *loop.Proc) { p.serve(open(proc, conn), &next) })
	})
	p.client.Start(func(proc *loop.Proc) {
		defer p.done()
		socket := p.client.Bind(0)
		socket.Notify(proc.Wake)
		for i := range c.Count {
			begin := p.Now()
			for try := 0; try < 5; try++ {
				socket.SendTo(dns(i, false), p.address, 53)
				if proc.Until(time.Duration(c.RetryMS*1e6), func() bool {
					_, _, _, ok := socket.Recv()
					return ok
				}) {
					break
				}
			}
			p.report.wait("name_s", p.Now()-begin)
			inner := *p
			inner.config.WaitMS = 0
			inner.ask(proc, i, c.Depth)
			proc.Sleep(spread(p.Loop, c.WaitMS, c.WaitSpread))
		}
	})
}

// attempts is a client that tries to connect again and again.
func (p *pair) attempts() {
	c := p.config
	p.left = 1
	if c.Fault == "closed-later" || c.Fault == "" {
		next := 0
		p.server.Listen(uint16(c.Port), func(conn ends.Conn) {
			p.server.Start(func(proc *loop.Proc) { p.serve(open(proc, conn), &next) })
		})
	}
	p.client.Start(func(proc *loop.Proc) {
		defer p.done()
		for range c.Count {
			s := open(proc, p.client.Dial(p.address, uint16(c.Port)))
			limit := time.Duration(c.RetryMS * 1e6)
			proc.Until(limit, func() bool { return s.IsOpen() || s.HasFailed() })
			if s.IsOpen() {
				request, answer := p.exchange(p.report.Sent)
				p.report.Sent++
				s.write(request)
				if s.exactly(len(answer), limit) != nil {
					p.report.Messages++
					p.report.add(p.Loop, len(answer))
				} else {
					p.report.Failures++
				}
				s.Close()
			} else {
				p.report.Failures++
				s.Abort()
			}
			proc.Sleep(spread(p.Loop, c.WaitMS, c.WaitSpread))
		}
	})
}
