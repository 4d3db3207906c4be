package path

import "encoding/binary"

// Packet is what the path needs to know of a frame.
type Packet struct {
	IsIP, IsTCP, IsUDP, IsICMP bool
	// Source and Destination with ports, to tell flows apart.
	Source, Destination string
	SourcePort          uint16
	DestinationPort     uint16
	Seq                 uint32
	Flags               byte
	// Payload octets of TCP or UDP.
	Payload int
	// Length of the IP packet.
	Length int
	// Offsets of the IP and of the TCP or UDP header in the frame.
	Network, Transport int
}

// Flags of TCP.
const (
	FIN = 1
	SYN = 2
	RST = 4
	PSH = 8
	ACK = 16
)

// Parse reads an Ethernet frame; everything but IP is left empty.
func Parse(frame []byte) (p Packet) {
	if len(frame) < 34 {
		return p
	}
	kind, at := binary.BigEndian.Uint16(frame[12:]), 14
	if kind == 0x8100 {
		kind, at = binary.BigEndian.Uint16(frame[16:]), 18
	}
	var protocol byte
	p.Network = at
	switch {
	case kind == 0x0800 && len(frame) >= at+20:
		header := int(frame[at]&15) * 4
		p.Length = int(binary.BigEndian.Uint16(frame[at+2:]))
		protocol = frame[at+9]
		p.Source, p.Destination = string(frame[at+12:at+16]), string(frame[at+16:at+20])
		if binary.BigEndian.Uint16(frame[at+6:])&0x1fff != 0 {
			protocol = 0
		}
		p.Transport = at + header
	case kind == 0x86dd && len(frame) >= at+40:
		p.Length = int(binary.BigEndian.Uint16(frame[at+4:])) + 40
		protocol = frame[at+6]
		p.Source, p.Destination = string(frame[at+8:at+24]), string(frame[at+24:at+40])
		p.Transport = at + 40
	default:
		return p
	}
	p.IsIP = true
	end, t := at+p.Length, p.Transport
	switch {
	case protocol == 6 && len(frame) >= t+20:
		p.IsTCP = true
		p.SourcePort, p.DestinationPort = binary.BigEndian.Uint16(frame[t:]), binary.BigEndian.Uint16(frame[t+2:])
		p.Seq = binary.BigEndian.Uint32(frame[t+4:])
		p.Flags = frame[t+13]
		p.Payload = end - t - int(frame[t+12]>>4)*4
	case protocol == 17 && len(frame) >= t+8:
		p.IsUDP = true
		p.SourcePort, p.DestinationPort = binary.BigEndian.Uint16(frame[t:]), binary.BigEndian.Uint16(frame[t+2:])
		p.Payload = int(binary.BigEndian.Uint16(frame[t+4:])) - 8
	case protocol == 1 || protocol == 58:
		p.IsICMP = true
	}
	return p
}

// Sum is the one's complement sum of octets.
func Sum(data []byte, sum uint32) uint32 {
	for i := 0; i+1 < len(data); i += 2 {
		sum += uint32(data[i])<<8 | uint32(data[i+1])
	}
	if len(data)%2 == 1 {
		sum += uint32(data[len(data)-1]) << 8
	}
	return sum
}

// Fold returns the checksum of a sum.
func Fold(sum uint32) uint16 {
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// FixTCP writes the checksum of an IPv4 TCP segment.
func FixTCP(frame []byte, p Packet) {
	segment := frame[p.Transport : p.Network+p.Length]
	segment[16], segment[17] = 0, 0
	sum := Sum(frame[p.Network+12:p.Network+20], 6+uint32(len(segment)))
	binary.BigEndian.PutUint16(segment[16:], Fold(Sum(segment, sum)))
}
