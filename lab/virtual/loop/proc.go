package loop

import "time"

// Proc is a program: a goroutine that runs only while an event lets it.
type Proc struct {
	*Loop
	resume, parked chan struct{}
	timer          *Event
	isWaiting      bool
	isWoken        bool
	// Through runs what wakes the program; a board delays it while its processor is busy.
	Through func(func())
}

// Go starts a program now.
func (l *Loop) Go(through func(func()), program func(*Proc)) *Proc {
	if through == nil {
		through = func(call func()) { call() }
	}
	p := &Proc{Loop: l, resume: make(chan struct{}), parked: make(chan struct{}), Through: through}
	go func() {
		<-p.resume
		program(p)
		p.parked <- struct{}{}
	}()
	l.After(0, func() { through(p.step) })
	return p
}

func (p *Proc) step() {
	p.resume <- struct{}{}
	<-p.parked
}

// Wake lets a waiting program look again at what it waits for.
func (p *Proc) Wake() {
	p.After(0, func() {
		if !p.isWaiting || p.isWoken {
			return
		}
		p.isWoken = true
		p.Through(func() {
			if p.isWaiting && p.isWoken {
				p.step()
			}
		})
	})
}

// pause waits for Wake, or for the time; 0 is for ever.
func (p *Proc) pause(d time.Duration) {
	p.isWaiting, p.isWoken = true, false
	if d > 0 {
		p.timer = p.After(d, func() {
			p.timer = nil
			if p.isWaiting && !p.isWoken {
				p.isWoken = true
				p.Through(p.step)
			}
		})
	}
	p.parked <- struct{}{}
	<-p.resume
	p.isWaiting = false
	p.Cancel(p.timer)
	p.timer = nil
}

// Sleep waits.
func (p *Proc) Sleep(d time.Duration) {
	for until := p.Now() + d; p.Now() < until; {
		p.pause(until - p.Now())
	}
}

// Until waits until a condition holds, which Wake has to announce; it reports false after the time, if that is not 0.
func (p *Proc) Until(limit time.Duration, holds func() bool) bool {
	until := p.Now() + limit
	for !holds() {
		if limit > 0 && p.Now() >= until {
			return false
		}
		if limit > 0 {
			p.pause(until - p.Now())
		} else {
			p.pause(0)
		}
	}
	return true
}
