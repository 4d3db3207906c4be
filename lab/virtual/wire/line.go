package wire

import (
	"math"
	"time"

	"linerate.dev/lab/virtual/loop"
)

// Line is one direction of a link: a queue, a rate, a delay.
type line struct {
	*loop.Loop
	config    Config
	count     func(string)
	queue     []waiting
	octets    int
	isSending bool
	medium    *medium
	last      time.Duration
	// Of CoDel: since when packets wait too long, and its drops.
	above, dropNext    time.Duration
	drops              int
	isDropping         bool
	walked             float64
	walkUntil, slotEnd time.Duration
	slotLeft           float64
	turn               uint32
}

type waiting struct {
	frame *Frame
	since time.Duration
	next  Port
	flow  uint32
}

func (n *line) size(f *Frame) int {
	octets := max(len(f.Data), 60) + n.config.Overhead
	if n.config.Cells {
		return (len(f.Data) - LinkOctets + 8 + 10 + 47) / 48 * 53
	}
	return octets
}

func (n *line) room() int {
	switch {
	case n.config.QueueMS > 0:
		return int(n.config.QueueMS / 1000 * n.config.Rate / 8)
	case n.config.QueueOctets > 0:
		return n.config.QueueOctets
	}
	return math.MaxInt32
}

func (n *line) push(f *Frame, next Port) {
	size := n.size(f)
	frames := n.config.QueueFrames
	full := n.octets+size > max(n.room(), 1600) || frames > 0 && len(n.queue) >= frames
	if full && n.config.Fair {
		full = !n.dropOfLongest()
	}
	if full {
		n.count("overflow")
		return
	}
	n.queue = append(n.queue, waiting{f, n.Now(), next, flowOf(f)})
	n.octets += size
	n.count("passed")
	if !n.isSending {
		n.isSending = true
		n.serve()
	}
}

// dropOfLongest makes room in the longest of the flows.
func (n *line) dropOfLongest() bool {
	lengths := map[uint32]int{}
	longest := uint32(0)
	for _, it := range n.queue {
		lengths[it.flow]++
		if lengths[it.flow] > lengths[longest] {
			longest = it.flow
		}
	}
	for i, it := range n.queue {
		if it.flow == longest {
			n.octets -= n.size(it.frame)
			n.queue = append(n.queue[:i], n.queue[i+1:]...)
			n.count("overflow")
			return true
		}
	}
	return false
}

// pick takes the next frame: the oldest, or the oldest of the next flow.
func (n *line) pick() waiting {
	at := 0
	if n.config.Fair {
		best := uint32(math.MaxUint32)
		for i, it := range n.queue {
			if ahead := it.flow - n.turn - 1; ahead < best {
				best, at = ahead, i
			}
		}
		n.turn = n.queue[at].flow
	}
	it := n.queue[at]
	n.queue = append(n.queue[:at], n.queue[at+1:]...)
	n.octets -= n.size(it.frame)
	return it
}

// codel reports whether a frame that leaves the queue is dropped (RFC 8289).
func (n *line) codel(it waiting) bool {
	target := time.Duration(n.config.TargetMS * 1e6)
	interval := max(20*target, 30*time.Millisecond)
	now := n.Now()
	if now-it.since < target || n.octets < 1600 {
		n.above, n.isDropping = 0, false
		return false
	}
	if n.above == 0 {
		n.above = now + interval
		return false
	}
	if !n.isDropping && now >= n.above {
		n.isDropping = true
		n.drops = 1
		n.dropNext = now + interval
		return true
	}
	if n.isDropping && now >= n.dropNext {
		n.drops++
		n.dropNext += time.Duration(float64(interval) / math.Sqrt(float64(n.drops)))
		return true
	}
	return false
}

func (n *line) serve() {
	for len(n.queue) > 0 {
		it := n.pick()
		if n.config.AQM == "codel" && n.codel(it) {
			n.count("early")
			continue
		}
		n.send(it)
		return
	}
	n.isSending = false
}

func (n *line) send(it waiting) {
	takes := time.Duration(float64(n.size(it.frame)) * 8e9 / n.rate())
	done := func() {
		n.deliver(it)
		n.serve()
	}
	switch {
	case n.medium != nil:
		n.medium.send(n, it, takes, done)
	case n.config.SlotMS > 0:
		n.After(n.slot(it), done)
	default:
		n.After(takes, done)
	}
}

// slot is the time until the end of the time slot that still has room for the frame: a slot comes at intervals and its
// octets arrive together.
func (n *line) slot(it waiting) time.Duration {
	interval := time.Duration(n.config.SlotMS * 1e6)
	if n.Now() > n.slotEnd {
		n.slotEnd = (n.Now()/interval + 1) * interval
		n.slotLeft = n.rate() * interval.Seconds() / 8
	}
	n.slotLeft -= float64(n.size(it.frame))
	for n.slotLeft < 0 {
		n.slotEnd += interval
		n.slotLeft += n.rate() * interval.Seconds() / 8
	}
	return n.slotEnd - n.Now()
}

// rate is that of now: fixed, or one of a cycle, or one that wanders.
func (n *line) rate() float64 {
	now := n.Now()
	if len(n.config.Rates) > 0 {
		each := n.config.CycleMS * 1e6 / float64(len(n.config.Rates))
		return n.config.Rates[int(float64(now)/each)%len(n.config.Rates)]
	}
	if n.config.WalkMS > 0 {
		for now >= n.walkUntil {
			if n.walked == 0 {
				n.walked = 0.7
			}
			n.walked = min(1, max(n.config.WalkLow, n.walked*math.Exp(n.Random.NormFloat64()*0.25)))
			n.walkUntil += time.Duration(n.config.WalkMS * 1e6)
		}
		return n.config.Rate * n.walked
	}
	return n.config.Rate
}

// deliver hands a frame on after the delay, in order.
func (n *line) deliver(it waiting) {
	after := n.config.DelayMS
	if n.config.JitterMS > 0 {
		after += n.Random.ExpFloat64() * n.config.JitterMS
	}
	at := n.Now() + time.Duration(after*1e6)
	at = max(at, n.last)
	n.last = at
	n.At(at, func() { it.next(it.frame) })
}

func flowOf(f *Frame) uint32 {
	ip := f.IP()
	if ip == nil || len(ip) < 24 {
		return 0
	}
	sum := uint32(ip[9])
	for _, b := range ip[12:24] {
		sum = sum*31 + uint32(b)
	}
	return sum
}
