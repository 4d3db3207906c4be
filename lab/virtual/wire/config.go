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
	OutOfOrder  bool      `json:"out_of_order"`
	AQM         string    `json:"aqm"`
	RedFrom     float64   `json:"red_from"`
	RedMost     float64   `json:"red_most"`
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
	// Cross is other traffic of the line.
	CrossRate float64 `json:"cross_rate"`
	CrossSize int     `json:"cross_size"`
	CrossOnMS float64 `json:"cross_on_ms"`
	CrossMS   float64 `json:"cross_off_ms"`
	CrossDir  string  `json:"cross_dir"`

	// Faults.
	Share     float64   `json:"share"`
	Bad       float64   `json:"bad"`
	EnterMS   float64   `json:"enter_ms"`
	StayMS    float64   `json:"stay_ms"`
	Every     int       `json:"every"`
	LeastSize int       `json:"least_size"`
	ByMS      float64   `json:"by_ms"`
	ByMaxMS   float64   `json:"by_max_ms"`
	Burst     int       `json:"burst"`
	MTU       int       `json:"mtu"`
	Tells     bool      `json:"tells"`
	Options   []string  `json:"options"`
	MSS       int       `json:"mss"`
	AtMS      []float64 `json:"at_ms"`
	ForMS     float64   `json:"for_ms"`
	IdleMS    float64   `json:"idle_ms"`
	Ports     []int     `json:"ports"`
	Answer    string    `json:"answer"`
	First     int       `json:"first"`
	PerSecond float64   `json:"per_second"`
	SYN       bool      `json:"syn"`
}
