package ends

import (
	"bytes"
	"io"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"

	"linerate.dev/lab/virtual/wire"
)

type hostConn struct {
	host   *Host
	ep     tcpip.Endpoint
	queue  *waiter.Queue
	notify func()
	isOpen bool
	failed bool
	ended  bool
	peer   wire.Address
	port   uint16
	sent   int64
	wants  bool
	// How long what limited the sender.
	limits map[string]time.Duration
}

func (h *Host) conn(ep tcpip.Endpoint, queue *waiter.Queue) *hostConn {
	c := &hostConn{host: h, ep: ep, queue: queue, limits: map[string]time.Duration{}}
	h.conns = append(h.conns, c)
	entry := waiter.NewFunctionEntry(waiter.ReadableEvents|waiter.WritableEvents|waiter.EventErr|waiter.EventHUp, func(waiter.EventMask) {
		h.After(0, c.changed)
	})
	queue.EventRegister(&entry)
	ep.SocketOptions().SetDelayOption(h.config.Nagle)
	h.After(5*time.Millisecond, c.sample)
	return c
}

// sample notes what limits the sender now.
func (c *hostConn) sample() {
	const each = 5 * time.Millisecond
	if c.failed || c.ended && !c.wants {
		return
	}
	if c.isOpen && c.sent > 0 {
		var info tcpip.TCPInfoOption
		c.ep.GetSockOpt(&info)
		unsent, _ := c.ep.GetSockOptInt(tcpip.SendQueueSizeOption)
		switch {
		case info.CcState != tcpip.Open && info.CcState != 0:
			c.limits["recovery"] += each
		case !c.wants && unsent == 0:
			c.limits["program"] += each
		default:
			c.limits["path_or_window"] += each
		}
	}
	c.host.After(each, c.sample)
}

func (c *hostConn) changed() {
	if !c.isOpen && !c.failed {
		switch state := tcp.EndpointState(c.ep.State()); state {
		case tcp.StateEstablished, tcp.StateCloseWait, tcp.StateFinWait1, tcp.StateFinWait2:
			c.isOpen = true
		case tcp.StateError, tcp.StateClose:
			c.failed = true
		}
	} else if tcp.EndpointState(c.ep.State()) == tcp.StateError {
		c.failed = true
	}
	if c.notify != nil {
		c.notify()
	}
}

func (c *hostConn) Send(data []byte) int {
	if !c.isOpen || c.failed {
		return -1
	}
	n, err := c.ep.Write(bytes.NewReader(data), tcpip.WriteOptions{})
	c.wants = int(n) < len(data)
	c.sent += n
	switch err.(type) {
	case nil, *tcpip.ErrWouldBlock:
		return int(n)
	}
	return -1
}

type sink struct {
	data []byte
	n    int
}

func (s *sink) Write(p []byte) (int, error) {
	n := copy(s.data[s.n:], p)
	s.n += n
	return n, nil
}

func (c *hostConn) Recv(data []byte) int {
	s := &sink{data: data}
	_, err := c.ep.Read(&limited{s}, tcpip.ReadOptions{})
	switch err.(type) {
	case nil:
		c.ep.ModerateRecvBuf(s.n)
		return s.n
	case *tcpip.ErrWouldBlock:
		return 0
	}
	c.ended = true
	return -1
}

// limited informs the stack that no more room is left.
type limited struct{ *sink }

func (l *limited) Write(p []byte) (int, error) {
	n, _ := l.sink.Write(p)
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

func (c *hostConn) IsOpen() bool       { return c.isOpen }
func (c *hostConn) HasFailed() bool    { return c.failed }
func (c *hostConn) Notify(call func()) { c.notify = call }
func (c *hostConn) Acknowledged() bool {
	n, err := c.ep.GetSockOptInt(tcpip.SendQueueSizeOption)
	return n <= 0 || err != nil
}
func (c *hostConn) Peer() (wire.Address, uint16) { return c.peer, c.port }
func (c *hostConn) Close() {
	c.wants = false
	c.ended = true
	c.ep.Shutdown(tcpip.ShutdownWrite)
}
func (c *hostConn) Abort() {
	c.failed = true
	c.ep.Abort()
}

// Dial opens a connection.
func (h *Host) Dial(to wire.Address, port uint16) Conn {
	queue := &waiter.Queue{}
	ep, err := h.stack.NewEndpoint(tcp.ProtocolNumber, ipv4.ProtocolNumber, queue)
	if err != nil {
		panic(err.String())
	}
	c := h.conn(ep, queue)
	c.peer, c.port = to, port
	ep.Bind(tcpip.FullAddress{NIC: 1, Addr: tcpip.AddrFrom4(h.IP), Port: uint16(32768 + h.Random.Intn(28000))})
	ep.Connect(tcpip.FullAddress{NIC: 1, Addr: tcpip.AddrFrom4(to), Port: port})
	return c
}

// Listen accepts connections.
func (h *Host) Listen(port uint16, accept func(Conn)) {
	queue := &waiter.Queue{}
	ep, err := h.stack.NewEndpoint(tcp.ProtocolNumber, ipv4.ProtocolNumber, queue)
	if err != nil {
		panic(err.String())
	}
	ep.Bind(tcpip.FullAddress{NIC: 1, Port: port})
	backlog := 32
	if h.config.Backlog > 0 {
		backlog = h.config.Backlog
	}
	ep.Listen(backlog)
	take := func() {
		for {
			var peer tcpip.FullAddress
			child, childQueue, err := ep.Accept(&peer)
			if err != nil {
				return
			}
			c := h.conn(child, childQueue)
			c.isOpen, c.peer, c.port = true, peer.Addr.As4(), peer.Port
			accept(c)
		}
	}
	entry := waiter.NewFunctionEntry(waiter.ReadableEvents, func(waiter.EventMask) { h.After(0, take) })
	queue.EventRegister(&entry)
}

type hostSocket struct {
	host   *Host
	ep     tcpip.Endpoint
	notify func()
}

// Bind opens a socket for datagrams.
func (h *Host) Bind(port uint16) Socket {
	queue := &waiter.Queue{}
	ep, err := h.stack.NewEndpoint(udp.ProtocolNumber, ipv4.ProtocolNumber, queue)
	if err != nil {
		panic(err.String())
	}
	if port == 0 {
		port = uint16(40000 + h.Random.Intn(20000))
	}
	ep.Bind(tcpip.FullAddress{NIC: 1, Addr: tcpip.AddrFrom4(h.IP), Port: port})
	s := &hostSocket{host: h, ep: ep}
	entry := waiter.NewFunctionEntry(waiter.ReadableEvents|waiter.EventErr, func(waiter.EventMask) {
		h.After(0, func() {
			if s.notify != nil {
				s.notify()
			}
		})
	})
	queue.EventRegister(&entry)
	return s
}

func (s *hostSocket) SendTo(data []byte, to wire.Address, port uint16) {
	s.ep.Write(bytes.NewReader(data), tcpip.WriteOptions{To: &tcpip.FullAddress{NIC: 1, Addr: tcpip.AddrFrom4(to), Port: port}})
}

func (s *hostSocket) Recv() ([]byte, wire.Address, uint16, bool) {
	var out bytes.Buffer
	found, err := s.ep.Read(&out, tcpip.ReadOptions{NeedRemoteAddr: true})
	if err != nil {
		return nil, wire.Address{}, 0, false
	}
	return out.Bytes(), found.RemoteAddr.Addr.As4(), found.RemoteAddr.Port, true
}
func (s *hostSocket) Notify(call func()) { s.notify = call }
