// Package loop is the virtual time of a trial: a queue of events, and programs that wait for them.
package loop

import (
	"container/heap"
	"math/rand"
	"runtime"
	"sync"
	"time"
)

// Event is something that will happen.
type Event struct {
	at    time.Duration
	order uint64
	call  func()
	place int
}

// Loop holds the time and what will happen. The lock is for the goroutines of stacks, which add events.
type Loop struct {
	mu     sync.Mutex
	now    time.Duration
	order  uint64
	events queue
	Random *rand.Rand
	// Epoch is what the clock on the wall shows at the beginning.
	Epoch time.Time
}

// New returns a loop whose draws repeat with the seed.
func New(seed int64) *Loop {
	return &Loop{Random: rand.New(rand.NewSource(seed)), Epoch: time.Unix(1_796_000_000+seed%3_000_000, 1000*(seed%999_983))}
}

// Now is the time since the beginning.
func (l *Loop) Now() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// After calls a function when the time has passed.
func (l *Loop) After(d time.Duration, call func()) *Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.order++
	it := &Event{at: l.now + max(d, 0), order: l.order, call: call}
	heap.Push(&l.events, it)
	return it
}

// At calls a function at a time.
func (l *Loop) At(t time.Duration, call func()) *Event { return l.After(t-l.Now(), call) }

// Cancel takes an event back; it reports whether that was still possible.
func (l *Loop) Cancel(it *Event) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if it == nil || it.place < 0 {
		return false
	}
	heap.Remove(&l.events, it.place)
	return true
}

// settle lets the goroutines of the stacks do what an event gave them: with one processor, Gosched returns once nothing
// else can run (but for one call in 61, hence three).
func settle() {
	for range 3 {
		runtime.Gosched()
	}
}

// Run goes from event to event until the time, or until done is true.
func (l *Loop) Run(until time.Duration, done func() bool) {
	for !done() {
		l.mu.Lock()
		if len(l.events) == 0 || l.events[0].at > until {
			l.now = until
			l.mu.Unlock()
			return
		}
		it := heap.Pop(&l.events).(*Event)
		l.now = it.at
		l.mu.Unlock()
		it.call()
		settle()
	}
}

type queue []*Event

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, k int) bool {
	return q[i].at < q[k].at || q[i].at == q[k].at && q[i].order < q[k].order
}
func (q queue) Swap(i, k int) {
	q[i], q[k] = q[k], q[i]
	q[i].place, q[k].place = i, k
}
func (q *queue) Push(it any) {
	e := it.(*Event)
	e.place = len(*q)
	*q = append(*q, e)
}
func (q *queue) Pop() any {
	old := *q
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	e.place = -1
	return e
}
