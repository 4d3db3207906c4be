package wire

import (
	"fmt"

	"linerate.dev/lab/virtual/loop"
)

// Part is a part of the path in both directions.
type Part struct{ Up, Down stage }

// Build makes a part. Its counts are noted in counts by name, direction and kind.
func Build(l *loop.Loop, name string, c Config, counts map[string]int) (Part, error) {
	counter := func(dir string) func(string) {
		return func(what string) { counts[name+"_"+dir+"_"+what]++ }
	}
	through := func(f *Frame, next, _ Port) { next(f) }
	make := func(dir string) (stage, error) {
		s := &fault{Loop: l, config: c, count: counter(dir)}
		kinds := map[string]stage{"loss": s.lose, "police": s.police, "paths": s.twoPaths, "copies": s.copy,
			"damage": s.damage, "mtu": s.limit, "strip": s.strip, "outage": s.interrupt, "filter": s.filter}
		if kinds[c.Kind] == nil {
			return nil, fmt.Errorf("no part of the path is called %q", c.Kind)
		}
		return kinds[c.Kind], nil
	}
	if c.Kind == "line" {
		return buildLine(l, c, counter), nil
	}
	up, err := make("up")
	if err != nil {
		return Part{}, err
	}
	down, _ := make("down")
	if c.Kind == "strip" && c.Dir == "" || c.Kind == "outage" && c.Dir == "" {
		down = up
	}
	switch c.Dir {
	case "up":
		down = through
	case "down":
		up = through
	}
	return Part{up, down}, nil
}

func buildLine(l *loop.Loop, c Config, counter func(string) func(string)) Part {
	var shared *medium
	if c.Duplex != "" || c.Aggregate > 0 {
		shared = &medium{Loop: l, config: c, count: counter("both")}
	}
	one := func(dir string) *line {
		config := c
		config.Dir = dir
		return &line{Loop: l, config: config, count: counter(dir), medium: shared}
	}
	lines := map[string]*line{"up": one("up"), "down": one("down")}
	through := func(f *Frame, next, _ Port) { next(f) }
	part := Part{through, through}
	if c.Dir != "down" {
		part.Up = func(f *Frame, next, _ Port) { lines["up"].push(f, next) }
	}
	if c.Dir != "up" {
		part.Down = func(f *Frame, next, _ Port) { lines["down"].push(f, next) }
	}
	return part
}

// Chain joins parts: what A sends enters at the first and leaves to b; what B sends enters at the last and leaves to a.
func Chain(parts []Part, a, b Port) (fromA, fromB Port) {
	ups := make([]Port, len(parts)+1)
	downs := make([]Port, len(parts)+1)
	ups[len(parts)], downs[0] = b, a
	for i := range parts {
		down := downs[i]
		downs[i+1] = func(f *Frame) { parts[i].Down(f, down, func(f *Frame) { ups[i+1](f) }) }
	}
	for i := len(parts) - 1; i >= 0; i-- {
		up := ups[i+1]
		ups[i] = func(f *Frame) { parts[i].Up(f, up, func(f *Frame) { downs[i](f) }) }
	}
	return ups[0], downs[len(parts)]
}

// Tap is a mirror port.
func Tap(c *Capture) Part {
	take := func(f *Frame, next, _ Port) {
		c.Take(f)
		next(f)
	}
	return Part{take, take}
}
