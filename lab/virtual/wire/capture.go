package wire

import (
	"bufio"
	"encoding/binary"
	"os"

	"linerate.dev/lab/virtual/loop"
)

// Capture writes frames to a file as tcpdump does.
type Capture struct {
	loop *loop.Loop
	file *os.File
	out  *bufio.Writer
	snap int
	// Unfilled leaves the checksums of what this station sends to its adapter, as a host with offload shows them.
	Unfilled *Address
	Frames   int
}

// NewCapture begins a pcap file with microseconds that keeps snap octets of each frame.
func NewCapture(l *loop.Loop, name string, snap int) (*Capture, error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	c := &Capture{loop: l, file: file, out: bufio.NewWriterSize(file, 1<<18), snap: snap}
	head := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	head = append(head, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	head = binary.LittleEndian.AppendUint32(head, 1<<18)
	c.out.Write(binary.LittleEndian.AppendUint32(head, 1))
	return c, nil
}

// Take notes a frame.
func (c *Capture) Take(f *Frame) {
	if c == nil {
		return
	}
	at := c.loop.Epoch.Add(c.loop.Now())
	kept := f.Data[:min(len(f.Data), c.snap)]
	if ip := f.IP(); c.Unfilled != nil && ip != nil && Address(ip[12:16]) == *c.Unfilled {
		kept = append([]byte(nil), kept...)
		place := map[byte]int{TCP: 16, UDP: 6}[ip[9]]
		if at := LinkOctets + int(ip[0]&15)*4 + place; place > 0 && len(kept) >= at+2 {
			binary.BigEndian.PutUint16(kept[at:], Sum(nil, Pseudo(ip)))
		}
	}
	var head [16]byte
	binary.LittleEndian.PutUint32(head[:], uint32(at.Unix()))
	binary.LittleEndian.PutUint32(head[4:], uint32(at.Nanosecond()/1000))
	binary.LittleEndian.PutUint32(head[8:], uint32(len(kept)))
	binary.LittleEndian.PutUint32(head[12:], uint32(len(f.Data)))
	c.out.Write(head[:])
	c.out.Write(kept)
	c.Frames++
}

// Close ends the file.
func (c *Capture) Close() error {
	if err := c.out.Flush(); err != nil {
		return err
	}
	return c.file.Close()
}
