package ends

import (
	"time"

	"linerate.dev/lab/virtual/wire"
)

// push sends what the windows let.
func (c *smallConn) push() {
	if c.state != 'o' {
		return
	}
	for {
		flight := int(c.next - c.una)
		left := len(c.out) - flight
		n := min(left, c.mss(), max(0, c.window-flight))
		if c.finSent && c.next == c.top {
			break
		}
		if n <= 0 || c.config.OneInFlight && flight > 0 || c.config.Nagle && n < c.mss() && flight > 0 && !c.finOut {
			if left == 0 && c.finOut && !c.finSent {
				c.finSent = true
				c.segment(wire.FIN, c.next, nil)
				c.next++
				c.top = c.next
				c.arm()
			}
			break
		}
		flags := byte(0)
		if n == left {
			flags = wire.PSH
		}
		c.segment(flags, c.next, c.out[flight:flight+n])
		c.next += uint32(n)
		if int32(c.next-c.top) > 0 {
			if c.timedAt == 0 {
				c.timed, c.timedAt = c.next, c.Loop.Now()
			}
			c.top = c.next
		} else {
			c.resent++
			c.timedAt = 0
		}
		if c.resendAt == 0 {
			c.arm()
		}
	}
	if len(c.out) > 0 && c.next == c.una && c.window == 0 && c.resendAt == 0 {
		c.arm()
	}
	c.flush()
}

func (s *small) poll() {
	now := s.Loop.Now()
	for _, c := range s.conns {
		if c.state == 'c' {
			continue
		}
		if c.ackAt > 0 && now >= c.ackAt {
			c.mustAck = true
		}
		if c.resendAt > 0 && now >= c.resendAt {
			c.expire()
		}
		c.push()
	}
}

// expire goes back to what is not acknowledged.
func (c *smallConn) expire() {
	c.backoff++
	c.copies, c.timedAt, c.resendAt = 0, 0, 0
	if c.backoff > 9 {
		c.fail()
		return
	}
	switch {
	case c.state == 's':
		c.segment(wire.SYN, c.isn, nil)
	case c.state == 'r':
		c.segment(wire.SYN|wire.ACK, c.isn, nil)
	case len(c.out) > 0 && c.window == 0:
		c.segment(0, c.una, c.out[:1])
	case c.finSent && len(c.out) == 0:
		c.segment(wire.FIN, c.una, nil)
	default:
		c.next, c.recover = c.una, c.una
		if c.finSent {
			c.finSent = false
		}
		c.push()
		return
	}
	c.resent++
	c.arm()
}

func (s *small) next() time.Duration {
	least := time.Duration(-1)
	for _, c := range s.conns {
		for _, at := range []time.Duration{c.ackAt, c.resendAt} {
			if at > 0 && c.state != 'c' && (least < 0 || at-s.Loop.Now() < least) {
				least = max(0, at-s.Loop.Now())
			}
		}
	}
	return least
}
