package ends

import (
	"encoding/binary"
	"time"

	"linerate.dev/lab/virtual/wire"
)

// small is a TCP as hobbyists and vendors of small modules write it: RFC 9293 without what is optional.
type small struct {
	*Board
	conns   []*smallConn
	accepts map[uint16]func(Conn)
	sockets map[uint16]*smallSocket
	id      uint16
	port    uint16
	resent  int
	gaps    int
}

type smallConn struct {
	*small
	peer                wire.Address
	local, remote       uint16
	state               byte // 's' sent SYN, 'r' received SYN, 'o' open, 'c' closed
	una, next, top, isn uint32
	window, peerMSS     int
	out                 []byte // from una on
	finOut, finSent     bool
	expected            uint32
	in                  []byte
	finIn               bool
	told                uint32 // right edge of the window that was told
	unacked             int
	ackAt, resendAt     time.Duration
	backoff             uint
	copies              int
	srtt                time.Duration
	timed               uint32
	timedAt             time.Duration
	notify              func()
	failed, isAborted   bool
	mustAck             bool
	recover             uint32
}

func newSmall(b *Board) *small {
	return &small{Board: b, accepts: map[uint16]func(Conn){}, sockets: map[uint16]*smallSocket{},
		id: uint16(b.Random.Intn(60000)), port: uint16(49152 + b.Random.Intn(8000))}
}

func (s *small) dial(to wire.Address, port uint16) Conn {
	s.port++
	c := s.open(to, s.port, port)
	c.state = 's'
	c.segment(wire.SYN, c.isn, nil)
	c.next, c.top = c.isn+1, c.isn+1
	c.arm()
	return c
}

func (s *small) open(to wire.Address, local, remote uint16) *smallConn {
	c := &smallConn{small: s, peer: to, local: local, remote: remote, isn: s.Random.Uint32(), peerMSS: 536, srtt: -1}
	c.una = c.isn
	s.conns = append(s.conns, c)
	return c
}

func (s *small) listen(port uint16, accept func(Conn)) { s.accepts[port] = accept }

func (s *small) input(ip []byte) {
	if wire.Sum(ip[:20], 0) != 0xffff {
		return
	}
	from := wire.Address(ip[12:16])
	if ip[9] == wire.UDP && len(ip) >= 28 {
		if it := s.sockets[binary.BigEndian.Uint16(ip[22:])]; it != nil {
			it.queue = append(it.queue, datagram{append([]byte(nil), ip[28:]...), from, binary.BigEndian.Uint16(ip[20:])})
			if it.notify != nil {
				it.notify()
			}
		}
		return
	}
	at, payload, ok := wire.Segment(ip)
	if !ok || wire.Sum(ip[at:], wire.Pseudo(ip)) != 0xffff {
		return
	}
	tcp := ip[at:]
	remote, local := binary.BigEndian.Uint16(tcp), binary.BigEndian.Uint16(tcp[2:])
	flags := tcp[13]
	for _, c := range s.conns {
		if c.state != 'c' && c.local == local && c.remote == remote && c.peer == from {
			c.take(tcp, payload)
			return
		}
	}
	accept := s.accepts[local]
	open := 0
	for _, c := range s.conns {
		if c.state != 'c' && c.local == local {
			open++
		}
	}
	if flags&wire.SYN != 0 && flags&wire.ACK == 0 && accept != nil && (s.config.Backlog == 0 || open < s.config.Backlog) {
		c := s.open(from, local, remote)
		c.state = 'r'
		c.readOptions(tcp)
		c.expected = binary.BigEndian.Uint32(tcp[4:]) + 1
		c.window = int(binary.BigEndian.Uint16(tcp[14:]))
		c.segment(wire.SYN|wire.ACK, c.isn, nil)
		c.next, c.top = c.isn+1, c.isn+1
		c.arm()
		return
	}
	if flags&wire.RST == 0 {
		s.refuse(from, tcp, payload)
	}
}

func (s *small) refuse(to wire.Address, tcp []byte, payload int) {
	c := &smallConn{small: s, peer: to, local: binary.BigEndian.Uint16(tcp[2:]), remote: binary.BigEndian.Uint16(tcp)}
	c.expected = binary.BigEndian.Uint32(tcp[4:]) + uint32(payload)
	if tcp[13]&(wire.SYN|wire.FIN) != 0 {
		c.expected++
	}
	c.segment(wire.RST|wire.ACK, binary.BigEndian.Uint32(tcp[8:]), nil)
}

func (c *smallConn) readOptions(tcp []byte) {
	options := tcp[20 : int(tcp[12]>>4)*4]
	for i := 0; i+1 < len(options) && options[i] != 0; {
		if options[i] == 1 {
			i++
			continue
		}
		if options[i] == 2 && i+4 <= len(options) {
			c.peerMSS = int(binary.BigEndian.Uint16(options[i+2:]))
		}
		i += max(int(options[i+1]), 2)
	}
}

func (c *smallConn) room() int { return max(0, c.windowSize()-len(c.in)) }

func (c *smallConn) windowSize() int {
	if c.config.Window > 0 {
		return c.config.Window
	}
	return 4 * 1460
}

func (c *smallConn) mss() int {
	own := c.config.MSS
	if own == 0 {
		own = 1460
	}
	return min(own, c.peerMSS)
}

// segment sends one.
func (c *smallConn) segment(flags byte, sequence uint32, payload []byte) {
	var options []byte
	if flags&wire.SYN != 0 && !c.config.NoMSS {
		own := c.config.MSS
		if own == 0 {
			own = 1460
		}
		options = []byte{2, 4, byte(own >> 8), byte(own)}
	}
	tcp := make([]byte, 20, 24+len(payload))
	binary.BigEndian.PutUint16(tcp, c.local)
	binary.BigEndian.PutUint16(tcp[2:], c.remote)
	binary.BigEndian.PutUint32(tcp[4:], sequence)
	if flags != wire.SYN {
		flags |= wire.ACK
		binary.BigEndian.PutUint32(tcp[8:], c.expected)
	}
	tcp[12] = byte(5+len(options)/4) << 4
	tcp[13] = flags
	binary.BigEndian.PutUint16(tcp[14:], uint16(min(c.room(), 65535)))
	tcp = append(append(tcp, options...), payload...)
	c.told = c.expected + uint32(c.room())
	c.unacked, c.ackAt, c.mustAck = 0, 0, false
	c.id++
	c.output(wire.Packet(c.IP, c.peer, wire.TCP, c.id, 64, tcp))
}

func (c *smallConn) arm() {
	first := duration(c.config.RTOms)
	if first == 0 {
		first = time.Second
	}
	if c.srtt >= 0 && c.config.RTOms == 0 {
		first = max(300*time.Millisecond, 2*c.srtt)
	}
	c.resendAt = c.Loop.Now() + first<<min(c.backoff, 6)
}

func (c *smallConn) take(tcp []byte, payload int) {
	sequence, ack := binary.BigEndian.Uint32(tcp[4:]), binary.BigEndian.Uint32(tcp[8:])
	flags := tcp[13]
	if flags&wire.RST != 0 {
		c.fail()
		return
	}
	window := int(binary.BigEndian.Uint16(tcp[14:]))
	if c.state == 's' {
		if flags&(wire.SYN|wire.ACK) != wire.SYN|wire.ACK || ack != c.isn+1 {
			return
		}
		c.readOptions(tcp)
		c.expected = sequence + 1
		c.una, c.window, c.state, c.resendAt, c.backoff = ack, window, 'o', 0, 0
		c.mustAck = true
		c.changed()
		return
	}
	if flags&wire.SYN != 0 {
		c.segment(wire.SYN, c.isn, nil)
		return
	}
	if c.state == 'r' && ack == c.isn+1 {
		c.una, c.state, c.resendAt, c.backoff = ack, 'o', 0, 0
		c.accepts[c.local](c)
	}
	c.acknowledge(ack, window, payload)
	if payload > 0 || flags&wire.FIN != 0 {
		c.receive(sequence, tcp[len(tcp)-payload:], flags)
	}
	c.changed()
}

func (c *smallConn) acknowledge(ack uint32, window, payload int) {
	switch done := int32(ack - c.una); {
	case done > 0 && int32(ack-c.top) <= 0:
		n := min(int(done), len(c.out))
		c.out = c.out[n:]
		c.una, c.copies, c.backoff = ack, 0, 0
		if int32(c.next-c.una) < 0 {
			c.next = c.una
		}
		if c.timedAt > 0 && int32(ack-c.timed) >= 0 {
			took := c.Loop.Now() - c.timedAt
			if c.srtt < 0 {
				c.srtt = took
			}
			c.srtt += (took - c.srtt) / 8
			c.timedAt = 0
		}
		c.resendAt = 0
		if c.next != c.una {
			c.arm()
		}
	case done == 0 && payload == 0 && c.next != c.una && window == c.window:
		c.copies++
		if c.copies == 3 && !c.config.NoFastResend && int32(c.una-c.recover) >= 0 {
			c.recover = c.top
			c.resent++
			c.segment(wire.PSH, c.una, c.out[:min(c.mss(), len(c.out))])
		}
	}
	c.window = window
}

func (c *smallConn) receive(sequence uint32, data []byte, flags byte) {
	if skip := int32(c.expected - sequence); skip > 0 {
		if int(skip) > len(data) || int(skip) == len(data) && flags&wire.FIN == 0 {
			c.mustAck = true
			return
		}
		data = data[skip:]
	} else if skip < 0 {
		c.gaps++
		c.mustAck = true
		c.flush()
		return
	}
	n := min(len(data), c.room())
	c.in = append(c.in, data[:n]...)
	c.expected += uint32(n)
	if flags&wire.FIN != 0 && n == len(data) && !c.finIn {
		c.finIn = true
		c.expected++
		c.mustAck = true
	}
	c.unacked++
	every := max(c.config.AckEvery, 1)
	if c.unacked >= every || n < len(data) {
		c.mustAck = true
	} else if c.ackAt == 0 {
		c.ackAt = c.Loop.Now() + duration(c.config.AckDelayMS)
	}
}

// flush sends an acknowledgment that is due.
func (c *smallConn) flush() {
	if c.mustAck {
		c.segment(0, c.next, nil)
	}
}

func (c *smallConn) changed() {
	if c.notify != nil {
		c.notify()
	}
}

func (c *smallConn) fail() {
	c.state, c.failed, c.resendAt, c.ackAt = 'c', true, 0, 0
	c.changed()
}
