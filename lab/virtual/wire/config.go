package wire

// Config is a part of the path, as a trial states it. Rates are bits per second.
type Config struct {
	Kind string `json:"kind"`
	// Dir is "up" (from A to B) or "down" where the part does nothing to the other direction.
	Dir string `json:"dir"`

	// A line.
	Rate        float64   `json:"rate"`
	Overhead    int       `json:"overhead"`
	Cells       bool      `json:"cells"`
	QueueMS     float64   `json:"queue_ms"`
	QueueOctets int       `json:"queue_octets"`
	QueueFrames int       `json:"queue_frames"`
	DelayMS     float64   `json:"delay_ms"`
	JitterMS    float64   `json:"jitter_ms"`
	AQM         string    `json:"aqm"`
	TargetMS    float64   `json:"target_ms"`
	Fair        bool      `json:"fair"`
	Rates       []float64 `json:"rates"`
	CycleMS     float64   `json:"cycle_ms"`
	WalkMS      float64   `json:"walk_ms"`
	WalkLow     float64   `json:"walk_low"`
	SlotMS      float64   `json:"slot_ms"`
	// Duplex is "half", "mismatch-up" (who sends upwards believes in half duplex) or "mismatch-down".
	Duplex string `json:"duplex"`
	// Aggregate is the number of frames for which a radio contends once; Retry is the share that it repeats.
	Aggregate int     `json:"aggregate"`
	Retry     float64 `json:"retry"`
	Retries   int     `json:"retries"`
	AccessUS  float64 `json:"access_us"`

	// Faults.
	Share     float64   `json:"share"`
	Bad       float64   `json:"bad"`
	EnterMS   float64   `json:"enter_ms"`
	StayMS    float64   `json:"stay_ms"`
	Every     int       `json:"every"`
	LeastSize int       `json:"least_size"`
	ByMS      float64   `json:"by_ms"`
	Burst     int       `json:"burst"`
	MTU       int       `json:"mtu"`
	Options   []string  `json:"options"`
	MSS       int       `json:"mss"`
	AtMS      []float64 `json:"at_ms"`
	ForMS     float64   `json:"for_ms"`
	Ports     []int     `json:"ports"`
	Answer    string    `json:"answer"`
	First     int       `json:"first"`
	SYN       bool      `json:"syn"`
}
