package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"strconv"
)

// seed is the text that all draws begin with; another set needs another text.
const seed = "linerate foreign 2026-11-23"

// Draw draws the settings of a trial and keeps them for its label.
type Draw struct {
	*rand.Rand
	Settings map[string]any
	trial    string
}

// NewDraw is the same for the same trial; attempt counts from 0 and rises when a trial is discarded.
func NewDraw(name string, trial, attempt int) *Draw {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d/%d", seed, name, trial, attempt))
	source := rand.NewPCG(binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:]))
	return &Draw{Rand: rand.New(source), Settings: map[string]any{}, trial: name}
}

// Random is a generator for the events of a run, the same in each run of the trial.
func (d *Draw) Random() func() *rand.Rand {
	a, b := d.Uint64(), d.Uint64()
	return func() *rand.Rand { return rand.New(rand.NewPCG(a, b)) }
}

func (d *Draw) note(key string, value any) {
	if key != "" {
		d.Settings[key] = value
	}
}

// Log draws between bounds on a logarithmic scale, rounded to three digits.
func (d *Draw) Log(key string, low, high float64) float64 {
	value := low * math.Pow(high/low, d.Float64())
	value, _ = strconv.ParseFloat(strconv.FormatFloat(value, 'g', 3, 64), 64)
	d.note(key, value)
	return value
}

// Whole draws a whole number between bounds, on a logarithmic scale.
func (d *Draw) Whole(key string, low, high int) int {
	value := int(math.Round(float64(low) * math.Pow(float64(high)/float64(low), d.Float64())))
	d.note(key, value)
	return value
}

// Pick draws one of the values.
func Pick[T any](d *Draw, key string, values ...T) T {
	value := values[d.IntN(len(values))]
	d.note(key, value)
	return value
}

// Turn takes the values in turn by the number of the trial.
func Turn[T any](d *Draw, key string, trial int, values ...T) T {
	value := values[trial%len(values)]
	d.note(key, value)
	return value
}

// Addresses draws the subnet of a trial and two stations in it.
func (d *Draw) Addresses() (left, right string) {
	prefix := Pick(d, "", "10.%d.%d.", "172.20.%d.", "192.168.%d.")
	switch prefix {
	case "10.%d.%d.":
		prefix = fmt.Sprintf(prefix, d.IntN(250), d.IntN(250))
	default:
		prefix = fmt.Sprintf(prefix, 1+d.IntN(250))
	}
	a := 3 + d.IntN(120)
	b := 124 + d.IntN(120)
	if d.IntN(2) == 0 {
		a, b = b, a
	}
	return fmt.Sprint(prefix, a), fmt.Sprint(prefix, b)
}

// MAC draws an address of a vendor that is common on such links.
func (d *Draw) MAC() net.HardwareAddr {
	vendor := Pick(d, "", []byte{0x24, 0x0a, 0xc4}, []byte{0xb8, 0x27, 0xeb}, []byte{0x00, 0x80, 0xe1},
		[]byte{0x00, 0x04, 0x9f}, []byte{0x00, 0x0c, 0x29}, []byte{0x3c, 0x97, 0x0e})
	return net.HardwareAddr{vendor[0], vendor[1], vendor[2], byte(d.IntN(256)), byte(d.IntN(256)), byte(d.IntN(256))}
}

func sqrt(value float64) float64 { return math.Sqrt(value) }
