package path

import (
	"math/rand/v2"
	"time"
)

// Overhead of a frame on Ethernet beyond what is captured: preamble, FCS, gap between frames.
const Overhead = 24

// Pad is the length of the shortest frame, without FCS.
const Pad = 60

// Rate is a link with a queue before it.
type Rate struct {
	BitsPerS float64
	// Queue in octets and in frames; 0 for no limit of that kind.
	Octets, Frames int
	// PerFrame is the time that each frame takes beyond its bits.
	PerFrame time.Duration
	// Ethernet counts preamble, FCS, gap and padding.
	Ethernet bool
	// Name of its counters.
	Name string
	// Varies the rate slowly by this share, as a radio does; Period of it.
	Varies float64
	Period time.Duration
	// Shared with the other direction (half duplex); nil if not.
	Medium *Medium
}

// Medium is shared by both directions of a half-duplex link.
type Medium struct{ free time.Duration }

// Stage serialises frames at the rate.
func (r Rate) Stage() Stage {
	return func(l *Loop, next Sink) Sink {
		medium := r.Medium
		if medium == nil {
			medium = &Medium{}
		}
		var octets, frames int
		var mine time.Duration
		type waiting struct {
			frame []byte
			size  int
		}
		var queue []waiting
		busy := false
		var send func(at time.Duration)
		send = func(at time.Duration) {
			if len(queue) == 0 {
				busy = false
				return
			}
			if medium.free > at {
				l.At(medium.free, func() { send(max(at, medium.free)) })
				return
			}
			it := queue[0]
			queue = queue[1:]
			rate := r.BitsPerS
			if r.Varies > 0 {
				rate *= 1 + r.Varies*triangle(at, r.Period)
			}
			end := at + r.PerFrame + time.Duration(float64(it.size)*8/rate*1e9)
			if r.Medium != nil {
				medium.free = end
			}
			l.At(end, func() {
				octets -= it.size
				frames--
				next(it.frame, end)
				send(end)
			})
		}
		return func(frame []byte, at time.Duration) {
			size := len(frame)
			if r.Ethernet {
				size = max(size, Pad) + Overhead
			}
			if r.Octets > 0 && octets+size > r.Octets || r.Frames > 0 && frames >= r.Frames {
				l.Count(r.Name+" dropped", 1)
				return
			}
			octets += size
			frames++
			l.Count(r.Name+" passed", 1)
			if int64(octets) > l.Counts[r.Name+" most octets"] {
				l.Counts[r.Name+" most octets"] = int64(octets)
			}
			queue = append(queue, waiting{frame, size})
			mine = max(mine, at)
			if !busy {
				busy = true
				send(at)
			}
		}
	}
}

func triangle(at, period time.Duration) float64 {
	x := float64(at%period) / float64(period)
	if x > 0.5 {
		x = 1 - x
	}
	return 4*x - 1
}

// Delay holds each frame for a time.
func Delay(d time.Duration) Stage {
	return func(l *Loop, next Sink) Sink {
		return func(frame []byte, at time.Duration) {
			l.At(at+d, func() { next(frame, at+d) })
		}
	}
}

// Jitter holds each frame for up to a time, in order.
func Jitter(most time.Duration, random *rand.Rand) Stage {
	return func(l *Loop, next Sink) Sink {
		var last time.Duration
		return func(frame []byte, at time.Duration) {
			out := max(last, at+time.Duration(random.Float64()*random.Float64()*float64(most)))
			last = out
			l.At(out, func() { next(frame, out) })
		}
	}
}

// Overtake holds a share of the frames for a time while others pass.
func Overtake(share float64, least, most time.Duration, random *rand.Rand) Stage {
	return func(l *Loop, next Sink) Sink {
		return func(frame []byte, at time.Duration) {
			if random.Float64() >= share {
				next(frame, at)
				return
			}
			l.Count("held back", 1)
			out := at + least + time.Duration(random.Float64()*float64(most-least))
			l.At(out, func() { next(frame, out) })
		}
	}
}

// Alternate sends frames in turn over two links, of which the second is longer by a time.
func Alternate(longer time.Duration, every int) Stage {
	return func(l *Loop, next Sink) Sink {
		n := 0
		return func(frame []byte, at time.Duration) {
			n++
			if n%every != 0 {
				next(frame, at)
				return
			}
			l.Count("held back", 1)
			l.At(at+longer, func() { next(frame, at+longer) })
		}
	}
}

// Lose drops each frame with a probability; small ones, too.
func Lose(probability float64, random *rand.Rand) Stage {
	return Drop("lost", func([]byte, Packet, time.Duration) bool { return random.Float64() < probability })
}

// Bursts drops everything for a time, at intervals between the least and the most.
func Bursts(least, most, length time.Duration, random *rand.Rand) Stage {
	interval := func() time.Duration { return least + time.Duration(random.Float64()*float64(most-least)) }
	begin := time.Duration(-1)
	return Drop("lost", func(_ []byte, p Packet, at time.Duration) bool {
		if begin < 0 && p.IsTCP {
			begin = at + interval()
		}
		if begin < 0 || at < begin {
			return false
		}
		if at < begin+length {
			return true
		}
		for at >= begin+length {
			begin += interval()
		}
		return false
	})
}

// Scatter drops a share of the frames during a time, at intervals.
func Scatter(share float64, interval, length time.Duration, random *rand.Rand) Stage {
	return Drop("lost", func(_ []byte, _ Packet, at time.Duration) bool {
		return at%interval < length && random.Float64() < share
	})
}

// Drop drops the frames that a predicate selects.
func Drop(name string, isDropped func(frame []byte, p Packet, at time.Duration) bool) Stage {
	return func(l *Loop, next Sink) Sink {
		return func(frame []byte, at time.Duration) {
			if isDropped(frame, Parse(frame), at) {
				l.Count(name, 1)
				return
			}
			next(frame, at)
		}
	}
}

// Police drops what exceeds a rate with a bucket of octets, without a queue.
func Police(bitsPerS float64, bucket float64) Stage {
	tokens, last := bucket, time.Duration(0)
	return Drop("policed", func(frame []byte, p Packet, at time.Duration) bool {
		if !p.IsIP {
			return false
		}
		tokens = min(bucket, tokens+bitsPerS/8*(at-last).Seconds())
		last = at
		if size := float64(len(frame)); tokens >= size {
			tokens -= size
			return false
		}
		return true
	})
}

// Copy passes copies of a share of the frames after a time.
func Copy(share float64, after time.Duration, random *rand.Rand) Stage {
	return func(l *Loop, next Sink) Sink {
		return func(frame []byte, at time.Duration) {
			next(frame, at)
			if random.Float64() < share {
				l.Count("copied", 1)
				again := append([]byte(nil), frame...)
				l.At(at+after, func() { next(again, at+after) })
			}
		}
	}
}

// Corrupt flips bits in a share of the frames that have a payload, behind the header of TCP or UDP.
func Corrupt(share float64, random *rand.Rand) Stage {
	return func(l *Loop, next Sink) Sink {
		return func(frame []byte, at time.Duration) {
			if p := Parse(frame); p.Payload > 16 && (p.IsTCP || p.IsUDP) && random.Float64() < share {
				l.Count("corrupted", 1)
				frame = append([]byte(nil), frame...)
				frame[p.Network+p.Length-1-random.IntN(p.Payload)] ^= 1 << random.IntN(8)
			}
			next(frame, at)
		}
	}
}

// Outage drops everything between two times after the first TCP segment.
func Outage(from, to time.Duration) Stage {
	first := time.Duration(-1)
	return Drop("lost in outage", func(_ []byte, p Packet, at time.Duration) bool {
		if first < 0 && p.IsTCP {
			first = at
		}
		return first >= 0 && at >= first+from && at < first+to
	})
}

// Freeze holds everything at intervals for a time, then passes all of it at once.
func Freeze(every, length time.Duration) Stage {
	return func(l *Loop, next Sink) Sink {
		first := time.Duration(-1)
		return func(frame []byte, at time.Duration) {
			if first < 0 {
				first = at
			}
			phase := (at - first) % (every + length)
			if phase < every {
				next(frame, at)
				return
			}
			out := at - phase + every + length
			l.Count("held", 1)
			l.At(out, func() { next(frame, out) })
		}
	}
}

// Sleep holds what arrives after an idle time until the station wakes up.
func Sleep(idle, wake time.Duration, random *rand.Rand) Stage {
	return func(l *Loop, next Sink) Sink {
		last, until := -time.Hour, time.Duration(0)
		return func(frame []byte, at time.Duration) {
			if at-last > idle && at > until {
				until = at + time.Duration((0.6+0.4*random.Float64())*float64(wake))
				l.Count("woken", 1)
			}
			last = max(at, until)
			if at >= until {
				next(frame, at)
				return
			}
			l.At(until, func() { next(frame, until) })
		}
	}
}

// Mismatch is a link of which the near end uses full duplex and the far one half duplex. The far end loses what it
// receives while it sends, and sends again after a collision within its first 64 octets; later ones lose its frame.
type Mismatch struct {
	BitsPerS float64
	Random   *rand.Rand
	far      struct{ from, to time.Duration }
	near     struct{ from, to time.Duration }
	collided bool
}

// Near is the direction from the full-duplex end.
func (m *Mismatch) Near() Stage {
	return func(l *Loop, next Sink) Sink {
		return func(frame []byte, at time.Duration) {
			begin := max(at, m.near.to)
			end := begin + m.time(frame)
			m.near.from, m.near.to = begin, end
			l.At(begin, func() {
				hit := m.far.from < begin && begin < m.far.to
				if hit {
					m.collided = true
				}
				l.At(end, func() {
					if hit {
						l.Count("lost to a collision", 1)
						return
					}
					next(frame, end)
				})
			})
		}
	}
}

// Far is the direction from the half-duplex end.
func (m *Mismatch) Far() Stage {
	return func(l *Loop, next Sink) Sink {
		var queue [][]byte
		busy := false
		var send func(at time.Duration, tries int)
		send = func(at time.Duration, tries int) {
			if len(queue) == 0 {
				busy = false
				return
			}
			if m.near.from <= at && at < m.near.to {
				until := m.near.to + time.Duration(96/m.BitsPerS*1e9)
				l.At(until, func() { send(until, tries) })
				return
			}
			frame := queue[0]
			slot := time.Duration(512 / m.BitsPerS * 1e9)
			end := at + m.time(frame)
			m.far.from, m.far.to, m.collided = at, end, false
			l.At(at+slot, func() {
				if m.collided && tries < 16 {
					l.Count("early collision", 1)
					m.far.to = at + slot
					wait := at + slot + slot*time.Duration(m.Random.IntN(1<<min(tries+1, 10)))
					l.At(wait, func() { send(wait, tries+1) })
					return
				}
				l.At(end, func() {
					queue = queue[1:]
					if m.collided {
						l.Count("late collision", 1)
					} else {
						next(frame, end)
					}
					send(end, 0)
				})
			})
		}
		return func(frame []byte, at time.Duration) {
			if len(queue) >= 200 {
				l.Count("queue of the far end full", 1)
				return
			}
			queue = append(queue, frame)
			if !busy {
				busy = true
				send(at, 0)
			}
		}
	}
}

func (m *Mismatch) time(frame []byte) time.Duration {
	return time.Duration(float64(max(len(frame), Pad)+Overhead) * 8 / m.BitsPerS * 1e9)
}
