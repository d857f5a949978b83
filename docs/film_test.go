package docs_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/tui/cell"
	"ratescope/tui/tuitest"
)

// filmFile is the picture that moves: the river, the window of a key below it, and a burst that is fired at the key.
const filmFile = "window.svg"

// The film: its size in cells, how many frames it has and how far they are apart, and in which
// of them how many requests are fired.
const (
	filmW, filmH = 96, 34
	filmFrames   = 21
	filmStep     = 400 * time.Millisecond
	burstAt      = 8
	burst        = 40
)

// watchedKey is the key that the film is about.
const watchedKey = "api:search:bob"

// cast are keys of which some are denied, some near and some at ease.
func cast() []tuitest.Personality {
	even := func(perSecond float64) func(float64, *rand.Rand) int {
		carry := 0.0
		return func(_ float64, r *rand.Rand) int {
			carry += perSecond * tuitest.Refresh.Seconds() * (0.5 + r.Float64())
			n := int(carry)
			carry -= float64(n)
			return n
		}
	}
	limit := func(n int64, w time.Duration) limiter.Limit { return limiter.Limit{Count: n, Window: w} }
	return []tuitest.Personality{
		{Name: watchedKey, Limit: limit(40, 10*time.Second), How: limiter.SlidingWindow, Rate: even(2.6)},
		{Name: "login:otp:+4915112345678", Limit: limit(5, 30*time.Second), How: limiter.SlidingLog, Rate: even(0.4)},
		{Name: "mail:send:newsletter", Limit: limit(60, time.Minute), How: limiter.StreamCounter, Rate: even(0.9)},
		{Name: "export:csv:acme", Limit: limit(20, 20*time.Second), How: limiter.FixedWindow, Rate: even(0.3)},
		{Name: "webhook:shop:4711", Limit: limit(12, 20*time.Second), How: limiter.SlidingLog, Rate: even(0.5)},
		{Name: "scrape:ip:203.0.113.7", Limit: limit(12, 15*time.Second), How: limiter.SlidingLog, Rate: even(0.95)},
	}
}

// film draws the picture that moves.
func film() (string, error) {
	s, err := newScene(cast(), "phosphor", filmW, filmH)
	if err != nil {
		return "", err
	}
	s.run(24 * time.Second)
	s.pick(watchedKey)
	var frames [][]string
	for i := range filmFrames {
		if i == burstAt {
			if err := s.fire(watchedKey, burst); err != nil {
				return "", err
			}
		}
		s.run(filmStep)
		drawn := s.stage.rows()
		for y := range drawn {
			drawn[y] = short(drawn[y])
		}
		frames = append(frames, drawn)
	}
	return animated(frames), nil
}

// animated puts frames into one picture. A row is written once for as long as it stays as it is.
// All rows go by one clock, and one ends at the very share of it at which the next begins: with
// delays of their own two of them were seen together for a moment.
func animated(frames [][]string) string {
	n, each := len(frames), filmStep.Seconds()
	var body, style strings.Builder
	fmt.Fprintf(&style, ".f{visibility:hidden;animation:%.1fs step-end infinite}.r{shape-rendering:crispEdges}", float64(n)*each)
	shown := map[string]bool{} // from which frame to which rows are seen
	share := func(frame int) string { return fmt.Sprintf("%.3f%%", 100*float64(frame)/float64(n)) }
	for y := range filmH {
		for from := 0; from < n; {
			to := from + 1
			for to < n && frames[to][y] == frames[from][y] {
				to++
			}
			switch row := frames[from][y]; {
			case to-from == n:
				body.WriteString(row)
			case row != "":
				before, still := "0%{visibility:hidden}", ""
				if from == 0 { // a viewer that does not animate shows the first frame
					before, still = "", ` style="visibility:visible"`
				}
				name := fmt.Sprintf("s%d-%d", from, to)
				fmt.Fprintf(&body, `<g class="f %s"%s>%s</g>`, name, still, row)
				if !shown[name] {
					shown[name] = true
					fmt.Fprintf(&style, `.%[1]s{animation-name:%[1]s}@keyframes %[1]s{%[2]s%[3]s{visibility:visible}%[4]s{visibility:hidden}}`, name,
						before, share(from), share(to))
				}
			}
			from = to
		}
	}
	return cell.Document(filmW, filmH, true, style.String(), body.String())
}

// rectangles are neighbours of one colour, as cell.Buffer.SVG writes them.
var rectangles = regexp.MustCompile(`<rect x="([0-9.]+)" y="([0-9.]+)" width="([0-9.]+)" height="([0-9.]+)" fill="(#[0-9a-f]{6})"/>`)

// The eighth of a cell, in which paths count so that their numbers are whole and short.
const eighthX, eighthY = 8.4 / 8, 18.0 / 8

// short joins neighbouring rectangles of one colour into a path each, which takes a third of the
// room. They keep their order, for blocks stand on grounds, and come before the letters.
func short(row string) string {
	var paths, rest, d strings.Builder
	var colour string
	flush := func() {
		if colour != "" {
			fmt.Fprintf(&paths, `<path fill="%s" d="%s"/>`, colour, d.String())
		}
		colour = ""
		d.Reset()
	}
	at := 0
	for _, m := range rectangles.FindAllStringSubmatchIndex(row, -1) {
		part := func(i int) string { return row[m[2*i]:m[2*i+1]] }
		eighths := func(i int, of float64) int {
			v, _ := strconv.ParseFloat(part(i), 64) // digits and a point, as the expression says
			return int(math.Round(v / of))
		}
		if part(5) != colour {
			flush()
			colour = part(5)
		}
		rest.WriteString(row[at:m[0]])
		w := eighths(3, eighthX)
		fmt.Fprintf(&d, "M%d %dh%dv%dh%dz", eighths(1, eighthX), eighths(2, eighthY), w, eighths(4, eighthY), -w)
		at = m[1]
	}
	flush()
	rest.WriteString(row[at:])
	if paths.Len() == 0 {
		return rest.String()
	}
	return fmt.Sprintf(`<g class="r" transform="scale(%g %g)">%s</g>%s`, eighthX, eighthY, paths.String(), rest.String())
}

// TestTheFilm looks in the picture that moves for what it is to show.
func TestTheFilm(t *testing.T) {
	drawn := read(t, filmFile)
	for _, text := range []string{watchedKey + "</text>", "sliding window counter", "previous", "denied", "scrape:ip:203.0.113.7", "▷", "@keyframes"} {
		if !strings.Contains(drawn, text) {
			t.Errorf("%q is not in the picture", text)
		}
	}
	if strings.Contains(drawn, "delay") {
		t.Error("rows of the picture go by clocks of their own: two of them are seen together for a moment")
	}
}
