package app

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

func send(c net.PacketConn, data []byte) error {
	_, err := c.(net.Conn).Write(data)
	return err
}

// sendDatagrams sends RTP: size, rate (bit/s of payload), seconds, burst (datagrams at once, for frames of a video),
// stop (ms: waits in the middle).
func sendDatagrams(n Net, set Settings) error {
	c, err := n.Datagrams("", set["connect"])
	if err != nil {
		return err
	}
	defer c.Close()
	size, burst := int(set.number("size", 1200)), int(set.number("burst", 1))
	interval := time.Duration(float64(size*burst) * 8 / set.number("rate", 1e6) * 1e9)
	begun := time.Now()
	packet := make([]byte, size)
	packet[0], packet[1] = 0x80, 96
	binary.BigEndian.PutUint32(packet[8:], 0x1234abcd)
	sequence := uint16(begun.UnixNano())
	next := begun
	for time.Since(begun).Seconds() < set.number("seconds", 3) {
		for range burst {
			binary.BigEndian.PutUint16(packet[2:], sequence)
			binary.BigEndian.PutUint32(packet[4:], uint32(next.Sub(begun).Microseconds()*90/1000))
			sequence++
			if err := send(c, packet); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				time.Sleep(time.Millisecond)
			}
		}
		next = next.Add(interval)
		time.Sleep(time.Until(next))
	}
	return nil
}

// receiveDatagrams reads datagrams.
func receiveDatagrams(n Net, set Settings) error {
	c, err := n.Datagrams(set["listen"], "")
	if err != nil {
		return err
	}
	defer c.Close()
	data := make([]byte, 65536)
	for {
		if _, _, err := c.ReadFrom(data); err != nil {
			return err
		}
	}
}

// sendLockstep sends numbered datagrams, each (or each window of them) after the answer to the one before: size,
// count, window, timeout (ms), work (ms after each answer).
func sendLockstep(n Net, set Settings) error {
	c, err := n.Datagrams("", set["connect"])
	if err != nil {
		return err
	}
	defer c.Close()
	packet, reply := make([]byte, int(set.number("size", 512))), make([]byte, 2048)
	timeout := time.Duration(set.number("timeout", 1000)) * time.Millisecond
	window := int(set.number("window", 1))
	for i := 0; i < int(set.number("count", 100)); i += window {
		for {
			for j := range window {
				binary.BigEndian.PutUint32(packet, uint32(i+j))
				if err := send(c, packet); err != nil {
					return err
				}
			}
			_ = c.SetReadDeadline(time.Now().Add(timeout))
			_, _, err := c.ReadFrom(reply)
			if errors.Is(err, syscall.ECONNREFUSED) {
				return err
			}
			if err == nil {
				break
			}
		}
		time.Sleep(set.ms("work"))
	}
	return nil
}

// receiveLockstep answers the last datagram of each window after work ms.
func receiveLockstep(n Net, set Settings) error {
	c, err := n.Datagrams(set["listen"], "")
	if err != nil {
		return err
	}
	data := make([]byte, 2048)
	window := uint32(set.number("window", 1))
	for {
		_, from, err := c.ReadFrom(data)
		if err != nil {
			return err
		}
		if (binary.BigEndian.Uint32(data)+1)%window != 0 {
			continue
		}
		time.Sleep(set.ms("work"))
		if _, err := c.WriteTo(data[:4], from); err != nil {
			return err
		}
	}
}

// dns answers each question for an address with `address` after think ms; the first `mute` questions get no answer.
func dns(n Net, set Settings) error {
	c, err := n.Datagrams(set["listen"], "")
	if err != nil {
		return err
	}
	data := make([]byte, 2048)
	mute := int(set.number("mute", 0))
	for {
		size, from, err := c.ReadFrom(data)
		if err != nil {
			return err
		}
		if mute > 0 {
			mute--
			continue
		}
		end := 12
		for end < size && data[end] != 0 {
			end += int(data[end]) + 1
		}
		end += 5
		if end > size {
			continue
		}
		reply := append([]byte(nil), data[:end]...)
		reply[2], reply[3] = 0x81, 0x80
		binary.BigEndian.PutUint32(reply[8:], 0)
		if binary.BigEndian.Uint16(data[end-4:]) == 1 {
			reply[7] = 1
			reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4)
			reply = append(reply, net.ParseIP(set["address"]).To4()...)
		} else {
			reply[7] = 0
		}
		go func() {
			time.Sleep(set.ms("think"))
			_, _ = c.WriteTo(reply, from)
		}()
	}
}
