package path

import (
	"container/heap"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"
)

// segment is a frame of 1,514 octets with a TCP segment.
func segment(number uint32) []byte {
	frame := make([]byte, 1514)
	frame[12] = 8
	frame[14] = 0x45
	binary.BigEndian.PutUint16(frame[16:], 1500)
	frame[23] = 6
	binary.BigEndian.PutUint32(frame[38:], number)
	frame[46] = 5 << 4
	frame[47] = ACK
	return frame
}

// arrivals passes count frames, one each interval, and returns when each one that passed arrived.
func arrivals(t *testing.T, stage Stage, count int, interval time.Duration) (*Loop, []time.Duration, []uint32) {
	t.Helper()
	l, err := NewLoop()
	if err != nil {
		t.Fatal(err)
	}
	var at []time.Duration
	var numbers []uint32
	in := stage(l, func(frame []byte, when time.Duration) {
		at = append(at, when)
		numbers = append(numbers, Parse(frame).Seq)
	})
	for i := range count {
		when := time.Duration(i) * interval
		l.At(when, func() { in(segment(uint32(i)), when) })
	}
	for len(l.queue) > 0 {
		heap.Pop(&l.queue).(event).do()
	}
	return l, at, numbers
}

func TestALinkTakesTheTimeOfAFrameWithItsOverhead(t *testing.T) {
	_, at, _ := arrivals(t, Rate{BitsPerS: 10e6, Ethernet: true}.Stage(), 3, 0)
	frame := 1538 * 8 * 100 * time.Nanosecond
	for i, it := range at {
		if want := time.Duration(i+1) * frame; it != want {
			t.Errorf("frame %d at %v, not %v", i, it, want)
		}
	}
}

func TestAFullQueueDrops(t *testing.T) {
	l, at, _ := arrivals(t, Rate{BitsPerS: 10e6, Frames: 4, Name: "link"}.Stage(), 10, 0)
	if len(at) != 4 || l.Counts["link dropped"] != 6 {
		t.Errorf("%d passed, counted %v", len(at), l.Counts)
	}
}

func TestBothDirectionsOfAMediumTakeTurns(t *testing.T) {
	medium := &Medium{}
	half := Rate{BitsPerS: 10e6, Medium: medium}.Stage()
	_, at, _ := arrivals(t, func(l *Loop, next Sink) Sink {
		there, back := half(l, next), half(l, next)
		return func(frame []byte, when time.Duration) {
			there(frame, when)
			back(frame, when)
		}
	}, 2, 0)
	frame := time.Duration(1514 * 8 * 100)
	if len(at) != 4 || at[3] != 4*frame {
		t.Errorf("arrived at %v", at)
	}
}

func TestAPolicerPassesItsRateAndQueuesNothing(t *testing.T) {
	// 100 frames in 1 s are 1.2 Mbit/s.
	_, at, _ := arrivals(t, Police(0.6e6, 1514*2), 100, 10*time.Millisecond)
	if len(at) < 49 || len(at) > 53 {
		t.Errorf("%d of 100 frames passed at half their rate", len(at))
	}
	if at[0] != 0 {
		t.Errorf("the first frame waited %v", at[0])
	}
}

func TestAFrameThatIsHeldBackIsOvertaken(t *testing.T) {
	_, _, numbers := arrivals(t, Alternate(25*time.Millisecond, 3), 6, 10*time.Millisecond)
	want := []uint32{0, 1, 3, 4, 2, 5}
	for i := range want {
		if numbers[i] != want[i] {
			t.Fatalf("order %v, not %v", numbers, want)
		}
	}
}

func TestAMismatchLosesFramesOnlyWhenBothEndsSend(t *testing.T) {
	lost := func(both bool) int64 {
		m := &Mismatch{BitsPerS: 10e6, Random: rand.New(rand.NewPCG(1, 2))}
		l, _, _ := arrivals(t, func(l *Loop, next Sink) Sink {
			near, far := m.Near()(l, next), m.Far()(l, next)
			return func(frame []byte, when time.Duration) {
				far(frame, when)
				if both {
					l.At(when+200*time.Microsecond, func() { near(frame, when+200*time.Microsecond) })
				}
			}
		}, 20, 5*time.Millisecond)
		return l.Counts["lost to a collision"] + l.Counts["late collision"]
	}
	if one, two := lost(false), lost(true); one != 0 || two != 40 {
		t.Errorf("lost %d with one sender, %d of 40 with two", one, two)
	}
}

func TestDamageIsSeenByTheChecksum(t *testing.T) {
	frame := segment(7)
	p := Parse(frame)
	FixTCP(frame, p)
	good := append([]byte(nil), frame...)
	FixTCP(good, p)
	if string(good) != string(frame) {
		t.Fatal("the checksum depends on itself")
	}
	l, err := NewLoop()
	if err != nil {
		t.Fatal(err)
	}
	Corrupt(1, rand.New(rand.NewPCG(1, 2)))(l, func(damaged []byte, _ time.Duration) {
		again := append([]byte(nil), damaged...)
		FixTCP(again, p)
		if again[50] == damaged[50] && again[51] == damaged[51] {
			t.Error("the checksum is still right")
		}
	})(frame, 0)
}
