// Package station has the ends of a path: the system's TCP in a network namespace, gVisor's netstack in this process,
// programs with lwIP or smoltcp, QEMU's user network, and a small device that acknowledges as devices do.
package station

import (
	"context"
	"fmt"
	"net"
	"time"

	"linerate/lab/foreign/path"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/link/ethernet"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
)

// Netstack is gVisor's TCP.
type Netstack struct {
	*path.Queue
	stack *stack.Stack
	link  *channel.Endpoint
}

// NetstackOptions change its TCP.
type NetstackOptions struct {
	NoSACK, NoRACK bool
	// Congestion is reno or cubic.
	Congestion string
	// Buffers in octets; 0 for the default (1 MiB, and moderated receive buffers).
	SendBuffer, ReceiveBuffer int
	MTU                       int
	NoDelayedACK              bool
}

type notify func()

func (n notify) WriteNotify() { n() }

// NewNetstack is a station with an address.
func NewNetstack(address string, prefix int, mac net.HardwareAddr, o NetstackOptions) (*Netstack, error) {
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, arp.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4},
	})
	if o.MTU == 0 {
		o.MTU = 1500
	}
	link := channel.New(4096, uint32(o.MTU+header.EthernetMinimumSize), tcpip.LinkAddress(mac))
	n := &Netstack{stack: s, link: link}
	queue, err := path.NewQueue(n.inject)
	if err != nil {
		return nil, err
	}
	n.Queue = queue
	link.AddNotify(notify(func() {
		for {
			packet := link.Read()
			if packet == nil {
				return
			}
			view := packet.ToView()
			frame := append([]byte(nil), view.AsSlice()...)
			view.Release()
			packet.DecRef()
			queue.Send(frame)
		}
	}))
	if err := s.CreateNIC(1, ethernet.New(link)); err != nil {
		return nil, fmt.Errorf("netstack: %v", err)
	}
	protocol := tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: tcpip.AddressWithPrefix{
		Address: tcpip.AddrFromSlice(net.ParseIP(address).To4()), PrefixLen: prefix}}
	if err := s.AddProtocolAddress(1, protocol, stack.AddressProperties{}); err != nil {
		return nil, fmt.Errorf("netstack: %v", err)
	}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: 1}})
	sack := tcpip.TCPSACKEnabled(!o.NoSACK)
	s.SetTransportProtocolOption(tcp.ProtocolNumber, &sack)
	if o.NoRACK {
		recovery := tcpip.TCPRecovery(0)
		s.SetTransportProtocolOption(tcp.ProtocolNumber, &recovery)
	}
	if o.Congestion != "" {
		congestion := tcpip.CongestionControlOption(o.Congestion)
		s.SetTransportProtocolOption(tcp.ProtocolNumber, &congestion)
	}
	if o.SendBuffer > 0 {
		size := tcpip.TCPSendBufferSizeRangeOption{Min: 1024, Default: o.SendBuffer, Max: o.SendBuffer}
		s.SetTransportProtocolOption(tcp.ProtocolNumber, &size)
	}
	if o.ReceiveBuffer > 0 {
		size := tcpip.TCPReceiveBufferSizeRangeOption{Min: 1024, Default: o.ReceiveBuffer, Max: max(o.ReceiveBuffer, 1024)}
		s.SetTransportProtocolOption(tcp.ProtocolNumber, &size)
		moderate := tcpip.TCPModerateReceiveBufferOption(false)
		s.SetTransportProtocolOption(tcp.ProtocolNumber, &moderate)
	} else {
		moderate := tcpip.TCPModerateReceiveBufferOption(true)
		s.SetTransportProtocolOption(tcp.ProtocolNumber, &moderate)
	}
	return n, nil
}

func (n *Netstack) inject(frame []byte) {
	if len(frame) < header.EthernetMinimumSize {
		return
	}
	packet := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(append([]byte(nil), frame...))})
	n.link.InjectInbound(0, packet)
	packet.DecRef()
}

func (n *Netstack) full(address string) (tcpip.FullAddress, error) {
	a, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return tcpip.FullAddress{}, err
	}
	full := tcpip.FullAddress{NIC: 1, Port: uint16(a.Port)}
	if ip := a.IP.To4(); ip != nil && !ip.IsUnspecified() {
		full.Addr = tcpip.AddrFromSlice(ip)
	}
	return full, nil
}

// Dial connects.
func (n *Netstack) Dial(address string) (net.Conn, error) {
	full, err := n.full(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return gonet.DialContextTCP(ctx, n.stack, full, ipv4.ProtocolNumber)
}

// Listen waits for connections.
func (n *Netstack) Listen(address string) (net.Listener, error) {
	full, err := n.full(address)
	if err != nil {
		return nil, err
	}
	return gonet.ListenTCP(n.stack, full, ipv4.ProtocolNumber)
}

// Datagrams connects a UDP socket to remote, or waits at local.
func (n *Netstack) Datagrams(local, remote string) (net.PacketConn, error) {
	var l, r *tcpip.FullAddress
	if local != "" {
		full, err := n.full(local)
		if err != nil {
			return nil, err
		}
		l = &full
	}
	if remote != "" {
		full, err := n.full(remote)
		if err != nil {
			return nil, err
		}
		r = &full
	}
	return gonet.DialUDP(n.stack, l, r, ipv4.ProtocolNumber)
}

// Close ends the station.
func (n *Netstack) Close() {
	n.stack.Close()
	n.Queue.Close()
}
