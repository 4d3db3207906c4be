package ends

import "linerate.dev/lab/virtual/wire"

func (c *smallConn) Send(data []byte) int {
	if c.failed || c.finOut {
		return -1
	}
	if c.state != 'o' {
		return 0
	}
	buffer := c.config.Buffer
	if buffer == 0 {
		buffer = 4 * 1460
	}
	n := min(len(data), max(0, buffer-len(c.out)))
	c.out = append(c.out, data[:n]...)
	c.kick()
	return n
}

func (c *smallConn) Recv(data []byte) int {
	n := copy(data, c.in)
	c.in = c.in[n:]
	if n == 0 {
		if c.finIn || c.failed {
			return -1
		}
		return 0
	}
	// The window is advertised again when it grew by a segment or half of the buffer (RFC 9293 section 3.8.6.2.2), or at once.
	grown := int(c.expected + uint32(c.room()) - c.told)
	// A stack that delays acknowledgments advertises it with them.
	isDelayed := c.config.AckDelayMS > 0 && c.ackAt > 0
	if grown >= min(c.mss(), c.windowSize()/2) && !isDelayed || c.config.TellsOctets {
		c.mustAck = true
		c.kick()
	}
	return n
}

func (c *smallConn) IsOpen() bool                     { return c.state == 'o' }
func (c *smallConn) HasFailed() bool                  { return c.failed }
func (c *smallConn) Notify(call func())               { c.notify = call }
func (c *smallConn) Acknowledged() bool               { return len(c.out) == 0 }
func (c *smallConn) Peer() (w wire.Address, p uint16) { return c.peer, c.remote }
func (c *smallConn) Close() {
	c.finOut = true
	c.kick()
}
func (c *smallConn) Abort() {
	if c.state != 'c' {
		c.segment(wire.RST, c.next, nil)
		c.state, c.failed = 'c', true
	}
}

type datagram struct {
	data []byte
	from wire.Address
	port uint16
}

type smallSocket struct {
	*small
	port   uint16
	queue  []datagram
	notify func()
}

func (s *small) bind(port uint16) Socket {
	if port == 0 {
		s.port++
		port = s.port
	}
	s.sockets[port] = &smallSocket{small: s, port: port}
	return s.sockets[port]
}

func (s *smallSocket) SendTo(data []byte, to wire.Address, port uint16) {
	s.id++
	s.output(wire.Packet(s.IP, to, wire.UDP, s.id, 64, wire.Datagram(s.port, port, data)))
}

func (s *smallSocket) Recv() ([]byte, wire.Address, uint16, bool) {
	if len(s.queue) == 0 {
		return nil, wire.Address{}, 0, false
	}
	it := s.queue[0]
	s.queue = s.queue[1:]
	return it.data, it.from, it.port, true
}
func (s *smallSocket) Notify(call func()) { s.notify = call }
