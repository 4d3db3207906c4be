// Package path emulates the link between two stations: an event loop on a thread of its own that takes frames from one
// station, passes them through stages (rate, queue, delay, loss, ...) and delivers them to the other.
package path

import (
	"container/heap"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Port is where a station is attached to the path.
type Port interface {
	// FD is readable when the station has sent a frame.
	FD() int
	// Receive returns the next frame that the station has sent, or nil.
	Receive() []byte
	// Deliver hands a frame to the station.
	Deliver(frame []byte)
	Close()
}

// Sink takes a frame at a time since the start of the loop.
type Sink func(frame []byte, at time.Duration)

// Stage changes what passes: it takes frames and passes them to next, at once or later.
type Stage func(loop *Loop, next Sink) Sink

type event struct {
	at    time.Duration
	order uint64
	do    func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(a, b int) bool {
	return e[a].at < e[b].at || e[a].at == e[b].at && e[a].order < e[b].order
}
func (e events) Swap(a, b int) { e[a], e[b] = e[b], e[a] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := len(*e) - 1
	it := (*e)[last]
	(*e)[last] = event{}
	*e = (*e)[:last]
	return it
}

// Loop executes events in the order of their times.
type Loop struct {
	base   time.Time
	queue  events
	order  uint64
	stop   atomic.Bool
	done   sync.WaitGroup
	wake   int
	calls  chan func()
	lates  []time.Duration
	Counts map[string]int64
}

// NewLoop returns a loop that does not run yet.
func NewLoop() (*Loop, error) {
	wake, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	return &Loop{base: time.Now(), wake: wake, calls: make(chan func(), 64), Counts: map[string]int64{}}, nil
}

// Now is the time since the start.
func (l *Loop) Now() time.Duration { return time.Since(l.base) }

// Wall converts a time since the start.
func (l *Loop) Wall(at time.Duration) time.Time { return l.base.Add(at) }

// At executes do at a time; only for the thread of the loop.
func (l *Loop) At(at time.Duration, do func()) {
	l.order++
	heap.Push(&l.queue, event{at, l.order, do})
}

// Call executes do on the thread of the loop soon.
func (l *Loop) Call(do func()) {
	l.calls <- do
	one := [8]byte{1}
	_, _ = unix.Write(l.wake, one[:])
}

// Count adds to a counter of the path.
func (l *Loop) Count(name string, n int64) { l.Counts[name] += n }

// Lateness returns the 99th percentile and the maximum of how late events were executed.
func (l *Loop) Lateness() (p99, most time.Duration) {
	if len(l.lates) == 0 {
		return 0, 0
	}
	buckets := map[time.Duration]int{}
	for _, late := range l.lates {
		most = max(most, late)
		buckets[late.Truncate(100*time.Microsecond)]++
	}
	seen := 0
	for at := time.Duration(0); ; at += 100 * time.Microsecond {
		seen += buckets[at]
		if seen*100 >= len(l.lates)*99 {
			return at + 100*time.Microsecond, most
		}
	}
}

// Run takes frames from the ports and passes them to the sinks until Stop.
func (l *Loop) Run(ports []Port, sinks []Sink) {
	l.done.Add(1)
	go func() {
		defer l.done.Done()
		runtime.LockOSThread()
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: 1, Priority: 20}
		_ = unix.SchedSetAttr(0, &attr, 0)
		l.run(ports, sinks)
	}()
}

func (l *Loop) run(ports []Port, sinks []Sink) {
	fds := make([]unix.PollFd, len(ports)+1)
	for !l.stop.Load() {
		for i, port := range ports {
			for n := 0; n < 32; n++ {
				frame := port.Receive()
				if frame == nil {
					break
				}
				sinks[i](frame, l.Now())
			}
			fds[i] = unix.PollFd{Fd: int32(port.FD()), Events: unix.POLLIN}
		}
		l.drainCalls()
		now := l.Now()
		for len(l.queue) > 0 && l.queue[0].at <= now {
			it := heap.Pop(&l.queue).(event)
			l.lates = append(l.lates, now-it.at)
			it.do()
		}
		wait := 20 * time.Millisecond
		if len(l.queue) > 0 {
			wait = min(wait, max(0, l.queue[0].at-l.Now()))
		}
		fds[len(ports)] = unix.PollFd{Fd: int32(l.wake), Events: unix.POLLIN}
		timeout := unix.NsecToTimespec(wait.Nanoseconds())
		_, _ = unix.Ppoll(fds, &timeout, nil)
		for i := range ports {
			// A station that has gone would be reported at once for ever.
			if fds[i].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
				time.Sleep(200 * time.Microsecond)
			}
		}
	}
}

func (l *Loop) drainCalls() {
	var count [8]byte
	_, _ = unix.Read(l.wake, count[:])
	for {
		select {
		case do := <-l.calls:
			do()
		default:
			return
		}
	}
}

// Stop ends the loop and waits for its thread.
func (l *Loop) Stop() {
	l.stop.Store(true)
	l.Call(func() {})
	l.done.Wait()
	_ = unix.Close(l.wake)
}
