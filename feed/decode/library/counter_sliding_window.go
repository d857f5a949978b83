package library

import (
	"ratescope/feed/decode"
	"ratescope/feed/decode/form"
	"ratescope/limiter"
)

// counterSlidingWindow is the layout of counter-sliding-window: a stream with an entry a call,
// whose one field is count and whose id is the server's clock.
var counterSlidingWindow = &decode.Library{
	Name: "counter-sliding-window", Published: true, Types: []string{"stream"},
	Silent: []string{"the limit", "denied requests"},
	Recognize: func(s *decode.Sample, c decode.Context) *decode.Match {
		if s.TTL <= 0 || !onlyCounts(s) {
			return nil
		}
		return &decode.Match{
			Kind: decode.Stream, Settings: decode.Settings{Algorithm: limiter.StreamCounter},
			Why: []string{"a stream whose entries hold nothing but a count"},
		}
	},
}

// onlyCounts says whether the last entry of a stream holds a count above zero and nothing but a
// running total beside it.
func onlyCounts(s *decode.Sample) bool {
	n, ok := form.Count(s.Entry["count"])
	_, total := s.Entry["total"]
	return ok && n > 0 && (len(s.Entry) == 1 || len(s.Entry) == 2 && total)
}
