package ends

import (
	"math"
	"math/rand"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"

	"linerate.dev/lab/virtual/loop"
	"linerate.dev/lab/virtual/wire"
)

// Host is a station with the stack of gVisor, whose clock is the loop.
type Host struct {
	*loop.Loop
	*Adapter
	config     Config
	stack      *stack.Stack
	dispatcher stack.NetworkDispatcher
	stops      *stops
	gathered   []*wire.Frame
	timer      *loop.Event
	conns      []*hostConn
	paceFree   time.Duration
}

// clock is the loop as gVisor wants it. Each look at it takes some time, so that no two segments were sent at once.
type clock struct {
	*loop.Loop
	last *atomic.Int64
}

func (c clock) Now() time.Time { return c.Epoch.Add(c.Loop.Now()) }
func (c clock) NowMonotonic() tcpip.MonotonicTime {
	at := max(int64(c.Loop.Now()), c.last.Load()+200)
	c.last.Store(at)
	return tcpip.MonotonicTime{}.Add(1000*time.Second + time.Duration(at))
}
func (c clock) AfterFunc(d time.Duration, call func()) tcpip.Timer {
	t := &timer{Loop: c.Loop, call: call}
	t.Reset(d)
	return t
}

type timer struct {
	*loop.Loop
	call  func()
	event *loop.Event
}

func (t *timer) Stop() bool { return t.Cancel(t.event) }
func (t *timer) Reset(d time.Duration) {
	t.Cancel(t.event)
	t.event = t.After(d, t.call)
}

// NewHost starts a host.
func NewHost(l *loop.Loop, a *Adapter, c Config) *Host {
	h := &Host{Loop: l, Adapter: a, config: c, stops: newStops(l, c)}
	a.take, a.admit = h.deliver, h.admit
	a.packetNS, a.octetNS = 900, 0.25
	h.stack = stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol},
		Clock:              clock{l, &atomic.Int64{}}, RandSource: rand.NewSource(l.Random.Int63()), HandleLocal: false,
	})
	set := func(option tcpip.SettableTransportProtocolOption) {
		h.stack.SetTransportProtocolOption(tcp.ProtocolNumber, option)
	}
	sack := tcpip.TCPSACKEnabled(!c.NoSACK)
	set(&sack)
	if c.NoRACK {
		recovery := tcpip.TCPRecovery(0)
		set(&recovery)
	}
	if c.Congestion != "" {
		control := tcpip.CongestionControlOption(c.Congestion)
		set(&control)
	}
	// An option as it comes is 1 MB at first for reading, and doubles as needed; a buffer of a fixed size does not.
	received := tcpip.TCPReceiveBufferSizeRangeOption{Min: 1, Default: 1 << 20, Max: 8 << 20}
	if c.RecvOctets > 0 {
		received = tcpip.TCPReceiveBufferSizeRangeOption{Min: 1, Default: c.RecvOctets, Max: c.RecvOctets}
		moderate := tcpip.TCPModerateReceiveBufferOption(false)
		set(&moderate)
	} else {
		moderate := tcpip.TCPModerateReceiveBufferOption(true)
		set(&moderate)
	}
	set(&received)
	sent := tcpip.TCPSendBufferSizeRangeOption{Min: 1, Default: 1 << 21, Max: 8 << 20}
	if c.SendOctets > 0 {
		sent = tcpip.TCPSendBufferSizeRangeOption{Min: 1, Default: c.SendOctets, Max: c.SendOctets}
	}
	set(&sent)
	if c.MinRTOms > 0 {
		least := tcpip.TCPMinRTOOption(duration(c.MinRTOms))
		set(&least)
	}
	h.stack.CreateNIC(1, h)
	h.stack.AddProtocolAddress(1, tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber,
		AddressWithPrefix: tcpip.AddrFrom4(a.IP).WithPrefix()}, stack.AddressProperties{})
	h.stack.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: 1}})
	return h
}

// admit is the adapter: it may gather frames, and merge those that follow each other; nothing passes while the host stands still.
func (h *Host) admit(f *wire.Frame, take func()) {
	if free := h.stops.free(); free > h.Loop.Now() {
		h.At(free, func() { h.admit(f, take) })
		return
	}
	h.stops.saw(f.Payload())
	if h.config.GatherUS == 0 {
		take()
		return
	}
	h.gathered = append(h.gathered, f)
	if h.config.Gather > 0 && len(h.gathered) >= h.config.Gather {
		h.Cancel(h.timer)
		h.timer = nil
		h.flush()
	} else if h.timer == nil {
		h.timer = h.After(time.Duration(h.config.GatherUS*1e3), h.flush)
	}
}

func (h *Host) flush() {
	h.timer = nil
	frames := h.gathered
	h.gathered = nil
	for _, f := range frames {
		h.process(f)
	}
}

func (h *Host) deliver(ip []byte) {
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(append([]byte(nil), ip...))})
	h.dispatcher.DeliverNetworkPacket(ipv4.ProtocolNumber, pkt)
	pkt.DecRef()
}

// WritePackets takes what the stack sends.
func (h *Host) WritePackets(list stack.PacketBufferList) (int, tcpip.Error) {
	for _, pkt := range list.AsSlice() {
		view := pkt.ToView()
		ip := append([]byte(nil), view.AsSlice()...)
		view.Release()
		if h.config.Merges {
			wire.Seal(ip) // which a host leaves to its adapter then
		}
		h.pace(ip)
	}
	return list.Len(), nil
}

// pace sends a packet, not before the shaper of the host lets it.
func (h *Host) pace(ip []byte) {
	at := max(h.stops.free(), h.Loop.Now())
	if _, payload, ok := wire.Segment(ip); ok && payload > 0 && h.config.PaceRate > 0 {
		burst := time.Duration(float64(h.config.PaceBurst) * 8e9 / h.config.PaceRate)
		at = max(at, h.paceFree-burst)
		h.paceFree = max(h.paceFree, h.Loop.Now()) + time.Duration(float64(len(ip)+wire.LinkOctets)*8e9/h.config.PaceRate)
	}
	if at <= h.Loop.Now() {
		h.Send(ip)
		return
	}
	h.At(at, func() { h.Send(ip) })
}

// Start runs a program, which wakes up some microseconds late.
func (h *Host) Start(program func(*loop.Proc)) *loop.Proc {
	var through func(func())
	through = func(call func()) {
		late := h.config.WakeUS
		if late == 0 {
			late = 14
		}
		h.After(time.Duration(late*1e3*(0.5+h.Random.ExpFloat64()*0.5)), func() {
			if free := h.stops.free(); free > h.Loop.Now() {
				h.At(free, call)
				return
			}
			call()
		})
	}
	return h.Go(through, program)
}

// Counters are those of the stack.
func (h *Host) Counters() map[string]any {
	s := h.stack.Stats().TCP
	found := map[string]any{}
	for name, it := range map[string]*tcpip.StatCounter{"retransmits": s.Retransmits, "fast_retransmit": s.FastRetransmit, "timeouts": s.Timeouts,
		"sack_recovery": s.SACKRecovery, "tlp_recovery": s.TLPRecovery, "checksum_errors": s.ChecksumErrors, "resets_sent": s.ResetsSent,
		"resets_received": s.ResetsReceived, "segments_sent": s.SegmentsSent, "failed_openings": s.FailedConnectionAttempts} {
		if it.Value() > 0 {
			found[name] = it.Value()
		}
	}
	limits := map[string]float64{}
	for _, it := range h.conns {
		for key, value := range it.limits {
			limits[key] += math.Round(value.Seconds()*1000) / 1000
		}
	}
	if len(limits) > 0 {
		found["limited_s"] = limits
	}
	if h.stops.count > 0 {
		found["stops"] = h.stops.count
	}
	return found
}

// What gVisor asks of a link.

// MTU is that of IP.
func (h *Host) MTU() uint32 {
	if h.config.MTU > 0 {
		return uint32(h.config.MTU)
	}
	return mtu
}

// SetMTU does nothing.
func (h *Host) SetMTU(uint32) {}

// MaxHeaderLength is none: the adapter adds its header.
func (h *Host) MaxHeaderLength() uint16 { return 0 }

// LinkAddress is none.
func (h *Host) LinkAddress() tcpip.LinkAddress { return "" }

// SetLinkAddress does nothing.
func (h *Host) SetLinkAddress(tcpip.LinkAddress) {}

// Capabilities are none.
func (h *Host) Capabilities() stack.LinkEndpointCapabilities { return 0 }

// Attach gives the stack.
func (h *Host) Attach(d stack.NetworkDispatcher) { h.dispatcher = d }

// IsAttached reports whether there is a stack.
func (h *Host) IsAttached() bool { return h.dispatcher != nil }

// Wait does not.
func (h *Host) Wait() {}

// ARPHardwareType is none.
func (h *Host) ARPHardwareType() header.ARPHardwareType { return header.ARPHardwareNone }

// AddHeader does nothing.
func (h *Host) AddHeader(*stack.PacketBuffer) {}

// ParseHeader does nothing.
func (h *Host) ParseHeader(*stack.PacketBuffer) bool { return true }

// Close does nothing.
func (h *Host) Close() {}

// SetOnCloseAction does nothing.
func (h *Host) SetOnCloseAction(func()) {}

// GSOMaxSize is what one packet may carry to the adapter.
func (h *Host) GSOMaxSize() uint32 { return 24 << 10 }

// SupportedGSO is on where the host leaves segmentation to its adapter.
func (h *Host) SupportedGSO() stack.SupportedGSO {
	if h.config.Merges {
		return stack.HostGSOSupported
	}
	return stack.GSONotSupported
}
