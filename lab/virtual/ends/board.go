package ends

import (
	"time"

	"linerate.dev/lab/virtual/loop"
	"linerate.dev/lab/virtual/wire"
)

// boardStack is that of a board: it takes packets and the time, and sends packets.
type boardStack interface {
	input(ip []byte)
	poll()
	// next is the time until its next timer; negative without one.
	next() time.Duration
	dial(to wire.Address, port uint16) Conn
	listen(port uint16, accept func(Conn))
	bind(port uint16) Socket
}

// Board is a station with one slow processor, which takes frames from descriptors.
type Board struct {
	*loop.Loop
	*Adapter
	config  Config
	stack   boardStack
	stops   *stops
	free    time.Duration
	held    int
	active  time.Duration
	timer   *loop.Event
	polling bool
}

// NewBoard starts a board.
func NewBoard(l *loop.Loop, a *Adapter, c Config) *Board {
	b := &Board{Loop: l, Adapter: a, config: c, stops: newStops(l, c)}
	a.take = func(ip []byte) {
		b.stack.input(ip)
		b.kick()
	}
	a.admit = b.admit
	a.packetNS, a.octetNS = 4000, 0
	switch c.Stack {
	case "smoltcp":
		b.stack = newSmoltcp(b)
	case "mongoose":
		b.stack = newMongoose(b)
	default:
		b.stack = newSmall(b)
	}
	return b
}

// run gives the processor something to do: not while it stands still, and where its main loop looks at ticks, at one of those.
func (b *Board) run(takes time.Duration, call func()) {
	at := b.stops.free()
	if tick := duration(b.config.TickMS); tick > 0 {
		at = (at + tick - 1) / tick * tick
	}
	at = max(at, b.free)
	b.free = at + takes
	b.At(b.free, func() { b.whenAwake(call) })
}

func (b *Board) whenAwake(call func()) {
	if free := b.stops.free(); free > b.Loop.Now() {
		b.At(free, func() { b.whenAwake(call) })
		return
	}
	call()
}

// admit is the adapter of the board.
func (b *Board) admit(f *wire.Frame, take func()) {
	if beacon := duration(b.config.BeaconMS); beacon > 0 && b.Loop.Now()-b.active > duration(b.config.AwakeMS) {
		// Its access point keeps frames until the next beacon.
		b.Counts["held_for_beacon"]++
		b.At((b.Loop.Now()/beacon+1)*beacon, func() {
			b.active = b.Loop.Now()
			b.ring(f, take)
		})
		return
	}
	b.active = b.Loop.Now()
	b.ring(f, take)
}

func (b *Board) ring(f *wire.Frame, take func()) {
	if b.config.Descriptors > 0 && b.held >= b.config.Descriptors {
		b.Counts["no_descriptor"]++
		return
	}
	b.held++
	b.run(time.Duration(b.config.FrameUS*1e3+b.config.OctetNS*float64(len(f.Data))), func() {
		b.held--
		take()
		b.stops.saw(f.Payload())
	})
}

// output sends a packet of the stack.
func (b *Board) output(ip []byte) {
	b.active = b.Loop.Now()
	takes := time.Duration(b.config.FrameUS*500 + b.config.OctetNS*float64(len(ip)))
	if takes == 0 {
		b.Send(ip)
		return
	}
	b.free = max(b.free, b.Loop.Now()) + takes
	b.At(b.free, func() { b.Send(ip) })
}

// kick lets the stack look at its timers and buffers, now and when the next timer ends.
func (b *Board) kick() {
	if b.polling {
		return
	}
	b.polling = true
	b.After(0, func() {
		b.whenAwake(func() {
			b.polling = false
			b.stack.poll()
			b.Cancel(b.timer)
			b.timer = nil
			if next := b.stack.next(); next >= 0 {
				b.timer = b.After(max(next, time.Millisecond), func() {
					b.timer = nil
					b.run(0, b.kick)
				})
			}
		})
	})
}

// Start runs a program on the board's processor.
func (b *Board) Start(program func(*loop.Proc)) *loop.Proc {
	return b.Go(func(call func()) { b.run(8*time.Microsecond, call) }, program)
}

// Dial opens a connection.
func (b *Board) Dial(to wire.Address, port uint16) Conn {
	c := b.stack.dial(to, port)
	b.kick()
	return c
}

// Listen accepts connections.
func (b *Board) Listen(port uint16, accept func(Conn)) { b.stack.listen(port, accept) }

// Bind opens a socket for datagrams.
func (b *Board) Bind(port uint16) Socket { return b.stack.bind(port) }

// Counters are those of the adapter.
func (b *Board) Counters() map[string]any {
	found := map[string]any{}
	if b.stops.count > 0 {
		found["stops"] = b.stops.count
	}
	if it, ok := b.stack.(*small); ok {
		found["resent"] = it.resent
		found["dropped_gaps"] = it.gaps
	}
	return found
}
