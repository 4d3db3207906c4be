// Package app has small programs that run on any TCP: the system's (in a namespace, as a process of their own) or
// gVisor's.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Net is the TCP and UDP of a station.
type Net interface {
	Dial(address string) (net.Conn, error)
	Listen(address string) (net.Listener, error)
	Datagrams(local, remote string) (net.PacketConn, error)
}

// Settings are key=value.
type Settings map[string]string

// Parse reads settings.
func Parse(arguments []string) Settings {
	set := Settings{}
	for _, it := range arguments {
		key, value, _ := strings.Cut(it, "=")
		set[key] = value
	}
	return set
}

func (s Settings) number(key string, otherwise float64) float64 {
	if text, ok := s[key]; ok {
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic(fmt.Sprintf("%s=%s", key, text))
		}
		return value
	}
	return otherwise
}

func (s Settings) ms(key string) time.Duration {
	return time.Duration(s.number(key, 0) * float64(time.Millisecond))
}

// Run executes a program: `source`, `sink`, `answer`, `ask`, `datagrams`, `lockstep`.
func Run(n Net, name string, set Settings) error {
	switch name {
	case "source", "sink":
		return stream(n, set, name == "source")
	case "answer":
		return answer(n, set)
	case "ask":
		return ask(n, set)
	case "send-datagrams":
		return sendDatagrams(n, set)
	case "receive-datagrams":
		return receiveDatagrams(n, set)
	case "send-lockstep":
		return sendLockstep(n, set)
	case "receive-lockstep":
		return receiveLockstep(n, set)
	case "serve":
		return serve(n, set)
	case "dns":
		return dns(n, set)
	}
	return fmt.Errorf("no program %q", name)
}

// Kernel is the system's TCP, with its options.
type Kernel struct{ Set Settings }

func (k Kernel) control(_, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) {
		number := func(level, option int, key string) {
			if value, ok := k.Set[key]; ok && failed == nil {
				n, _ := strconv.Atoi(value)
				failed = syscall.SetsockoptInt(int(fd), level, option, n)
			}
		}
		number(syscall.SOL_SOCKET, syscall.SO_SNDBUF, "sndbuf")
		number(syscall.SOL_SOCKET, syscall.SO_RCVBUF, "rcvbuf")
		number(syscall.SOL_SOCKET, 47, "pacing")
		number(syscall.IPPROTO_TCP, syscall.TCP_NODELAY, "nodelay")
		number(syscall.IPPROTO_TCP, 25, "notsent_lowat")
		number(syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, "mss")
		if name := k.Set["congestion"]; name != "" && failed == nil {
			failed = syscall.SetsockoptString(int(fd), syscall.IPPROTO_TCP, 13, name)
		}
	})
	return errors.Join(err, failed)
}

func (k Kernel) after(c net.Conn) net.Conn {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetNoDelay(k.Set["nodelay"] == "1")
	}
	return c
}

type listener struct {
	net.Listener
	k Kernel
}

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.k.after(c), nil
}

// Dial connects.
func (k Kernel) Dial(address string) (net.Conn, error) {
	d := net.Dialer{Timeout: 30 * time.Second, Control: k.control, KeepAlive: -1}
	c, err := d.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return k.after(c), nil
}

// Listen waits for connections.
func (k Kernel) Listen(address string) (net.Listener, error) {
	config := net.ListenConfig{Control: k.control, KeepAlive: -1}
	config.SetMultipathTCP(false)
	l, err := config.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	return listener{l, k}, nil
}

// Datagrams connects a UDP socket to remote, or waits at local.
func (k Kernel) Datagrams(local, remote string) (net.PacketConn, error) {
	if remote != "" {
		c, err := net.Dial("udp", remote)
		if err != nil {
			return nil, err
		}
		return c.(*net.UDPConn), nil
	}
	return net.ListenPacket("udp", local)
}

func connection(n Net, set Settings) (net.Conn, error) {
	if to := set["connect"]; to != "" {
		return n.Dial(to)
	}
	l, err := n.Listen(set["listen"])
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return l.Accept()
}

// stream writes or reads one connection: octets or seconds; every and for (ms: works, then stops); chunk and interval
// (writes or reads chunk octets each interval ms); write (octets per call); linger (ms before closing).
func stream(n Net, set Settings, isSource bool) error {
	c, err := connection(n, set)
	if err != nil {
		return err
	}
	defer c.Close()
	if set["request"] != "" {
		if err := request(c, set); err != nil {
			return err
		}
	}
	begun := time.Now()
	left, end := set.number("octets", 1e15), begun.Add(time.Hour)
	if s := set.number("seconds", 0); s > 0 {
		end = begun.Add(time.Duration(s * float64(time.Second)))
	}
	every, stop := set.ms("every"), set.ms("for")
	chunk, interval := int(set.number("chunk", 0)), set.ms("interval")
	size := int(set.number("write", 65536))
	if chunk > 0 {
		size = min(size, chunk)
	}
	buffer := make([]byte, size)
	for i := range buffer {
		buffer[i] = byte(i*7 + i/256)
	}
	next, inChunk := begun, 0
	for left > 0 && time.Now().Before(end) {
		if stop > 0 {
			if phase := time.Since(begun) % (every + stop); phase >= every {
				time.Sleep(every + stop - phase)
			}
		}
		part := buffer[:int(min(left, float64(size)))]
		if chunk > 0 {
			part = part[:min(len(part), chunk-inChunk)]
		}
		var done int
		if isSource {
			done, err = c.Write(part)
		} else {
			done, err = c.Read(part)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		left -= float64(done)
		if inChunk += done; chunk > 0 && inChunk >= chunk {
			inChunk = 0
			next = next.Add(interval)
			if set["exact"] == "" && next.Before(time.Now()) {
				next = time.Now()
			}
			time.Sleep(time.Until(next))
		}
	}
	time.Sleep(set.ms("linger"))
	if isSource {
		if half, ok := c.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
			_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
			_, _ = io.Copy(io.Discard, c)
		}
	}
	return nil
}

// request is sent by the end that connects before the stream begins.
func request(c net.Conn, set Settings) error {
	text := make([]byte, int(set.number("request", 100)))
	if set["connect"] != "" {
		_, err := c.Write(text)
		return err
	}
	_, err := io.ReadFull(c, text)
	return err
}

// answer serves requests: request, answer (octets), think (ms), once (one per connection).
func answer(n Net, set Settings) error {
	l, err := n.Listen(set["listen"])
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			in, out := make([]byte, int(set.number("request", 100))), make([]byte, int(set.number("answer", 1000)))
			for i := 0; ; i++ {
				if _, err := io.ReadFull(c, in); err != nil {
					return
				}
				time.Sleep(set.ms("think"))
				if _, err := c.Write(out); err != nil || set["once"] != "" {
					return
				}
			}
		}()
	}
}

// ask sends requests: request, answer (octets), count, pause (ms between), burst (requests without a pause), split (the
// request is written in two parts), once (a connection each), keep (ms before closing).
func ask(n Net, set Settings) error {
	var c net.Conn
	out, in := make([]byte, int(set.number("request", 100))), make([]byte, int(set.number("answer", 1000)))
	split := int(set.number("split", 0))
	burst := int(set.number("burst", 1))
	for i := range int(set.number("count", 1)) {
		if c == nil {
			var err error
			if c, err = n.Dial(set["connect"]); err != nil {
				return err
			}
		}
		parts := [][]byte{out}
		if split > 0 {
			parts = [][]byte{out[:split], out[split:]}
		}
		for _, part := range parts {
			if _, err := c.Write(part); err != nil {
				return err
			}
		}
		if _, err := io.ReadFull(c, in); err != nil {
			return err
		}
		if set["once"] != "" {
			_ = c.Close()
			c = nil
		}
		if (i+1)%burst == 0 {
			time.Sleep(set.ms("pause"))
		}
	}
	time.Sleep(set.ms("keep"))
	if c != nil {
		return c.Close()
	}
	return nil
}
