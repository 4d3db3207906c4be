// Package programs has models of what real programs do, with the octets of their protocols.
package programs

import (
	"bytes"
	"math"
	"time"

	"linerate.dev/lab/virtual/ends"
	"linerate.dev/lab/virtual/loop"
	"linerate.dev/lab/virtual/wire"
)

// Config is what the programs of a trial do. A is the client.
type Config struct {
	Kind    string `json:"kind"`
	Flavour string `json:"flavour"`
	Port    int    `json:"port"`
	// Up is true if payload goes from the client to the server.
	Up          bool    `json:"up"`
	Octets      int     `json:"octets"`
	Connections int     `json:"connections"`
	Count       int     `json:"count"`
	Request     int     `json:"request"`
	Answer      int     `json:"answer"`
	AnswerMost  int     `json:"answer_most"`
	ThinkMS     float64 `json:"think_ms"`
	ThinkSpread float64 `json:"think_spread"`
	WaitMS      float64 `json:"wait_ms"`
	WaitSpread  float64 `json:"wait_spread"`
	EachMS      float64 `json:"each_ms"`
	ForMS       float64 `json:"for_ms"`
	IsNewEach   bool    `json:"is_new_each"`
	Depth       int     `json:"depth"`
	// How the writer and the reader of a stream work.
	Block       int     `json:"block"`
	BlockMS     float64 `json:"block_ms"`
	BlockSpread float64 `json:"block_spread"`
	ReadOctets  int     `json:"read_octets"`
	ReadMS      float64 `json:"read_ms"`
	Size        int     `json:"size"`
	Rate        float64 `json:"rate"`
	Burst       int     `json:"burst"`
	RetryMS     float64 `json:"retry_ms"`
	Retries     int     `json:"retries"`
	Doubles     bool    `json:"doubles"`
	Window      int     `json:"window"`
	NameMS      float64 `json:"name_ms"`
	NameLost    int     `json:"name_lost"`
	// Fault is what an end does wrong: "closed", "hangs-up", "reader-quits", "mute", "two-writes-up", "whole-blocks".
	Fault string `json:"fault"`
	// Other is a stream beside it, in the other direction.
	Other *Config `json:"other"`
}

// Report is what programs print.
type Report struct {
	Octets   int                `json:"octets"`
	Last     time.Duration      `json:"-"`
	Waits    map[string]float64 `json:"waits"`
	Messages int                `json:"messages"`
	Sent     int                `json:"sent"`
	Failures int                `json:"failures"`
	Done     bool               `json:"done"`
}

func (r *Report) add(l *loop.Loop, n int) {
	r.Octets += n
	r.Last = l.Now()
}

func (r *Report) wait(what string, d time.Duration) { r.Waits[what] += d.Seconds() }

// pair is what a program knows: its station, the other one, what it shall do, where it reports.
type pair struct {
	*loop.Loop
	client, server ends.Station
	address        wire.Address
	config         Config
	report         *Report
	left           int
	isMain         bool
}

// stream reads and writes a connection, and waits.
type stream struct {
	*loop.Proc
	ends.Conn
	rest []byte
}

func open(p *loop.Proc, c ends.Conn) *stream {
	c.Notify(p.Wake)
	return &stream{Proc: p, Conn: c}
}

// dial connects, and reports nil if that fails.
func (p *pair) dial(proc *loop.Proc, from ends.Station, port int) *stream {
	s := open(proc, from.Dial(p.address, uint16(port)))
	proc.Until(100*time.Second, func() bool { return s.IsOpen() || s.HasFailed() })
	if !s.IsOpen() {
		return nil
	}
	return s
}

func (s *stream) write(data []byte) bool {
	for len(data) > 0 {
		n := 0
		s.Until(0, func() bool {
			n = s.Send(data)
			return n != 0
		})
		if n < 0 {
			return false
		}
		data = data[n:]
	}
	return true
}

// some reads what there is, at most so much; nil at the end or after the time.
func (s *stream) some(most int, limit time.Duration) []byte {
	if len(s.rest) > 0 {
		n := min(most, len(s.rest))
		data := s.rest[:n]
		s.rest = s.rest[n:]
		return data
	}
	data, n := make([]byte, most), 0
	s.Until(limit, func() bool {
		n = s.Recv(data)
		return n != 0
	})
	if n <= 0 {
		return nil
	}
	return data[:n]
}

func (s *stream) exactly(n int, limit time.Duration) []byte {
	var data []byte
	for len(data) < n {
		more := s.some(n-len(data), limit)
		if more == nil {
			return nil
		}
		data = append(data, more...)
	}
	return data
}

// head reads until the empty line of HTTP.
func (s *stream) head(limit time.Duration) []byte {
	var data []byte
	for {
		more := s.some(2048, limit)
		if more == nil {
			return nil
		}
		data = append(data, more...)
		if at := bytes.Index(data, []byte("\r\n\r\n")); at >= 0 {
			s.rest = append(append([]byte(nil), data[at+4:]...), s.rest...)
			return data[:at+4]
		}
	}
}

// spread draws a time around a mean, of a lognormal distribution.
func spread(l *loop.Loop, mean, share float64) time.Duration {
	return time.Duration(mean * 1e6 * math.Exp(l.Random.NormFloat64()*share-share*share/2))
}

// filler is payload that looks like a compressed file.
func filler(l *loop.Loop, n int) []byte {
	data := make([]byte, n)
	l.Random.Read(data)
	return data
}

// Start starts the programs of a trial.
func Start(l *loop.Loop, client, server ends.Station, address wire.Address, c Config, report *Report) {
	p := &pair{Loop: l, client: client, server: server, address: address, config: c, report: report, isMain: true}
	report.Waits = map[string]float64{}
	p.begin()
	if c.Other != nil {
		other := &pair{Loop: l, client: client, server: server, address: address, config: *c.Other, report: &Report{Waits: map[string]float64{}}}
		other.begin()
	}
}

func (p *pair) begin() {
	begin := map[string]func(){"bulk": p.bulk, "requests": p.requests, "datagrams": p.datagrams, "asks": p.asks, "names": p.names,
		"events": p.events, "call": p.call, "attempts": p.attempts, "tftp": p.tftp, "pages": p.pages}[p.config.Kind]
	if begin == nil {
		panic("no program is called " + p.config.Kind)
	}
	begin()
}

// done notes that one of the programs is over; when all are, the trial is.
func (p *pair) done() {
	if p.left--; p.left <= 0 && p.isMain {
		p.report.Done = true
	}
}
