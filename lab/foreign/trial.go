package main

import (
	"fmt"
	"net"
	"path/filepath"
	"time"

	"linerate/lab/foreign/path"
	"linerate/lab/foreign/station"
)

// Answer is the label of a capture.
type Answer struct {
	// Expected names what may come first; "unknown" if not even a careful reader knows.
	Expected []string
	Reason   string
	// OrNone: no answer is right, too.
	OrNone bool
}

// Trial is a case with its settings drawn.
type Trial struct {
	Answer
	// Control is a healthy transfer.
	Control bool
	// Other answers by kind of capture; the longest prefix of the kind counts: "late", "late-sender".
	Other map[string]Answer
	// Skip leaves kinds out, by prefix.
	Skip []string
	// Snap is the number of octets kept of each packet; 0 for 128.
	Snap int
	// LeastCut is the smallest cut for the snapped capture; 0 for 64.
	LeastCut int
	// LateFrom and LateTo bound the share of the time after which a late capture begins; 0 for 0.25 and 0.6.
	LateFrom, LateTo float64
	// KeptFrom and KeptTo bound the share of packets that a truncated capture keeps; 0 for 0.35 and 0.75.
	KeptFrom, KeptTo float64
	// LateGain is false if the gain does not hold for late and truncated captures.
	NoPartialGain bool
	// NoGain leaves out the gain although the transfer is run without the cause.
	NoGain bool
	// Set is the set-up, with or without the cause; nil without means that it is not run.
	Set     func(r *Run, hasCause bool) (*Setup, error)
	Without bool
	// Gain is what a run without the cause must reach at least.
	Gain float64
	// Check looks at the counters of the run with the cause.
	Check func(with Result) error
}

// Setup is one run: the stations, what is between them, and what they do.
type Setup struct {
	// Left sends the data that the trial is about.
	Left, Right *station.End
	// There and Back are the directions from and to Left; a nil stage is the place of the capture in the middle.
	There, Back []path.Stage
	Drive       func() error
}

// Result of a run.
type Result struct {
	Goodput  float64
	Octets   int64
	Seconds  float64
	Counts   map[string]int64
	P99, Max time.Duration
}

// Run is under way in one slot.
type Run struct {
	Slot        int
	Draw        *Draw
	Loop        *path.Loop
	LeftIP      string
	RightIP     string
	LeftMAC     net.HardwareAddr
	RightMAC    net.HardwareAddr
	directories []string
	ends        []*station.End
}

const limit = 40 * time.Second

// Once executes a set-up; it captures to folder/name-*.pcap if there is a folder.
func Once(slot int, d *Draw, t *Trial, hasCause bool, addresses func(*Run), folder, name string) (Result, error) {
	loop, err := path.NewLoop()
	if err != nil {
		return Result{}, err
	}
	r := &Run{Slot: slot, Draw: d, Loop: loop}
	addresses(r)
	defer r.close()
	set, err := t.Set(r, hasCause)
	if err != nil {
		return Result{}, err
	}
	snap := t.Snap
	if snap == 0 {
		snap = 128
	}
	captures := map[string]*path.Capture{}
	var dumps []*station.Job
	if folder != "" {
		for place, end := range map[string]*station.End{"sender": set.Left, "receiver": set.Right, "middle": nil} {
			file := filepath.Join(folder, fmt.Sprintf("%s-%s.pcap", name, place))
			if end != nil && end.Dump != nil {
				j, err := end.Dump(file, snap)
				if err != nil {
					return Result{}, err
				}
				dumps = append(dumps, j)
				continue
			}
			if place == "middle" && !hasMiddle(set) {
				continue
			}
			c, err := path.NewCapture(file, snap, d.Settings["nanoseconds"] == true)
			if err != nil {
				return Result{}, err
			}
			if place == "middle" {
				c.VLAN, _ = d.Settings["vlan_in_the_middle"].(int)
			}
			captures[place] = c
		}
	}
	meters := [2]*path.Meter{{}, {}}
	there := path.Chain(loop, withMiddle(set.There, captures["middle"]), set.Right.Port, captures["receiver"], meters[0])
	back := path.Chain(loop, withMiddle(set.Back, captures["middle"]), set.Left.Port, captures["sender"], meters[1])
	enter := func(next path.Sink, c *path.Capture) path.Sink {
		return func(frame []byte, at time.Duration) {
			c.Write(frame, time.Now())
			for _, m := range meters {
				m.Sent(frame, at)
			}
			next(frame, at)
		}
	}
	loop.Run([]path.Port{set.Left.Port, set.Right.Port},
		[]path.Sink{enter(there, captures["sender"]), enter(back, captures["receiver"])})
	driven := make(chan error, 1)
	go func() { driven <- set.Drive() }()
	select {
	case err = <-driven:
	case <-time.After(limit):
		err = fmt.Errorf("not done after %v", limit)
	}
	time.Sleep(120 * time.Millisecond)
	for _, j := range dumps {
		j.Interrupt()
	}
	loop.Stop()
	for _, c := range captures {
		if failed := c.Close(); failed != nil {
			return Result{}, failed
		}
	}
	p99, most := loop.Lateness()
	seconds := (meters[0].Last - meters[0].First).Seconds()
	return Result{meters[0].Goodput(), meters[0].Octets(), seconds, loop.Counts, p99, most}, err
}

func hasMiddle(set *Setup) bool {
	for _, stage := range set.There {
		if stage == nil {
			return true
		}
	}
	return false
}

func withMiddle(stages []path.Stage, c *path.Capture) []path.Stage {
	var all []path.Stage
	for _, stage := range stages {
		switch {
		case stage != nil:
			all = append(all, stage)
		case c != nil:
			all = append(all, path.Watch(c))
		}
	}
	return all
}

func (r *Run) close() {
	for _, end := range r.ends {
		end.Close()
	}
	for _, directory := range r.directories {
		removeAll(directory)
	}
}
