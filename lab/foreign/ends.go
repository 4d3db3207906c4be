package main

import (
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"linerate/lab/foreign/path"
	"linerate/lab/foreign/station"
)

func removeAll(directory string) { _ = os.RemoveAll(directory) }

func (r *Run) side(left bool) (address string, mac net.HardwareAddr, letter string) {
	if left {
		return r.LeftIP, r.LeftMAC, "a"
	}
	return r.RightIP, r.RightMAC, "b"
}

func (r *Run) add(e *station.End, err error) (*station.End, error) {
	if e != nil {
		r.ends = append(r.ends, e)
	}
	return e, err
}

// Host is the system's TCP.
func (r *Run) Host(left bool, o station.HostOptions) (*station.End, error) {
	address, mac, letter := r.side(left)
	namespace := fmt.Sprintf("foreign-%d%s", r.Slot, letter)
	return r.add(station.NewHost(namespace, address, 24, mac, o))
}

// Netstack is gVisor's TCP.
func (r *Run) Netstack(left bool, o station.NetstackOptions) (*station.End, error) {
	address, mac, _ := r.side(left)
	n, err := station.NewNetstack(address, 24, mac, o)
	if err != nil {
		return nil, err
	}
	return r.add(station.FromNetstack(address, n), nil)
}

// Device is a small receiver.
func (r *Run) Device(left bool, o station.DeviceOptions) (*station.End, error) {
	address, mac, _ := r.side(left)
	d, err := station.NewDevice(r.Loop, address, mac, o)
	if err != nil {
		return nil, err
	}
	return r.add(station.FromDevice(address, d), nil)
}

// LwIP is a program with lwIP; build names the variant (see stations/lwip/builds).
func (r *Run) LwIP(left bool, build string, settings ...string) (*station.End, error) {
	address, mac, _ := r.side(left)
	arguments := append([]string{programs + "/lwip-" + build, "ip=" + address, "mac=" + mac.String()}, settings...)
	return r.add(station.NewProgram(address, arguments...))
}

// Smoltcp is a program with smoltcp.
func (r *Run) Smoltcp(left bool, settings ...string) (*station.End, error) {
	address, mac, _ := r.side(left)
	arguments := append([]string{programs + "/smoltcp", "ip=" + address, "mac=" + mac.String()}, settings...)
	return r.add(station.NewProgram(address, arguments...))
}

// Slirp is QEMU's user network.
func (r *Run) Slirp(left bool) (*station.End, error) {
	address, _, letter := r.side(left)
	network := address[:strings.LastIndex(address, ".")] + ".0/24"
	return r.add(station.NewSlirp(fmt.Sprintf("foreign-%d%s", r.Slot, letter), network, address))
}

// Directory is removed after the run.
func (r *Run) Directory() (string, error) {
	directory, err := os.MkdirTemp("", "foreign-")
	r.directories = append(r.directories, directory)
	return directory, err
}

// File of random octets in a directory.
func file(directory, name string, octets int) error {
	data := make([]byte, octets)
	state := uint64(octets) | 1
	for i := range data {
		state = state*6364136223846793005 + 1442695040888963407
		data[i] = byte(state >> 56)
	}
	return os.WriteFile(directory+"/"+name, data, 0o644)
}

func ms(value float64) time.Duration { return time.Duration(value * float64(time.Millisecond)) }

func key(name string, value any) string { return fmt.Sprintf("%s=%v", name, value) }

// Link is a plain path: a rate with a queue in each direction and half the round trip before and after the middle.
type Link struct {
	Rate float64
	// Back is the rate of the other direction; 0 for the same.
	Back float64
	RTT  float64
	// QueueMs is what the queue holds at the rate.
	QueueMs float64
	// Ethernet counts the overhead of frames.
	Ethernet bool
}

// Stages of both directions with the extra stages there and back after the middle.
func (k Link) Stages(there, back []path.Stage) (a, b []path.Stage) {
	backRate := k.Back
	if backRate == 0 {
		backRate = k.Rate
	}
	queue := func(rate float64) int { return max(3*1538, int(rate/8*k.QueueMs/1000)) }
	a = append(a, path.Delay(ms(k.RTT/8)), nil)
	a = append(a, there...)
	a = append(a, path.Rate{BitsPerS: k.Rate, Octets: queue(k.Rate), Ethernet: k.Ethernet, Name: "there"}.Stage(),
		path.Delay(ms(k.RTT*3/8)))
	b = append(b, path.Delay(ms(k.RTT*3/8)))
	b = append(b, back...)
	b = append(b, path.Rate{BitsPerS: backRate, Octets: queue(backRate), Ethernet: k.Ethernet, Name: "back"}.Stage(),
		nil, path.Delay(ms(k.RTT/8)))
	return a, b
}

func writeFile(name, text string) error { return os.WriteFile(name, []byte(text), 0o644) }
