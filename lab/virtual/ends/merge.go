package ends

import (
	"encoding/binary"

	"linerate.dev/lab/virtual/wire"
)

const mtu = 1500

// split makes the frames of one that a host leaves to its adapter to segment.
func split(f *wire.Frame) []*wire.Frame {
	ip := f.IP()
	at, payload, ok := wire.Segment(ip)
	if !ok || len(ip) <= mtu || payload == 0 {
		return []*wire.Frame{f}
	}
	head := len(ip) - payload
	mss := mtu - head
	var parts []*wire.Frame
	for from := 0; from < payload; from += mss {
		size := min(mss, payload-from)
		part := append(append([]byte(nil), ip[:head]...), ip[head+from:head+from+size]...)
		binary.BigEndian.PutUint16(part[2:], uint16(len(part)))
		binary.BigEndian.PutUint16(part[4:], binary.BigEndian.Uint16(ip[4:])+uint16(len(parts)))
		binary.BigEndian.PutUint32(part[at+4:], binary.BigEndian.Uint32(ip[at+4:])+uint32(from))
		if from+size < payload {
			part[at+13] &^= wire.PSH | wire.FIN
		}
		wire.Seal(part)
		parts = append(parts, wire.Ethernet(wire.MAC(f.Data[:6]), wire.MAC(f.Data[6:12]), wire.TypeIPv4, part))
	}
	return parts
}

// merge appends the segment of b to a, if it follows it directly and carries nothing else.
func merge(a, b *wire.Frame) bool {
	x, y := a.IP(), b.IP()
	at, n, ok := wire.Segment(x)
	bt, k, also := wire.Segment(y)
	if !ok || !also || n == 0 || k == 0 || at != bt || len(x)+k > 32000 || x[at+12] != y[bt+12] {
		return false
	}
	head := at + int(x[at+12]>>4)*4
	same := string(x[12:at+4]) == string(y[12:bt+4]) && string(x[at+8:at+12]) == string(y[bt+8:bt+12]) && string(x[at+20:head]) == string(y[bt+20:head])
	if !same || binary.BigEndian.Uint32(x[at+4:])+uint32(n) != binary.BigEndian.Uint32(y[bt+4:]) || y[bt+13]&^(wire.ACK|wire.PSH) != 0 {
		return false
	}
	x[at+13] |= y[bt+13]
	a.Data = append(a.Data[:wire.LinkOctets+len(x)], y[head:]...)
	ip := a.Data[wire.LinkOctets:]
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	wire.Seal(ip)
	return true
}
