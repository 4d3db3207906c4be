// Foreign makes the captures of lab/foreign and their labels. README.md says how the set is drawn.
//
//	foreign generate --out DIR --programs DIR [--only CASE,...] [--jobs N]
//	foreign list
//	foreign app NAME key=value...      (used by generate, in a namespace)
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"linerate/lab/foreign/app"
	"linerate/lab/foreign/station"
)

// Case is a situation; each of its trials has its own settings.
type Case struct {
	Name   string
	Trials int
	Make   func(d *Draw, trial int) *Trial
}

// programs is the folder of the stations that are programs.
var programs string

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) == 0 {
		return errors.New("usage: foreign generate|list|app")
	}
	switch arguments[0] {
	case "app":
		set := app.Parse(arguments[2:])
		return app.Run(app.Kernel{Set: set}, arguments[1], set)
	case "list":
		for _, c := range allCases() {
			fmt.Printf("%-32s %d\n", c.Name, c.Trials)
		}
		return nil
	case "generate":
		return generate(arguments[1:])
	}
	return fmt.Errorf("no command %q", arguments[0])
}

func generate(arguments []string) error {
	// The threads of the paths must not wait for a processor of the runtime, nor for its collector.
	runtime.GOMAXPROCS(16)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(3 << 30)
	flags := flag.NewFlagSet("generate", flag.ContinueOnError)
	out := flags.String("out", "", "folder of the captures")
	only := flags.String("only", "", "only the cases with one of these words in their name, separated by commas")
	jobs := flags.Int("jobs", 3, "trials at a time")
	most := flags.Int("trials", 1000, "at most so many trials of each case")
	flags.StringVar(&programs, "programs", "", "folder of the lwIP and smoltcp stations")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	// Only what is allowed there can be the default of a namespace.
	if err := station.Run("sysctl", "-qw", "net.ipv4.tcp_allowed_congestion_control=reno bbr cubic"); err != nil {
		return err
	}
	for _, folder := range []string{*out, *out + "/labels"} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	type job struct {
		c     Case
		trial int
	}
	queue := make(chan job)
	var workers sync.WaitGroup
	for slot := range *jobs {
		workers.Go(func() {
			for it := range queue {
				if err := make1(slot, it.c, it.trial, *out); err != nil {
					fmt.Printf("%s-%d: FAILED: %v\n", it.c.Name, it.trial, err)
				}
			}
		})
	}
	for _, c := range allCases() {
		isNamed := func(word string) bool { return strings.Contains(c.Name, word) }
		if *only != "" && !slices.ContainsFunc(strings.Split(*only, ","), isNamed) {
			continue
		}
		for trial := range min(c.Trials, *most) {
			if _, err := os.Stat(fmt.Sprintf("%s/labels/%s-%d.ndjson", *out, c.Name, trial+1)); err == nil {
				continue
			}
			queue <- job{c, trial + 1}
		}
	}
	close(queue)
	workers.Wait()
	return collect(*out)
}

// collect joins the labels of all trials.
func collect(out string) error {
	files, err := filepath.Glob(out + "/labels/*.ndjson")
	if err != nil {
		return err
	}
	slices.Sort(files)
	var all []byte
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		all = append(all, data...)
	}
	return os.WriteFile(out+"/labels.ndjson", all, 0o644)
}

const attempts = 10

func make1(slot int, c Case, trial int, out string) error {
	name := fmt.Sprintf("%s-%d", c.Name, trial)
	var discarded []string
	for attempt := range attempts {
		problem, err := try(slot, c, trial, attempt, name, out)
		if err == nil && problem == "" {
			fmt.Printf("%s: ok%s\n", name, strings.Join(append([]string{""}, discarded...), "; discarded: "))
			return nil
		}
		if err != nil {
			problem = err.Error()
		}
		discarded = append(discarded, problem)
		_ = appendLine(out+"/discarded.txt", fmt.Sprintf("%s attempt %d: %s", name, attempt, problem))
	}
	return errors.New(strings.Join(discarded, "; "))
}

func appendLine(name, line string) error {
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = fmt.Fprintln(file, line)
	return err
}

// Lateness of the path beyond which a run is repeated.
const (
	mostLateP99 = 4 * time.Millisecond
	mostLate    = 30 * time.Millisecond
)

func try(slot int, c Case, trial, attempt int, name, out string) (problem string, err error) {
	d := NewDraw(c.Name, trial, attempt)
	d.note("nanoseconds", d.IntN(4) == 0)
	if d.IntN(6) == 0 {
		d.note("vlan_in_the_middle", 2+d.IntN(4000))
	}
	left, right := d.Addresses()
	macs := [2][]byte{d.MAC(), d.MAC()}
	addresses := func(r *Run) {
		r.LeftIP, r.RightIP, r.LeftMAC, r.RightMAC = left, right, macs[0], macs[1]
	}
	t := c.Make(d, trial)
	// In memory: a slow disk would delay the path.
	raw := fmt.Sprintf("/dev/shm/foreign-raw/%d", slot)
	var with Result
	for again := range 3 {
		_ = os.RemoveAll(raw)
		if err := os.MkdirAll(raw, 0o755); err != nil {
			return "", err
		}
		with, err = Once(slot, d, t, true, addresses, raw, name)
		if err != nil {
			return "", err
		}
		if with.P99 < mostLateP99 && with.Max < mostLate {
			break
		}
		if again == 2 {
			return fmt.Sprintf("the path was late by %v, at most %v", with.P99, with.Max), nil
		}
	}
	if t.Check != nil {
		if err := t.Check(with); err != nil {
			return err.Error(), nil
		}
	}
	var without *Result
	if t.Without {
		it, err := Once(slot, d, t, false, addresses, "", name)
		if err != nil {
			return "", fmt.Errorf("without the cause: %w", err)
		}
		without = &it
		if gain := it.Goodput / with.Goodput; gain < t.Gain {
			return fmt.Sprintf("%.0f bit/s, without the cause %.0f: a gain of %.2f, not %.2f", with.Goodput, it.Goodput, gain, t.Gain), nil
		}
	}
	labels, err := captures(raw, out, name, c, trial, d, t, with, without)
	if err != nil {
		return "", err
	}
	line := fmt.Sprintf("%s %v: %.3f Mbit/s, %d octets in %.2f s, late %v %v, %v", name, t.Expected, with.Goodput/1e6,
		with.Octets, with.Seconds, with.P99, with.Max, with.Counts)
	if without != nil {
		line += fmt.Sprintf("; without %.3f Mbit/s (%.2f)", without.Goodput/1e6, without.Goodput/with.Goodput)
	}
	_ = appendLine(out+"/made.txt", line)
	return "", writeLabels(fmt.Sprintf("%s/labels/%s.ndjson", out, name), labels)
}
