package wire

import "encoding/binary"

// Router forwards between two sides: near is the side of the station whose gateway it is. Where it translates, the station
// appears with another address and other ports.
type Router struct {
	NearMAC, FarMAC, StationMAC, PeerMAC MAC
	Gateway, Station, Public             Address
	Translates                           bool
	// IsUp is true if the near side is that of A.
	IsUp bool
}

// Part puts the router into a path.
func (r *Router) Part() Part {
	out := func(f *Frame, next, back Port) { r.out(f, next, back) }
	in := func(f *Frame, next, _ Port) { r.in(f, next) }
	if r.IsUp {
		return Part{out, in}
	}
	return Part{in, out}
}

// out takes what the station sends.
func (r *Router) out(f *Frame, next, back Port) {
	if f.Kind() == TypeARP {
		data := f.Data[LinkOctets:]
		if data[7] == 1 && Address(data[24:28]) == r.Gateway {
			from := MAC(data[8:14])
			back(Ethernet(from, r.NearMAC, TypeARP, ARP(2, r.NearMAC, r.Gateway, from, Address(data[14:18]))))
		}
		return
	}
	ip := f.IP()
	if ip == nil || MAC(f.Data[:6]) != r.NearMAC {
		return
	}
	f = Ethernet(r.PeerMAC, r.FarMAC, TypeIPv4, ip)
	ip = f.IP()
	ip[8]--
	if r.Translates {
		patch(ip, 12, r.Public)
		if at := int(ip[0]&15) * 4; ip[9] == TCP || ip[9] == UDP {
			r.port(ip, at, 0)
		}
	}
	Recount(ip)
	next(f)
}

// in takes what goes to the station.
func (r *Router) in(f *Frame, next Port) {
	ip := f.IP()
	if ip == nil {
		return
	}
	f = Ethernet(r.StationMAC, r.NearMAC, TypeIPv4, ip)
	ip = f.IP()
	ip[8]--
	if r.Translates {
		patch(ip, 16, r.Station)
		if at := int(ip[0]&15) * 4; ip[9] == TCP || ip[9] == UDP {
			r.port(ip, at, 2)
		}
	}
	Recount(ip)
	next(f)
}

// port translates ports of clients, by an exclusive or that is its own inverse, and keeps those of services.
func (r *Router) port(ip []byte, at, place int) {
	old := binary.BigEndian.Uint16(ip[at+place:])
	if old < 10000 {
		return
	}
	fresh := old ^ 0x0455
	binary.BigEndian.PutUint16(ip[at+place:], fresh)
	adjust(ip, uint32(^old)+uint32(fresh))
}

func patch(ip []byte, place int, to Address) {
	sum := uint32(0)
	for i := 0; i < 4; i += 2 {
		sum += uint32(^binary.BigEndian.Uint16(ip[place+i:])) + uint32(to[i])<<8 + uint32(to[i+1])
	}
	copy(ip[place:], to[:])
	adjust(ip, sum)
}

// adjust updates the checksum of TCP or UDP (RFC 1624), so that what was damaged stays so.
func adjust(ip []byte, sum uint32) {
	at := int(ip[0]&15) * 4
	place := map[byte]int{TCP: 16, UDP: 6}[ip[9]]
	if place == 0 {
		return
	}
	old := binary.BigEndian.Uint16(ip[at+place:])
	binary.BigEndian.PutUint16(ip[at+place:], ^Sum(nil, uint32(^old)+sum))
}

// Recount writes the checksum of the header.
func Recount(ip []byte) {
	binary.BigEndian.PutUint16(ip[10:], 0)
	binary.BigEndian.PutUint16(ip[10:], ^Sum(ip[:int(ip[0]&15)*4], 0))
}
