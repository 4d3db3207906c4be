package path

import (
	"bufio"
	"encoding/binary"
	"os"
	"time"
)

// Capture writes frames as pcap.
type Capture struct {
	file   *os.File
	writer *bufio.Writer
	snap   int
	nanos  bool
	// VLAN is the tag that each frame has at this place; 0 for none.
	VLAN   int
	Frames int
}

// NewCapture creates a file; it has nanoseconds if asked.
func NewCapture(name string, snap int, nanos bool) (*Capture, error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	c := &Capture{file: file, writer: bufio.NewWriterSize(file, 1<<20), snap: snap, nanos: nanos}
	head := make([]byte, 24)
	magic := uint32(0xa1b2c3d4)
	if nanos {
		magic = 0xa1b23c4d
	}
	binary.LittleEndian.PutUint32(head, magic)
	head[4], head[6] = 2, 4
	binary.LittleEndian.PutUint32(head[16:], uint32(snap))
	head[20] = 1
	_, err = c.writer.Write(head)
	return c, err
}

// Write adds a frame.
func (c *Capture) Write(frame []byte, at time.Time) {
	if c == nil {
		return
	}
	if c.VLAN > 0 {
		tagged := append(append([]byte(nil), frame[:12]...), 0x81, 0, byte(c.VLAN>>8), byte(c.VLAN))
		frame = append(tagged, frame[12:]...)
	}
	kept := min(len(frame), c.snap)
	var head [16]byte
	fraction := at.Nanosecond()
	if !c.nanos {
		fraction /= 1000
	}
	binary.LittleEndian.PutUint32(head[:], uint32(at.Unix()))
	binary.LittleEndian.PutUint32(head[4:], uint32(fraction))
	binary.LittleEndian.PutUint32(head[8:], uint32(kept))
	binary.LittleEndian.PutUint32(head[12:], uint32(len(frame)))
	_, _ = c.writer.Write(head[:])
	_, _ = c.writer.Write(frame[:kept])
	c.Frames++
}

// Close writes the rest.
func (c *Capture) Close() error {
	if c == nil {
		return nil
	}
	if err := c.writer.Flush(); err != nil {
		return err
	}
	return c.file.Close()
}

// Watch captures what passes between stages.
func Watch(c *Capture) Stage {
	return func(l *Loop, next Sink) Sink {
		return func(frame []byte, at time.Duration) {
			c.Write(frame, time.Now())
			next(frame, at)
		}
	}
}

// Chain connects stages to a port; the capture there shows what is delivered, at the time of delivery.
func Chain(l *Loop, stages []Stage, port Port, c *Capture, meter *Meter) Sink {
	next := Sink(func(frame []byte, at time.Duration) {
		c.Write(frame, time.Now())
		meter.Delivered(frame, at)
		port.Deliver(frame)
	})
	for i := len(stages) - 1; i >= 0; i-- {
		next = stages[i](l, next)
	}
	return next
}
