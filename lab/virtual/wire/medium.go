package wire

import (
	"time"

	"linerate.dev/lab/virtual/loop"
)

// medium is what both directions of a line share: a cable in half duplex, a radio channel, or the mistake of two ends
// that disagree about it.
type medium struct {
	*loop.Loop
	config  Config
	count   func(string)
	busy    bool
	waiters []func()
	// Of a mismatch: what each end sends now.
	halfSends, fullSends *sending
}

type sending struct {
	since, until time.Duration
	spoilt       bool
}

func (m *medium) send(n *line, it waiting, takes time.Duration, done func()) {
	switch {
	case m.config.Aggregate > 0:
		m.acquire(func() { m.aggregate(n, it) })
	case m.config.Duplex == "half":
		m.acquire(func() {
			m.After(takes, func() {
				m.release()
				done()
			})
		})
	case m.config.Duplex == "mismatch-"+n.config.Dir:
		m.sendHalf(n, it, takes, 0, false)
	default:
		m.sendFull(n, it, takes)
	}
}

// acquire waits until the medium is free.
func (m *medium) acquire(call func()) {
	if m.busy {
		m.waiters = append(m.waiters, call)
		return
	}
	m.busy = true
	call()
}

// release lets one of those that wait begin. Two that wait collide and back off (IEEE 802.3 clause 4.2.3.2.5), or draw
// different slots of the radio.
func (m *medium) release() {
	if len(m.waiters) == 0 {
		m.busy = false
		return
	}
	at, after := 0, time.Duration(0)
	if len(m.waiters) > 1 {
		at = m.Random.Intn(len(m.waiters))
		if m.config.Duplex == "half" {
			m.count("collision")
			after = time.Duration(m.Random.Intn(3)) * time.Duration(512e9/m.config.Rate)
		}
	}
	call := m.waiters[at]
	m.waiters = append(m.waiters[:at], m.waiters[at+1:]...)
	m.After(after, call)
}

// aggregate sends the frames that wait as one, for which the station contends once; each may have to be repeated.
func (m *medium) aggregate(n *line, first waiting) {
	batch := []waiting{first}
	octets := n.size(first.frame)
	for len(n.queue) > 0 && len(batch) < m.config.Aggregate && float64(octets)*8/n.rate() < 0.004 {
		it := n.pick()
		octets += n.size(it.frame)
		batch = append(batch, it)
	}
	m.transmit(n, batch, batch, 0)
}

func (m *medium) transmit(n *line, batch, left []waiting, tries int) {
	octets := 0
	for _, it := range left {
		octets += n.size(it.frame)
	}
	access := (m.config.AccessUS + float64(m.Random.Intn(16<<min(tries, 4)))*9) * 1e3
	m.After(time.Duration(access+float64(octets)*8e9/n.rate()), func() {
		var again []waiting
		for _, it := range left {
			if m.Random.Float64() < m.config.Retry {
				again = append(again, it)
			}
		}
		if len(again) > 0 && tries < max(m.config.Retries, 1) {
			m.count("repeated")
			// The channel is free for others before the station contends again.
			m.release()
			m.acquire(func() { m.transmit(n, batch, again, tries+1) })
			return
		}
		for _, it := range batch {
			if contains(again, it.frame) {
				m.count("lost_by_radio")
				continue
			}
			n.deliver(it)
		}
		m.release()
		n.serve()
	})
}

func contains(list []waiting, f *Frame) bool {
	for _, it := range list {
		if it.frame == f {
			return true
		}
	}
	return false
}

// sendHalf is the end in half duplex: it defers to what arrives, but sends after the gap although the next frame may begin
// then, and aborts when something arrives while it sends. Within 512 bits it tries again; later the frame is lost. What
// arrives meanwhile is lost, too.
func (m *medium) sendHalf(n *line, it waiting, takes time.Duration, tries int, hasDeferred bool) {
	full := m.fullSends
	if full != nil && !(hasDeferred && m.Now()-full.since < 3*time.Microsecond) {
		after := full.until - m.Now() + time.Duration(m.Random.Intn(2000))
		m.After(after, func() { m.sendHalf(n, it, takes, tries, true) })
		return
	}
	own := &sending{m.Now(), m.Now() + takes, false}
	if full != nil {
		own.spoilt, full.spoilt, own.until = true, true, m.Now()
	}
	m.halfSends = own
	m.After(takes, func() {
		if m.halfSends == own {
			m.halfSends = nil
		}
		slot := time.Duration(512e9 / n.config.Rate)
		switch {
		case own.spoilt && own.until-own.since < slot && tries < 15:
			m.count("collision")
			m.After(time.Duration(m.Random.Intn(2<<min(tries, 9)))*slot, func() { m.sendHalf(n, it, takes, tries+1, false) })
			return
		case own.spoilt:
			m.count("late_collision")
		default:
			n.deliver(it)
		}
		n.serve()
	})
}

func (m *medium) sendFull(n *line, it waiting, takes time.Duration) {
	own := &sending{m.Now(), m.Now() + takes, false}
	m.fullSends = own
	spoil := func() {
		if half := m.halfSends; half != nil && !half.spoilt {
			half.spoilt, half.until = true, m.Now()
			own.spoilt = true
		}
	}
	spoil()
	m.After(takes, func() {
		if m.fullSends == own {
			m.fullSends = nil
		}
		if own.spoilt {
			m.count("fcs_error")
		} else {
			n.deliver(it)
		}
		n.serve()
	})
}
