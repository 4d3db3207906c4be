package ends

import (
	"encoding/binary"
	"time"

	"linerate.dev/lab/virtual/wire"
)

// child is a stack of other people, which is told the time and gives packets. Its calls are those of board/smoltcp and
// board/mongoose.c.
type child struct {
	*Board
	perform   func(call, answer []byte) int
	answer    []byte
	after     time.Duration
	conns     []*childConn
	sockets   []*childSocket
	listeners []*listener
	hasAccept bool
	port      uint16
}

type listener struct {
	number  int
	port    uint16
	accept  func(Conn)
	isSpent bool
}

func newSmoltcp(b *Board) boardStack {
	// One socket listens for one connection: two wait.
	return newChild(b, callSmoltcp, false)
}

func newMongoose(b *Board) boardStack { return newChild(b, callMongoose, true) }

func newChild(b *Board, perform func(call, answer []byte) int, hasAccept bool) boardStack {
	c := &child{Board: b, perform: perform, answer: make([]byte, 1<<20), hasAccept: hasAccept, port: uint16(49152 + b.Random.Intn(9000)), after: -1}
	packet := 1500
	if b.config.MSS > 0 {
		packet = b.config.MSS + 40
	}
	var data []byte
	nagle := 0
	if b.config.Nagle {
		nagle = 1
	}
	for _, it := range []int{0, packet, or(b.config.Window, 5840), or(b.config.Buffer, 5840), nagle, int(b.config.AckDelayMS) + 1, b.Random.Intn(1 << 30)} {
		data = binary.LittleEndian.AppendUint32(data, uint32(it))
	}
	binary.LittleEndian.PutUint32(data, binary.BigEndian.Uint32(b.Gateway[:]))
	c.write(0, binary.BigEndian.Uint32(b.IP[:]), 0, data)
	return c
}

func or(value, otherwise int) int {
	if value == 0 {
		return otherwise
	}
	return value
}

func (c *child) write(what byte, a, b uint32, data []byte) []byte {
	call := []byte{what}
	call = binary.LittleEndian.AppendUint32(call, a)
	call = binary.LittleEndian.AppendUint32(call, b)
	call = binary.LittleEndian.AppendUint64(call, uint64(c.Loop.Now().Microseconds()))
	call = binary.LittleEndian.AppendUint32(call, uint32(len(data)))
	return c.answer[:c.perform(append(call, data...), c.answer)]
}

// call asks the stack, and sends the packets that it gives.
func (c *child) call(what byte, a, b uint32, data []byte) (int, []byte) {
	rest := c.write(what, a, b, data)
	take := func(n int) []byte {
		it := rest[:n]
		rest = rest[n:]
		return it
	}
	size := func() int { return int(binary.LittleEndian.Uint32(take(4))) }
	result := int(int32(size()))
	next := int64(binary.LittleEndian.Uint64(take(8)))
	answer := append([]byte(nil), take(size())...)
	for range size() {
		c.output(append([]byte(nil), take(size())...))
	}
	c.after = -1
	if next >= 0 {
		c.after = time.Duration(next) * time.Microsecond
	}
	return result, answer
}

func (c *child) input(ip []byte) {
	c.call(1, 0, 0, ip)
	c.look()
}

func (c *child) poll() {
	c.call(2, 0, 0, nil)
	c.look()
}

func (c *child) next() time.Duration { return c.after }

// look notifies programs of what has changed.
func (c *child) look() {
	for _, it := range c.listeners {
		if c.hasAccept {
			for {
				number, _ := c.call(13, uint32(it.number), 0, nil)
				if number < 0 {
					break
				}
				c.accepted(it, number)
			}
		} else if state, _ := c.call(9, uint32(it.number), 0, nil); state == 1 && !it.isSpent {
			it.isSpent = true
			c.accepted(it, it.number)
			c.listen(it.port, it.accept)
		}
	}
	for _, it := range c.conns {
		if it.notify != nil && !it.isDone {
			it.notify()
		}
	}
	for _, it := range c.sockets {
		if it.notify != nil {
			it.notify()
		}
	}
}

func (c *child) accepted(l *listener, number int) {
	it := &childConn{child: c, number: number}
	c.conns = append(c.conns, it)
	_, found := it.state()
	if len(found) >= 10 {
		it.peer, it.remote = wire.Address(found[4:8]), binary.LittleEndian.Uint16(found[8:])
	}
	l.accept(it)
}

func (c *child) listen(port uint16, accept func(Conn)) {
	number, _ := c.call(3, uint32(port), 0, nil)
	c.listeners = append(c.listeners, &listener{number: number, port: port, accept: accept})
}

func (c *child) dial(to wire.Address, port uint16) Conn {
	c.port++
	number, _ := c.call(4, binary.BigEndian.Uint32(to[:]), uint32(port)|uint32(c.port)<<16, nil)
	it := &childConn{child: c, number: number, peer: to, remote: port}
	c.conns = append(c.conns, it)
	return it
}

func (c *child) bind(port uint16) Socket {
	if port == 0 {
		c.port++
		port = c.port
	}
	number, _ := c.call(10, uint32(port), 0, nil)
	it := &childSocket{child: c, number: number}
	c.sockets = append(c.sockets, it)
	return it
}

type childConn struct {
	*child
	number int
	peer   wire.Address
	remote uint16
	notify func()
	isDone bool
}

func (c *childConn) state() (int, []byte) { return c.call(9, uint32(c.number), 0, nil) }

func (c *childConn) Send(data []byte) int {
	if state, _ := c.state(); state == 0 {
		return 0
	}
	n, _ := c.call(5, uint32(c.number), 0, data[:min(len(data), 60000)])
	c.kick()
	return n
}

func (c *childConn) Recv(data []byte) int {
	n, found := c.call(6, uint32(c.number), uint32(min(len(data), 60000)), nil)
	copy(data, found)
	if n > 0 {
		c.kick()
	}
	c.isDone = n < 0
	return n
}

func (c *childConn) IsOpen() bool {
	state, _ := c.state()
	return state == 1
}

func (c *childConn) HasFailed() bool {
	state, _ := c.state()
	return state == 2
}

func (c *childConn) Acknowledged() bool {
	_, found := c.state()
	return binary.LittleEndian.Uint32(found) == 0
}

func (c *childConn) Notify(call func())           { c.notify = call }
func (c *childConn) Peer() (wire.Address, uint16) { return c.peer, c.remote }
func (c *childConn) Close() {
	c.call(7, uint32(c.number), 0, nil)
	c.kick()
}
func (c *childConn) Abort() {
	c.call(8, uint32(c.number), 0, nil)
	c.kick()
}

type childSocket struct {
	*child
	number int
	notify func()
}

func (s *childSocket) SendTo(data []byte, to wire.Address, port uint16) {
	s.call(11, uint32(s.number), uint32(port), append(append([]byte(nil), to[:]...), data...))
	s.kick()
}

func (s *childSocket) Recv() ([]byte, wire.Address, uint16, bool) {
	port, found := s.call(12, uint32(s.number), 0, nil)
	if port < 0 {
		return nil, wire.Address{}, 0, false
	}
	return found[4:], wire.Address(found[:4]), uint16(port), true
}
func (s *childSocket) Notify(call func()) { s.notify = call }
