// Package ends has the stations: hosts with the TCP of gVisor, and boards with small stacks.
package ends

import (
	"math/rand"
	"time"

	"linerate.dev/lab/virtual/loop"
	"linerate.dev/lab/virtual/wire"
)

// Station is what programs see of a host or board.
type Station interface {
	Dial(to wire.Address, port uint16) Conn
	Listen(port uint16, accept func(Conn))
	Bind(port uint16) Socket
	// Start runs a program on it.
	Start(program func(*loop.Proc)) *loop.Proc
	Counters() map[string]any
}

// Conn is a connection. Send and Recv do not wait: they return how much was taken or read, or -1 at the end.
type Conn interface {
	Send(data []byte) int
	Recv(data []byte) int
	IsOpen() bool
	HasFailed() bool
	Close()
	Abort()
	Notify(call func())
	// Acknowledged is true if the other end has all that was sent.
	Acknowledged() bool
	Peer() (wire.Address, uint16)
}

// Socket sends and takes datagrams.
type Socket interface {
	SendTo(data []byte, to wire.Address, port uint16)
	Recv() (data []byte, from wire.Address, port uint16, ok bool)
	Notify(call func())
}

// Config is a station as a trial states it.
type Config struct {
	// Stack is "host", "smoltcp", "mongoose" or "small".
	Stack   string `json:"stack"`
	Address string `json:"address"`

	// A host.
	Congestion string  `json:"congestion"`
	NoSACK     bool    `json:"no_sack"`
	NoRACK     bool    `json:"no_rack"`
	SendOctets int     `json:"send_octets"`
	RecvOctets int     `json:"recv_octets"`
	Merges     bool    `json:"merges"`
	GatherUS   float64 `json:"gather_us"`
	Gather     int     `json:"gather"`
	Nagle      bool    `json:"nagle"`
	MinRTOms   float64 `json:"min_rto_ms"`
	WakeUS     float64 `json:"wake_us"`
	PaceRate   float64 `json:"pace_rate"`
	PaceBurst  int     `json:"pace_burst"`
	MTU        int     `json:"mtu"`
	// StopEveryMS and StopMS hold the whole station back at intervals; StopPerOctets does so after that much payload.
	StopEveryMS   float64 `json:"stop_every_ms"`
	StopMS        float64 `json:"stop_ms"`
	StopPerOctets int     `json:"stop_per_octets"`

	// A board.
	FrameUS      float64 `json:"frame_us"`
	OctetNS      float64 `json:"octet_ns"`
	Descriptors  int     `json:"descriptors"`
	TickMS       float64 `json:"tick_ms"`
	BeaconMS     float64 `json:"beacon_ms"`
	AwakeMS      float64 `json:"awake_ms"`
	MSS          int     `json:"mss"`
	Window       int     `json:"window"`
	Buffer       int     `json:"buffer"`
	AckDelayMS   float64 `json:"ack_delay_ms"`
	AckEvery     int     `json:"ack_every"`
	OneInFlight  bool    `json:"one_in_flight"`
	TellsOctets  bool    `json:"tells_octets"`
	NoMSS        bool    `json:"no_mss"`
	RTOms        float64 `json:"rto_ms"`
	NoFastResend bool    `json:"no_fast_resend"`
	KeepsNoGaps  bool    `json:"keeps_no_gaps"`
	Backlog      int     `json:"backlog"`
}

// Adapter is where a station meets its cable: it has an address, captures, asks for its gateway's address.
type Adapter struct {
	*loop.Loop
	MAC, GatewayMAC wire.MAC
	IP, Gateway     wire.Address
	Out             wire.Port
	Capture         *wire.Capture
	Counts          map[string]int
	take            func(ip []byte)
	// admit may drop or delay a frame before the stack sees it.
	admit    func(f *wire.Frame, take func())
	pending  [][]byte
	asked    int
	isKnown  bool
	nextFree time.Duration
	// Each packet takes the host so long to send.
	packetNS, octetNS float64
}

// Arrive takes a frame from the cable.
func (a *Adapter) Arrive(f *wire.Frame) {
	a.Capture.Take(f)
	if to := wire.MAC(f.Data[:6]); to != a.MAC && to != wire.Broadcast {
		return
	}
	a.admit(f, func() { a.process(f) })
}

func (a *Adapter) process(f *wire.Frame) {
	if f.Kind() == wire.TypeARP {
		data := f.Data[wire.LinkOctets:]
		from := wire.MAC(data[8:14])
		if data[7] == 2 && wire.Address(data[14:18]) == a.Gateway {
			a.GatewayMAC, a.isKnown = from, true
			for _, ip := range a.pending {
				a.transmit(wire.Ethernet(a.GatewayMAC, a.MAC, wire.TypeIPv4, ip))
			}
			a.pending = nil
		} else if data[7] == 1 && wire.Address(data[24:28]) == a.IP {
			a.transmit(wire.Ethernet(from, a.MAC, wire.TypeARP, wire.ARP(2, a.MAC, a.IP, from, wire.Address(data[14:18]))))
		}
		return
	}
	if ip := f.IP(); ip != nil && (wire.Address(ip[16:20]) == a.IP || ip[16] >= 224) {
		a.take(ip)
	}
}

// Send sends a packet of the stack, behind an ARP request if the gateway is not known yet.
func (a *Adapter) Send(ip []byte) {
	if a.isKnown {
		a.transmit(wire.Ethernet(a.GatewayMAC, a.MAC, wire.TypeIPv4, ip))
		return
	}
	a.pending = append(a.pending, ip)
	if len(a.pending) > 3 {
		a.pending = a.pending[1:]
	}
	if a.asked == 0 {
		a.ask()
	}
}

func (a *Adapter) ask() {
	a.asked++
	if a.isKnown || a.asked > 3 {
		a.asked, a.pending = 0, nil
		return
	}
	a.transmit(wire.Ethernet(wire.Broadcast, a.MAC, wire.TypeARP, wire.ARP(1, a.MAC, a.IP, wire.MAC{}, a.Gateway)))
	a.After(time.Second, a.ask)
}

func (a *Adapter) transmit(f *wire.Frame) {
	a.nextFree = max(a.nextFree, a.Now()) + time.Duration(a.packetNS*(0.8+0.4*a.Random.Float64())+a.octetNS*float64(len(f.Data)))
	a.At(a.nextFree, func() {
		a.Capture.Take(f)
		a.Counts["sent"]++
		parts := split(f)
		for _, it := range parts {
			a.Out(it)
		}
	})
}

// stops returns how long the station stands still from now on.
type stops struct {
	*loop.Loop
	every, length time.Duration
	octets        int
	seen          int
	until         time.Duration
	count         int
	offset        time.Duration
}

func newStops(l *loop.Loop, c Config) *stops {
	return &stops{Loop: l, every: duration(c.StopEveryMS), length: duration(c.StopMS), octets: c.StopPerOctets,
		offset: duration(c.StopEveryMS * (0.3 + 0.5*rand.New(rand.NewSource(l.Epoch.UnixNano())).Float64()))}
}

// Free is the time from which it runs again: now, if it does.
func (s *stops) free() time.Duration {
	now := s.Now()
	if s.every > 0 && now >= s.offset {
		if since := (now - s.offset) % s.every; since < s.length {
			s.until = max(s.until, now-since+s.length)
		}
	}
	return max(s.until, now)
}

// saw notes payload, behind which it may stop.
func (s *stops) saw(octets int) {
	if s.octets == 0 {
		return
	}
	if s.seen += octets; s.seen >= s.octets {
		s.seen -= s.octets
		s.until = max(s.until, s.Now()) + time.Duration(float64(s.length)*(0.9+0.2*s.Random.Float64()))
		s.count++
	}
}

func duration(ms float64) time.Duration { return time.Duration(ms * 1e6) }
