package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"linerate/lab/foreign/station"
)

// Label is a line of labels.ndjson, as `cargo xtask explanations score` reads it.
type Label struct {
	File            string         `json:"file"`
	Case            string         `json:"case"`
	Seed            int            `json:"seed"`
	Part            string         `json:"part"`
	Kind            string         `json:"kind"`
	Expected        []string       `json:"expected"`
	OrNone          bool           `json:"or_none,omitempty"`
	Control         bool           `json:"control"`
	Reason          string         `json:"reason"`
	Truth           Truth          `json:"truth"`
	Path            map[string]any `json:"path"`
	Settings        map[string]any `json:"settings"`
	BegunAfterS     float64        `json:"begun_after_s,omitempty"`
	OctetsPerPacket int            `json:"octets_per_packet,omitempty"`
	Packets         int            `json:"packets"`
	SHA256          string         `json:"sha256"`
}

// Truth is what was measured.
type Truth struct {
	Goodput float64  `json:"goodput_bits_per_s"`
	Without *float64 `json:"without_bits_per_s,omitempty"`
}

// answer for a kind of capture.
func (t *Trial) answer(kind string) Answer {
	best, length := t.Answer, 0
	for prefix, answer := range t.Other {
		if len(prefix) > length && (strings.HasPrefix(kind, prefix) || strings.HasSuffix(kind, "-"+prefix)) {
			best, length = answer, len(prefix)
		}
	}
	if best.Reason == "" {
		best.Reason = t.Reason
	}
	if best.Expected == nil {
		best.Expected = []string{}
	}
	return best
}

func (t *Trial) skips(kind string) bool {
	for _, prefix := range t.Skip {
		if strings.HasPrefix(kind, prefix) || strings.HasSuffix(kind, "-"+prefix) {
			return true
		}
	}
	return false
}

// times of the packets of a pcap file.
func times(name string) ([]time.Time, error) {
	data, err := os.ReadFile(name)
	if err != nil || len(data) < 24 {
		return nil, fmt.Errorf("%s: %d octets: %w", name, len(data), err)
	}
	unit := int64(1000)
	if binary.LittleEndian.Uint32(data) == 0xa1b23c4d {
		unit = 1
	}
	var all []time.Time
	for at := 24; at+16 <= len(data); {
		all = append(all, time.Unix(int64(binary.LittleEndian.Uint32(data[at:])),
			int64(binary.LittleEndian.Uint32(data[at+4:]))*unit))
		at += 16 + int(binary.LittleEndian.Uint32(data[at+8:]))
	}
	return all, nil
}

// captures derives the files of a trial from the ones that were captured in raw and labels them.
func captures(raw, out, name string, c Case, trial int, d *Draw, t *Trial, with Result, without *Result) ([]Label, error) {
	var labels []Label
	add := func(kind, from string, label Label, editcap ...string) error {
		if t.skips(kind) {
			return nil
		}
		format := Pick(d, "", "pcap", "pcap", "nsecpcap", "pcapng")
		extension := "pcap"
		if format == "pcapng" {
			extension = "pcapng"
		}
		label.File = fmt.Sprintf("%s-%s.%s", name, kind, extension)
		file := filepath.Join(out, label.File)
		var options, ranges []string
		for _, it := range editcap {
			if strings.HasPrefix(it, "1-") {
				ranges = append(ranges, "-r")
				options = append(options, it)
			} else {
				ranges = append(ranges, it)
			}
		}
		command := append([]string{"editcap", "-F", format}, ranges...)
		command = append(append(command, from, file), options...)
		if err := station.Run(command...); err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if strings.HasPrefix(kind, "truncated") && d.IntN(3) == 0 {
			data = data[:len(data)-5-d.IntN(30)]
			label.Settings["cut_in_a_packet"] = true
			if err := os.WriteFile(file, data, 0o644); err != nil {
				return err
			}
		}
		answer := t.answer(kind)
		label.Case, label.Seed, label.Part, label.Kind = c.Name, trial, "held-out", kind
		label.Expected, label.Reason, label.OrNone, label.Control = answer.Expected, answer.Reason, answer.OrNone, t.Control
		label.Truth.Goodput = with.Goodput
		isPartial := strings.HasPrefix(kind, "late") || strings.HasPrefix(kind, "truncated")
		if without != nil && !t.NoGain && !t.Control && !(isPartial && t.NoPartialGain) && answer.Expected[0] != "unknown" {
			label.Truth.Without = &without.Goodput
		}
		label.Path = map[string]any{"late_p99_us": with.P99.Microseconds(), "late_max_us": with.Max.Microseconds(),
			"counts": with.Counts, "seconds": with.Seconds, "octets": with.Octets}
		label.SHA256 = fmt.Sprintf("%x", sha256.Sum256(data))
		labels = append(labels, label)
		return nil
	}
	settings := func() map[string]any {
		all := map[string]any{}
		for key, value := range d.Settings {
			all[key] = value
		}
		return all
	}
	side := func(turn int) string { return [2]string{"sender", "receiver"}[turn%2] }
	for _, place := range []string{"sender", "receiver", "middle"} {
		from := filepath.Join(raw, fmt.Sprintf("%s-%s.pcap", name, place))
		if _, err := os.Stat(from); err != nil {
			continue
		}
		when, err := times(from)
		if err != nil {
			return nil, err
		}
		if len(when) == 0 {
			continue
		}
		if err := add(place, from, Label{Packets: len(when), Settings: settings()}); err != nil {
			return nil, err
		}
		duration := when[len(when)-1].Sub(when[0]).Seconds()
		if place == side(trial) {
			low, high := t.LateFrom, t.LateTo
			if high == 0 {
				low, high = 0.25, 0.6
			}
			after := duration * (low + (high-low)*d.Float64())
			begin := when[0].Add(time.Duration(after * 1e9))
			left := 0
			for _, it := range when {
				if !it.Before(begin) {
					left++
				}
			}
			if left >= 6 {
				err := add("late-"+place, from, Label{Packets: left, BegunAfterS: after, Settings: settings()},
					"-A", begin.UTC().Format("2006-01-02 15:04:05.000000"))
				if err != nil {
					return nil, err
				}
			}
		}
		if place == side(trial+1) {
			least := max(t.LeastCut, 64)
			cut := least + d.IntN(110-least)
			if err := add("snapped-"+place, from, Label{Packets: len(when), OctetsPerPacket: cut, Settings: settings()},
				"-s", fmt.Sprint(cut)); err != nil {
				return nil, err
			}
		}
		if place == side(trial/2) {
			low, high := t.KeptFrom, t.KeptTo
			if high == 0 {
				low, high = 0.35, 0.75
			}
			kept := int(float64(len(when)) * (low + (high-low)*d.Float64()))
			if kept >= 6 {
				if err := add("truncated-"+place, from, Label{Packets: kept, Settings: settings()}, fmt.Sprintf("1-%d", kept)); err != nil {
					return nil, err
				}
			}
		}
	}
	return labels, nil
}

func writeLabels(file string, labels []Label) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	for _, label := range labels {
		if err := encoder.Encode(label); err != nil {
			return err
		}
	}
	return os.WriteFile(file, text.Bytes(), 0o644)
}
