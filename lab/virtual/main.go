// Virtual makes the captures of one trial in virtual time: see README.md. It is started with the trial's file and a folder.
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"linerate.dev/lab/virtual/ends"
	"linerate.dev/lab/virtual/loop"
	"linerate.dev/lab/virtual/programs"
	"linerate.dev/lab/virtual/wire"
)

// trial is the file that states one.
type trial struct {
	Seed    int64           `json:"seed"`
	A       ends.Config     `json:"a"`
	B       ends.Config     `json:"b"`
	LanA    float64         `json:"lan_a"`
	LanB    float64         `json:"lan_b"`
	Routed  bool            `json:"routed"`
	NAT     bool            `json:"nat"`
	Path    []wire.Config   `json:"path"`
	Middle  string          `json:"middle"`
	Program programs.Config `json:"program"`
	LimitS  float64         `json:"limit_s"`
	Snap    int             `json:"snap"`
	// Unfilled leaves checksums of A's or B's own packets unfilled in its capture.
	Unfilled bool `json:"unfilled"`
	Storm    int  `json:"storm"`
}

func main() {
	runtime.GOMAXPROCS(1)
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(words []string) error {
	if len(words) != 2 {
		return fmt.Errorf("usage: virtual TRIAL.json FOLDER")
	}
	text, err := os.ReadFile(words[0])
	if err != nil {
		return err
	}
	t := trial{LanA: 1e9, LanB: 1e9, Middle: "a", LimitS: 60, Snap: 192, Routed: true}
	if err := json.Unmarshal(text, &t); err != nil {
		return fmt.Errorf("%s: %w", words[0], err)
	}
	w, err := build(t, words[1])
	if err != nil {
		return err
	}
	report := &programs.Report{}
	programs.Start(w.loop, w.stations["a"], w.stations["b"], w.adapters["b"].IP, t.Program, report)
	limit := time.Duration(t.LimitS * 1e9)
	w.loop.Run(limit, func() bool { return report.Done })
	w.loop.Run(min(limit, w.loop.Now())+200*time.Millisecond, func() bool { return false })
	for _, it := range w.captures {
		if err := it.Close(); err != nil {
			return err
		}
	}
	result, err := json.Marshal(w.truth(t, report))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(words[1], "truth.json"), result, 0o644)
}

// world is what a trial consists of.
type world struct {
	loop     *loop.Loop
	stations map[string]ends.Station
	adapters map[string]*ends.Adapter
	captures map[string]*wire.Capture
	counts   map[string]int
	first    time.Duration
}

func build(t trial, folder string) (*world, error) {
	w := &world{loop: loop.New(t.Seed), stations: map[string]ends.Station{}, adapters: map[string]*ends.Adapter{},
		captures: map[string]*wire.Capture{}, counts: map[string]int{}, first: -1}
	for name, file := range map[string]string{"a": "A.pcap", "b": "B.pcap", "middle": "R.pcap"} {
		it, err := wire.NewCapture(w.loop, filepath.Join(folder, file), t.Snap)
		if err != nil {
			return nil, err
		}
		w.captures[name] = it
	}
	mac := func(vendor ...byte) (it wire.MAC) {
		copy(it[:], vendor)
		for i := 3; i < 6; i++ {
			it[i] = byte(w.loop.Random.Intn(256))
		}
		return it
	}
	last := byte(20 + w.loop.Random.Intn(180))
	a := w.adapter("a", wire.Address{192, 168, 1, last}, wire.Address{192, 168, 1, 1}, mac(0xdc, 0xa6, 0x32))
	b := w.adapter("b", wire.Address{198, 51, 100, last ^ 1}, wire.Address{198, 51, 100, 1}, mac(0x00, 0x80, 0xe1))
	if !t.Routed {
		b.IP = wire.Address{192, 168, 1, last ^ 1}
		a.Gateway, b.Gateway = b.IP, a.IP
	}
	if t.Unfilled {
		w.captures["a"].Unfilled, w.captures["b"].Unfilled = &a.IP, &b.IP
	}
	parts, err := w.parts(t, mac)
	if err != nil {
		return nil, err
	}
	fromA, fromB := wire.Chain(parts, w.arrival("a"), w.arrival("b"))
	a.Out, b.Out = w.departure("a", fromA), w.departure("b", fromB)
	w.stations["a"], w.stations["b"] = station(w.loop, a, t.A), station(w.loop, b, t.B)
	if t.Storm > 0 {
		w.storm(t.Storm, mac(0x3c, 0x52, 0x82))
	}
	return w, nil
}

func (w *world) adapter(name string, ip, gateway wire.Address, mac wire.MAC) *ends.Adapter {
	w.adapters[name] = &ends.Adapter{Loop: w.loop, MAC: mac, IP: ip, Gateway: gateway, Capture: w.captures[name], Counts: map[string]int{}}
	return w.adapters[name]
}

func station(l *loop.Loop, a *ends.Adapter, c ends.Config) ends.Station {
	if c.Stack == "" || c.Stack == "host" {
		return ends.NewHost(l, a, c)
	}
	return ends.NewBoard(l, a, c)
}

// arrival counts segments that reach a station.
func (w *world) arrival(name string) wire.Port {
	return func(f *wire.Frame) {
		if f.Payload() > 0 {
			w.counts["arrived_at_"+name]++
		}
		w.adapters[name].Arrive(f)
	}
}

func (w *world) departure(name string, out wire.Port) wire.Port {
	return func(f *wire.Frame) {
		if w.first < 0 {
			w.first = w.loop.Now()
		}
		if f.Payload() > 0 {
			w.counts["sent_by_"+name]++
		}
		out(f)
	}
}

// parts is the path from A to B: the cable of A, its router, the path, the router of B, its cable. The mirror port is behind
// one of the routers.
func (w *world) parts(t trial, mac func(...byte) wire.MAC) ([]wire.Part, error) {
	var parts []wire.Part
	add := func(name string, c wire.Config) error {
		it, err := wire.Build(w.loop, name, c, w.counts)
		parts = append(parts, it)
		return err
	}
	cable := func(rate float64) wire.Config {
		return wire.Config{Kind: "line", Rate: rate, Overhead: wire.LineOctets, QueueFrames: 4000, DelayMS: 0.004}
	}
	a, b := w.adapters["a"], w.adapters["b"]
	near := &wire.Router{NearMAC: mac(0xa4, 0x91, 0xb1), FarMAC: mac(0xa4, 0x91, 0xb1), StationMAC: a.MAC, Gateway: a.Gateway, Station: a.IP,
		Public: wire.Address{203, 0, 113, 77}, Translates: t.NAT, IsUp: true}
	far := &wire.Router{NearMAC: mac(0x00, 0x1b, 0x21), FarMAC: mac(0x00, 0x1b, 0x21), StationMAC: b.MAC, Gateway: b.Gateway, Station: b.IP}
	near.PeerMAC, far.PeerMAC = far.FarMAC, near.FarMAC
	if err := add("cable_a", cable(t.LanA)); err != nil {
		return nil, err
	}
	if t.Routed {
		parts = append(parts, near.Part())
	}
	if t.Middle == "a" {
		parts = append(parts, wire.Tap(w.captures["middle"]))
	}
	for i, c := range t.Path {
		if err := add(fmt.Sprintf("%s%d", c.Kind, i), c); err != nil {
			return nil, err
		}
	}
	if t.Middle == "b" {
		parts = append(parts, wire.Tap(w.captures["middle"]))
	}
	if t.Routed {
		parts = append(parts, far.Part())
	}
	return parts, add("cable_b", cable(t.LanB))
}

// storm broadcasts ARP requests at the server's network.
func (w *world) storm(perSecond int, from wire.MAC) {
	i := 0
	var next func()
	next = func() {
		i++
		f := wire.Ethernet(wire.Broadcast, from, wire.TypeARP, wire.ARP(1, from, wire.Address{198, 51, 100, 250}, wire.MAC{}, wire.Address{198, 51, 100, byte(i)}))
		f.Data = append(f.Data, make([]byte, 60-len(f.Data))...)
		w.adapters["b"].Arrive(f)
		w.loop.After(time.Duration(1e9/float64(perSecond)*(0.5+w.loop.Random.Float64())), next)
	}
	w.loop.After(0, next)
}

// truth is what the trial was, by the counters of its parts.
func (w *world) truth(t trial, report *programs.Report) map[string]any {
	to, from := "a", "b"
	if t.Program.Up {
		to, from = "b", "a"
	}
	seconds := (report.Last - w.first).Seconds()
	if report.Octets == 0 || w.first < 0 {
		seconds = max(0, (w.loop.Now()-max(w.first, 0)).Seconds()-0.3)
	}
	goodput := 0.0
	if report.Octets > 0 && seconds > 0 {
		goodput = math.Round(float64(report.Octets) * 8 / seconds)
	}
	lost := max(0, w.counts["sent_by_"+from]-w.counts["arrived_at_"+to]) + w.adapters[to].Counts["no_descriptor"]
	shown := map[string]int{}
	for name, n := range w.counts {
		if n > 0 {
			shown[name] = n
		}
	}
	return map[string]any{"octets": report.Octets, "seconds": math.Round(seconds*1000) / 1000, "goodput_bits_per_s": goodput,
		"lost_segments": lost, "segments": w.counts["sent_by_"+from],
		"path": map[string]any{"parts": shown, "a": w.stations["a"].Counters(), "b": w.stations["b"].Counters(),
			"adapter_a": w.adapters["a"].Counts, "adapter_b": w.adapters["b"].Counts, "program": report}}
}
