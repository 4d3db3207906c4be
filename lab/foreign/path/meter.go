package path

import "time"

// Meter counts what is delivered to one station.
type Meter struct {
	flows map[string]*progress
	// First is when the first segment or datagram was sent by either end, Last when the last new octet was delivered.
	First, Last time.Duration
	begun       bool
	UDP         int64
	Segments    int64
}

type progress struct {
	first, next uint32
	known       bool
}

// Sent notes the beginning; for frames of both stations.
func (m *Meter) Sent(frame []byte, at time.Duration) {
	if m.begun {
		return
	}
	if p := Parse(frame); p.IsTCP || p.IsUDP {
		m.begun, m.First = true, at
	}
}

// Delivered counts a frame.
func (m *Meter) Delivered(frame []byte, at time.Duration) {
	p := Parse(frame)
	switch {
	case p.IsUDP:
		m.UDP += int64(p.Payload)
		m.Last = at
	case p.IsTCP && (p.Payload > 0 || p.Flags&SYN != 0):
		if m.flows == nil {
			m.flows = map[string]*progress{}
		}
		key := string(append([]byte(p.Source+p.Destination), byte(p.SourcePort>>8), byte(p.SourcePort),
			byte(p.DestinationPort>>8), byte(p.DestinationPort)))
		flow := m.flows[key]
		if flow == nil {
			flow = &progress{}
			m.flows[key] = flow
		}
		end := p.Seq + uint32(p.Payload)
		if p.Flags&SYN != 0 {
			end++
			flow.first, flow.next, flow.known = end, end, true
			return
		}
		m.Segments++
		if !flow.known {
			flow.first, flow.next, flow.known = p.Seq, p.Seq, true
		}
		if int32(end-flow.next) > 0 {
			flow.next = end
			m.Last = at
		}
	}
}

// Octets of payload that were delivered, each once (TCP), and of all datagrams.
func (m *Meter) Octets() int64 {
	sum := m.UDP
	for _, flow := range m.flows {
		sum += int64(flow.next - flow.first)
	}
	return sum
}

// Goodput in bit/s from the first packet of the transfer to the last new octet.
func (m *Meter) Goodput() float64 {
	if m.Last <= m.First {
		return 0
	}
	return float64(m.Octets()) * 8 / (m.Last - m.First).Seconds()
}
