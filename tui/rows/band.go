package rows

import (
	"time"

	"ratescope/model"
)

// Band is how urgent a row is. Rows stand in the order of their bands, and within one in the
// order of their names: a row moves only when it changes its band.
type Band uint8

// The bands, the most urgent first.
const (
	DeniedBand Band = iota
	NearBand
	BrokenBand // cannot be read
	EaseBand
	SilentBand // no request for two windows
	LikelyBand // may be no limiter at all
)

var bandNames = [...]string{"denied", "near", "unreadable", "ok", "silent", "likely"}

// String names the band as the filter does.
func (b Band) String() string { return bandNames[b] }

// quiet is the least time without a request after which a key is silent.
const quiet = 10 * time.Second

// BandOf returns the band of a key at the instant on screen.
func (l *List) BandOf(k *model.Watched) Band {
	if k.Reading.Target.Evidence == model.Likely {
		return LikelyBand
	}
	switch k.Pressure() {
	case model.Throttling:
		return DeniedBand
	case model.Close:
		return NearBand
	case model.Unreadable:
		return BrokenBand
	}
	if g := &k.Gauge; k.Gone || g.Used.Known && g.Used.N == 0 && l.boards.At().Sub(k.LastHit) > max(2*k.Timeline.Window(), quiet) {
		return SilentBand
	}
	return EaseBand
}
