package station

import (
	"encoding/binary"
	"net"
	"time"

	"linerate/lab/foreign/path"
)

// DeviceOptions is how a small device receives.
type DeviceOptions struct {
	MSS, Window int
	// AckEvery segments, or AckDelay after the first one that is not acknowledged.
	AckEvery int
	AckDelay time.Duration
	// Chunk octets are read every Interval, each time with a window update; 0 reads at once.
	Chunk    int
	Interval time.Duration
	// LeastUpdate is the smallest growth of the window that is advertised.
	LeastUpdate int
	// Poll: frames are only looked at in this interval (a device without interrupts).
	Poll time.Duration
	// SynDelay before SYN ACK.
	SynDelay time.Duration
	// Closed refuses connections.
	Closed bool
}

// Device is a station that accepts a connection on any port and reads what arrives in order.
type Device struct {
	*path.Queue
	loop       *path.Loop
	mac        net.HardwareAddr
	ip         [4]byte
	o          DeviceOptions
	peerMAC    [6]byte
	peer       [4]byte
	ports      [2]uint16
	next, seq  uint32
	edge       uint32
	unread     int
	unacked    int
	ackTimer   uint64
	isOpen     bool
	isReading  bool
	identifier uint16
}

// NewDevice is a station with an address.
func NewDevice(loop *path.Loop, address string, mac net.HardwareAddr, o DeviceOptions) (*Device, error) {
	d := &Device{loop: loop, mac: mac, o: o}
	copy(d.ip[:], net.ParseIP(address).To4())
	queue, err := path.NewQueue(d.receive)
	d.Queue = queue
	return d, err
}

func (d *Device) receive(frame []byte) {
	if d.o.Poll > 0 {
		now := d.loop.Now()
		at := now.Truncate(d.o.Poll) + d.o.Poll
		d.loop.At(at, func() { d.handle(frame) })
		return
	}
	d.handle(frame)
}

func (d *Device) handle(frame []byte) {
	if len(frame) >= 42 && binary.BigEndian.Uint16(frame[12:]) == 0x0806 {
		d.arp(frame)
		return
	}
	p := path.Parse(frame)
	if !p.IsTCP || p.Destination != string(d.ip[:]) {
		return
	}
	if p.Flags&path.SYN != 0 {
		d.open(frame, p)
		return
	}
	if !d.isOpen {
		return
	}
	if p.Flags&path.RST != 0 {
		d.isOpen = false
		return
	}
	if p.Payload == 0 && p.Flags&path.FIN == 0 {
		return
	}
	room := d.window()
	if p.Seq != d.next || p.Payload > room {
		d.send(path.ACK)
		return
	}
	d.next += uint32(p.Payload)
	d.unread += p.Payload
	d.unacked++
	d.read()
	if p.Flags&path.FIN != 0 {
		d.next++
		d.send(path.ACK | path.FIN)
		d.isOpen = false
		return
	}
	if d.unacked >= d.o.AckEvery {
		d.send(path.ACK)
	} else if d.unacked == 1 {
		timer := d.ackTimer
		d.loop.At(d.loop.Now()+d.o.AckDelay, func() {
			if timer == d.ackTimer {
				d.send(path.ACK)
			}
		})
	}
}

func (d *Device) read() {
	if d.o.Chunk == 0 {
		d.unread = 0
		return
	}
	if d.isReading {
		return
	}
	d.isReading = true
	d.loop.At(d.loop.Now()+d.o.Interval, func() {
		d.isReading = false
		before := int32(d.edge - d.next)
		d.unread -= min(d.unread, d.o.Chunk)
		if int(int32(d.o.Window-d.unread)-before) >= d.o.LeastUpdate {
			d.send(path.ACK)
		}
		if d.unread > 0 {
			d.read()
		}
	})
}

func (d *Device) window() int { return max(0, d.o.Window-d.unread) }

func (d *Device) open(frame []byte, p path.Packet) {
	copy(d.peerMAC[:], frame[6:12])
	copy(d.peer[:], p.Source)
	d.ports = [2]uint16{p.DestinationPort, p.SourcePort}
	d.next = p.Seq + 1
	if d.o.Closed {
		d.send(path.ACK | path.RST)
		return
	}
	d.unread, d.unacked, d.isOpen = 0, 0, true
	d.seq = uint32(d.loop.Now().Nanoseconds() >> 3)
	answer := func() {
		d.send(path.SYN | path.ACK)
		d.seq++
	}
	if d.o.SynDelay > 0 {
		d.loop.At(d.loop.Now()+d.o.SynDelay, answer)
		return
	}
	answer()
}

func (d *Device) send(flags byte) {
	d.ackTimer++
	d.unacked = 0
	d.identifier++
	options := 0
	if flags&path.SYN != 0 {
		options = 4
	}
	frame := make([]byte, 60)
	copy(frame, d.peerMAC[:])
	copy(frame[6:], d.mac)
	frame[12] = 8
	ip := frame[14:34]
	ip[0] = 0x45
	binary.BigEndian.PutUint16(ip[2:], uint16(40+options))
	binary.BigEndian.PutUint16(ip[4:], d.identifier)
	ip[8], ip[9] = 128, 6
	copy(ip[12:], d.ip[:])
	copy(ip[16:], d.peer[:])
	binary.BigEndian.PutUint16(ip[10:], path.Fold(path.Sum(ip, 0)))
	t := frame[34:]
	binary.BigEndian.PutUint16(t, d.ports[0])
	binary.BigEndian.PutUint16(t[2:], d.ports[1])
	binary.BigEndian.PutUint32(t[4:], d.seq)
	binary.BigEndian.PutUint32(t[8:], d.next)
	t[12] = byte(20+options) << 2
	t[13] = flags
	binary.BigEndian.PutUint16(t[14:], uint16(d.window()))
	d.edge = d.next + uint32(d.window())
	if options > 0 {
		t[20], t[21] = 2, 4
		binary.BigEndian.PutUint16(t[22:], uint16(d.o.MSS))
	}
	path.FixTCP(frame, path.Parse(frame))
	d.Send(frame)
}

func (d *Device) arp(frame []byte) {
	if binary.BigEndian.Uint16(frame[20:]) != 1 || string(frame[38:42]) != string(d.ip[:]) {
		return
	}
	answer := make([]byte, 60)
	copy(answer, frame[6:12])
	copy(answer[6:], d.mac)
	copy(answer[12:], frame[12:20])
	answer[21] = 2
	copy(answer[22:], d.mac)
	copy(answer[28:], d.ip[:])
	copy(answer[32:], frame[22:32])
	d.Send(answer)
}
