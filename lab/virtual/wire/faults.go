package wire

import (
	"encoding/binary"
	"slices"
	"time"

	"linerate.dev/lab/virtual/loop"
)

// stage does something to a frame in one direction; back leads to where the frame comes from.
type stage func(f *Frame, next, back Port)

type fault struct {
	*loop.Loop
	config Config
	count  func(string)
	// What it remembers.
	frames int
	isBad  bool
	until  time.Duration
	tokens float64
	filled time.Duration
	number int
}

func ms(value float64) time.Duration { return time.Duration(value * 1e6) }

// lose drops a share of the frames: at random, in times that are bad, each so-many-th, or the first ones.
func (s *fault) lose(f *Frame, next, _ Port) {
	c := s.config
	if len(f.Data) < c.LeastSize || f.Kind() == TypeARP || c.SYN && !isSYN(f) {
		next(f)
		return
	}
	s.frames++
	share := c.Share
	if c.EnterMS > 0 {
		if s.until == 0 {
			s.until = ms(c.EnterMS * s.Random.ExpFloat64())
		}
		for s.Now() >= s.until {
			s.isBad = !s.isBad
			mean := c.EnterMS
			if s.isBad {
				mean = c.StayMS
			}
			s.until += ms(mean * (0.3 + 0.7*s.Random.ExpFloat64()))
		}
		if s.isBad {
			share = c.Bad
		}
	}
	if s.Random.Float64() < share || c.Every > 0 && s.frames%c.Every == c.Every/2 || s.frames <= c.First {
		s.count("lost")
		return
	}
	next(f)
}

func isSYN(f *Frame) bool {
	at, _, ok := Segment(f.IP())
	return ok && f.Data[LinkOctets+at+13]&SYN != 0
}

// police drops what exceeds a rate and a burst.
func (s *fault) police(f *Frame, next, _ Port) {
	now := s.Now()
	if s.frames == 0 {
		s.tokens = float64(s.config.Burst)
	}
	s.frames++
	s.tokens = min(float64(s.config.Burst), s.tokens+(now-s.filled).Seconds()*s.config.Rate/8)
	s.filled = now
	if s.tokens < float64(len(f.Data)) {
		s.count("policed")
		return
	}
	s.tokens -= float64(len(f.Data))
	next(f)
}

// twoPaths sends each other frame over a longer path.
func (s *fault) twoPaths(f *Frame, next, _ Port) {
	s.number++
	if s.number/max(s.config.Burst, 1)%2 == 1 {
		s.After(ms(s.config.ByMS), func() { next(f) })
		return
	}
	next(f)
}

// copy repeats a share of the frames.
func (s *fault) copy(f *Frame, next, _ Port) {
	next(f)
	if s.Random.Float64() < s.config.Share {
		s.count("copied")
		again := f.Copy()
		s.After(ms(s.config.ByMS), func() { next(again) })
	}
}

// damage flips bits behind the headers, and leaves the checksum.
func (s *fault) damage(f *Frame, next, _ Port) {
	if n := f.Payload(); n > 60 && s.Random.Float64() < s.config.Share {
		s.count("damaged")
		f = f.Copy()
		f.Data[len(f.Data)-1-s.Random.Intn(n-40)] ^= 1 << s.Random.Intn(8)
	}
	next(f)
}

// limit is a link with a smaller MTU, whose router sends no ICMP message.
func (s *fault) limit(f *Frame, next, _ Port) {
	ip := f.IP()
	if ip == nil || len(ip) <= s.config.MTU {
		next(f)
		return
	}
	s.count("too_long")
}

// strip takes options out of SYNs, as a middlebox does, and clamps the MSS.
func (s *fault) strip(f *Frame, next, _ Port) {
	if !isSYN(f) {
		next(f)
		return
	}
	f = f.Copy()
	ip := f.IP()
	at, _, _ := Segment(ip)
	kinds := map[string]byte{"scale": 3, "sack": 4, "timestamps": 8}
	var drop []byte
	for _, it := range s.config.Options {
		drop = append(drop, kinds[it])
	}
	options := ip[at+20 : at+int(ip[at+12]>>4)*4]
	for i := 0; i < len(options); {
		kind := options[i]
		if kind == 0 {
			break
		}
		if kind == 1 {
			i++
			continue
		}
		if i+1 >= len(options) || options[i+1] < 2 {
			break
		}
		size := int(options[i+1])
		if kind == 2 && s.config.MSS > 0 && int(binary.BigEndian.Uint16(options[i+2:])) > s.config.MSS {
			binary.BigEndian.PutUint16(options[i+2:], uint16(s.config.MSS))
		}
		if slices.Contains(drop, kind) {
			for k := i; k < i+size && k < len(options); k++ {
				options[k] = 1
			}
		}
		i += size
	}
	Seal(ip)
	next(f)
}

// interrupt carries nothing at some times.
func (s *fault) interrupt(f *Frame, next, _ Port) {
	for _, at := range s.config.AtMS {
		if since := s.Now() - ms(at); since >= 0 && since < ms(s.config.ForMS) {
			s.count("interrupted")
			return
		}
	}
	next(f)
}

// filter drops what goes to some ports, or rejects it.
func (s *fault) filter(f *Frame, next, back Port) {
	ip := f.IP()
	if ip == nil || ip[9] != TCP && ip[9] != UDP || !slices.Contains(s.config.Ports, int(binary.BigEndian.Uint16(ip[int(ip[0]&15)*4+2:]))) {
		next(f)
		return
	}
	s.count("filtered")
	switch s.config.Answer {
	case "reset":
		s.reset(f, back)
	case "icmp":
		back(Ethernet(MAC(f.Data[6:12]), MAC(f.Data[:6]), TypeIPv4, Unreachable(Address(ip[16:20]), 13, 0, ip)))
	}
}

// reset answers a segment as a host without that connection (RFC 9293 section 3.5.2).
func (s *fault) reset(f *Frame, back Port) {
	ip := f.IP()
	at, payload, ok := Segment(ip)
	if !ok || ip[at+13]&RST != 0 {
		return
	}
	tcp := make([]byte, 20)
	copy(tcp, ip[at+2:at+4])
	copy(tcp[2:], ip[at:at+2])
	tcp[12] = 5 << 4
	if ip[at+13]&ACK != 0 {
		copy(tcp[4:8], ip[at+8:at+12])
		tcp[13] = RST
	} else {
		binary.BigEndian.PutUint32(tcp[8:], binary.BigEndian.Uint32(ip[at+4:])+uint32(payload)+1)
		tcp[13] = RST | ACK
	}
	back(Ethernet(MAC(f.Data[6:12]), MAC(f.Data[:6]), TypeIPv4, Packet(Address(ip[16:20]), Address(ip[12:16]), TCP, uint16(s.Random.Intn(65536)), 255, tcp)))
}
