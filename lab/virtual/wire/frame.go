// Package wire is what lies between the stations: frames, links, queues, faults, routers, and captures.
package wire

import "encoding/binary"

// Frame is an Ethernet frame without its FCS.
type Frame struct {
	Data []byte
}

// Port takes a frame.
type Port func(*Frame)

// Octets before the IP header, and those that a line adds to a frame: preamble, FCS, gap (IEEE 802.3 clause 4.4.2).
const (
	LinkOctets = 14
	LineOctets = 24
)

// Types of Ethernet, protocols of IP, and flags of TCP.
const (
	TypeIPv4 = 0x0800
	TypeARP  = 0x0806
	ICMP     = 1
	TCP      = 6
	UDP      = 17
	FIN      = 1
	SYN      = 2
	RST      = 4
	PSH      = 8
	ACK      = 16
)

// Address is an IPv4 address.
type Address [4]byte

// MAC is the address of an adapter.
type MAC [6]byte

// Broadcast reaches all.
var Broadcast = MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// Ethernet puts a header before a packet.
func Ethernet(to, from MAC, kind uint16, packet []byte) *Frame {
	data := make([]byte, LinkOctets, LinkOctets+len(packet))
	copy(data, to[:])
	copy(data[6:], from[:])
	binary.BigEndian.PutUint16(data[12:], kind)
	return &Frame{append(data, packet...)}
}

// Kind is the type of the frame.
func (f *Frame) Kind() uint16 { return binary.BigEndian.Uint16(f.Data[12:]) }

// IP is the packet in the frame, or nil.
func (f *Frame) IP() []byte {
	if f.Kind() != TypeIPv4 || len(f.Data) < LinkOctets+20 {
		return nil
	}
	ip := f.Data[LinkOctets:]
	return ip[:min(len(ip), int(binary.BigEndian.Uint16(ip[2:])))]
}

// Segment is where TCP begins in a packet, and its octets of payload; ok is true if it is TCP.
func Segment(ip []byte) (at, payload int, ok bool) {
	if ip == nil || ip[9] != TCP {
		return 0, 0, false
	}
	at = int(ip[0]&15) * 4
	if len(ip) < at+20 {
		return 0, 0, false
	}
	return at, len(ip) - at - int(ip[at+12]>>4)*4, true
}

// Payload is the number of octets of TCP or UDP that the frame carries.
func (f *Frame) Payload() int {
	ip := f.IP()
	if _, n, ok := Segment(ip); ok {
		return n
	}
	if ip != nil && ip[9] == UDP {
		return len(ip) - 28
	}
	return 0
}

// Copy returns a frame of its own.
func (f *Frame) Copy() *Frame { return &Frame{append([]byte(nil), f.Data...)} }

// Sum is the Internet checksum (RFC 1071), begun with a sum.
func Sum(data []byte, sum uint32) uint16 {
	for ; len(data) >= 2; data = data[2:] {
		sum += uint32(data[0])<<8 | uint32(data[1])
	}
	if len(data) == 1 {
		sum += uint32(data[0]) << 8
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}

// Pseudo is the sum of the pseudo header of TCP or UDP.
func Pseudo(ip []byte) uint32 {
	at := int(ip[0]&15) * 4
	return uint32(Sum(ip[12:20], uint32(ip[9])+uint32(len(ip)-at)))
}

// Seal writes the checksums of a packet.
func Seal(ip []byte) {
	at := int(ip[0]&15) * 4
	binary.BigEndian.PutUint16(ip[10:], 0)
	binary.BigEndian.PutUint16(ip[10:], ^Sum(ip[:at], 0))
	place := map[byte]int{TCP: 16, UDP: 6, ICMP: 2}[ip[9]]
	if place == 0 || len(ip) < at+place+2 {
		return
	}
	start := Pseudo(ip)
	if ip[9] == ICMP {
		start = 0
	}
	binary.BigEndian.PutUint16(ip[at+place:], 0)
	binary.BigEndian.PutUint16(ip[at+place:], ^Sum(ip[at:], start))
}

// Packet builds an IPv4 packet around what follows its header.
func Packet(from, to Address, protocol byte, id uint16, ttl byte, rest []byte) []byte {
	ip := make([]byte, 20, 20+len(rest))
	ip[0], ip[8], ip[9] = 0x45, ttl, protocol
	binary.BigEndian.PutUint16(ip[2:], uint16(20+len(rest)))
	binary.BigEndian.PutUint16(ip[4:], id)
	copy(ip[12:], from[:])
	copy(ip[16:], to[:])
	ip = append(ip, rest...)
	Seal(ip)
	return ip
}

// Datagram builds the UDP part of a packet.
func Datagram(from, to uint16, payload []byte) []byte {
	data := make([]byte, 8, 8+len(payload))
	binary.BigEndian.PutUint16(data, from)
	binary.BigEndian.PutUint16(data[2:], to)
	binary.BigEndian.PutUint16(data[4:], uint16(8+len(payload)))
	return append(data, payload...)
}

// ARP builds a request or an answer (RFC 826).
func ARP(operation uint16, fromMAC MAC, from Address, toMAC MAC, to Address) []byte {
	data := []byte{0, 1, 8, 0, 6, 4, 0, byte(operation)}
	data = append(data, fromMAC[:]...)
	data = append(data, from[:]...)
	data = append(data, toMAC[:]...)
	return append(data, to[:]...)
}

// Unreachable builds an ICMP message of type 3 about a packet.
func Unreachable(from Address, code byte, mtu int, ip []byte) []byte {
	rest := []byte{3, code, 0, 0, 0, 0, byte(mtu >> 8), byte(mtu)}
	rest = append(rest, ip[:min(len(ip), 28)]...)
	return Packet(from, Address(ip[12:16]), ICMP, 0, 64, rest)
}
