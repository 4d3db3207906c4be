package app

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// serve answers GET /N with N octets after think ms; every and for (ms) stop the answer at intervals.
func serve(n Net, set Settings) error {
	l, err := n.Listen(set["listen"])
	if err != nil {
		return err
	}
	every, stop := set.ms("every"), set.ms("for")
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(set.ms("think"))
		left, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		w.Header().Set("Content-Length", strconv.Itoa(left))
		part, begun := make([]byte, 16384), time.Now()
		for left > 0 {
			if phase := time.Since(begun) % max(1, every+stop); stop > 0 && phase >= every {
				time.Sleep(every + stop - phase)
			}
			size := min(left, len(part))
			if _, err := w.Write(part[:size]); err != nil {
				return
			}
			left -= size
		}
	}))
}
