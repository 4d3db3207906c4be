package path

import (
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

const longest = 65600

// Socket is a port whose station exchanges frames over a file descriptor: a TAP interface, or a pair of sockets to
// another process.
type Socket struct {
	fd     int
	buffer [longest]byte
	// Full counts frames that the station did not take.
	Full int
}

// Tap creates a TAP interface in the present namespace.
func Tap(name string) (*Socket, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("open /dev/net/tun", err)
	}
	var request struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:15], name)
	request.flags = unix.IFF_TAP | unix.IFF_NO_PI
	if _, _, code := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TUNSETIFF,
		uintptr(unsafe.Pointer(&request))); code != 0 {
		return nil, fmt.Errorf("TUNSETIFF %s: %w", name, code)
	}
	return &Socket{fd: fd}, nil
}

// Pair is a port and the file that the process of its station inherits: a datagram is a frame.
func Pair() (*Socket, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	for _, fd := range fds {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 8<<20)
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20)
	}
	_ = unix.SetNonblock(fds[0], true)
	return &Socket{fd: fds[0]}, os.NewFile(uintptr(fds[1]), "station"), nil
}

// FD is readable when the station has sent a frame.
func (s *Socket) FD() int { return s.fd }

// Receive returns the next frame that the station has sent, or nil.
func (s *Socket) Receive() []byte {
	n, err := unix.Read(s.fd, s.buffer[:])
	if err != nil || n <= 0 {
		return nil
	}
	return append([]byte(nil), s.buffer[:n]...)
}

// Deliver hands a frame to the station.
func (s *Socket) Deliver(frame []byte) {
	if _, err := unix.Write(s.fd, frame); err != nil {
		s.Full++
	}
}

// Close removes the interface.
func (s *Socket) Close() { _ = unix.Close(s.fd) }

// Queue is a port whose station runs in this process.
type Queue struct {
	fd      int
	mutex   sync.Mutex
	frames  [][]byte
	deliver func([]byte)
}

// NewQueue is a port that hands frames to deliver.
func NewQueue(deliver func([]byte)) (*Queue, error) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	return &Queue{fd: fd, deliver: deliver}, os.NewSyscallError("eventfd", err)
}

// Send queues a frame of the station.
func (q *Queue) Send(frame []byte) {
	q.mutex.Lock()
	q.frames = append(q.frames, frame)
	q.mutex.Unlock()
	one := [8]byte{1}
	_, _ = unix.Write(q.fd, one[:])
}

// FD is readable when the station has sent a frame.
func (q *Queue) FD() int { return q.fd }

// Receive returns the next frame that the station has sent, or nil.
func (q *Queue) Receive() []byte {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if len(q.frames) == 0 {
		var count [8]byte
		_, _ = unix.Read(q.fd, count[:])
		return nil
	}
	frame := q.frames[0]
	q.frames = q.frames[1:]
	return frame
}

// Deliver hands a frame to the station.
func (q *Queue) Deliver(frame []byte) { q.deliver(frame) }

// Close ends the port.
func (q *Queue) Close() { _ = unix.Close(q.fd) }
