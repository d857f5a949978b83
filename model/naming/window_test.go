package naming_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"ratescope/limiter"
	"ratescope/model/naming"
)

// TestOver: the window of a name is over once the next one has begun, and for three of its lengths.
func TestOver(t *testing.T) {
	now := limiter.InstantOf(time.Date(2026, 11, 24, 12, 16, 3, 0, time.UTC))
	for name, want := range map[string]bool{
		"rl:u1:202611241215": true, "rl:u1:202611241216": false, "rl:u1:2026-11-24-12-14": true, "rl:u1:2026112411": true,
		"rl:u1:202611231216": false, "rl:u1:29420535": false, "rl:u1:58": false, "rl:alice": false, "rl:" + strconv.FormatInt(int64(now)/60e6-1, 10) + ":x": true,
	} {
		if _, over := naming.Over(name, now); over != want {
			t.Errorf("%s: over is %v", name, !want)
		}
	}
}

// TestHoursOfOtherZones: an hour behind a date is no window of that day where it is not the hour of now. Where it is four
// hours ago and more it may be that of a zone west of Greenwich.
func TestHoursOfOtherZones(t *testing.T) {
	now := limiter.InstantOf(time.Date(2026, 11, 26, 9, 40, 0, 0, time.UTC))
	for name, form := range map[string]string{
		"rl:bob:2026-11-26T04": "%Y-%m-%dT%H", "rl:bob:2026-11-26-04": "%Y-%m-%d-%H", "rl:bob:2026-11-25-23": "%Y-%m-%d-%H",
		"rl:bob:2026112604": "", "rl:bob:2026-11-26T08": "", "rl:bob:2026-11-26-07": "", "rl:bob:2026-11-25-19": "",
	} {
		if w, ok := naming.WindowOf(name, now); w.Form != form || ok != (form != "") || w.Length != 0 || ok && w.Zone != -5*time.Hour && w.Zone != -10*time.Hour {
			t.Errorf("%s: %+v", name, w)
		}
	}
	for name, form := range map[string]string{ // a number behind another separator is a subject
		"rl:2026-11-26:04": "%Y-%m-%d", "rl:2026-11-26-0412": "%Y-%m-%d", "rl:bob:2026-11-26T04:40": "%Y-%m-%dT%H:%M", "rl:2026-11-26-09": "%Y-%m-%d-%H",
	} {
		if w, ok := naming.WindowOf(name, now); !ok || w.Form != form || w.Length == 0 {
			t.Errorf("%s: %+v", name, w)
		}
	}
}

// TestFormsOfWindows reads windows as programs of many languages write them, and takes none of them for a longer one.
func TestFormsOfWindows(t *testing.T) {
	now := limiter.InstantOf(time.Date(2026, 11, 26, 7, 14, 37, 0, time.UTC))
	for name, want := range map[string]string{
		"{x}@2026-11-26T07:14Z:u": "%Y-%m-%dT%H:%M", "m/20261126T071400Z/alice": "%Y%m%dT%H%M%SZ", "bt:alice:20261126T0714": "%Y%m%dT%H%M",
		"pyrl:x:2026-11-26 07:14:00": "%Y-%m-%d %H:%M:%S", "a:2026-11-26T00:00:00Z": "%Y-%m-%dT%H:%M:%SZ", "短信:x:2026年11月26日": "%Y年%m月%d日",
		"win29927954:alice": "index", "rl:26.11.26:x": "%d.%m.%y", "c:1c8aa12": "index.hex", "c." + strconv.FormatInt(int64(now)/60e6, 36): "index.b36",
		"rl/2026/11/26/07/14/a": "%Y/%m/%d/%H/%M", "rl/2026/11/26/07/13/a": "", "rl:a:2026-11-25": "", "rl:20261125:a": "", "rl:25-Nov-2026": "", "rl:2026-Nov-25": "", "rl:2026-11:25": "%Y-%m", "rl:2026-11-45": "%Y-%m", "r:Nov-2026:7": "%b-%Y",
		"rb:alice:33007": "%j%H", "rb:alice:33006": "", "h12:a:07:14AM": "%I:%M%p", "h12:a:07:14 AM": "%I:%M %p", "h12:a:07:13AM": "", "h12:07:14PM": "",
		"bt:alice:20261126T0713": "", "api_x_20261126_0713": "", "api_x_20261126_0714": "%Y%m%d_%H%M", "i:a:2026-11-26:h07": "%Y-%m-%d:h%H", "i:a:2026-11-26:h05": "", "a:2026-11-26T07:13": "", "rl:26.11.26.5": "", "h:2026-11-26-07AM": "", "a:2026-11-26-07-13": "", "c:1c8aa13": "",
	} {
		if w, ok := naming.WindowOf(name, now); w.Form != want || ok != (want != "") {
			t.Errorf("%s: %+v, want %q", name, w, want)
		}
	}
	for name, c := range map[string]struct {
		length time.Duration
		form   string
	}{
		"wd:alice:4": {24 * time.Hour, "%w"}, "hh:14:alice": {30 * time.Minute, "index%48"}, "m:alice:11": {30 * 24 * time.Hour, "%m"},
		"mod:alice:434": {time.Minute, "index%1440"}, "y:330:alice": {24 * time.Hour, "%j"}, "api:2:alice": {20 * time.Second, ""},
	} {
		if w, ok := naming.Rounds(name, c.length, now); ok != (c.form != "") || ok && w.Form != c.form {
			t.Errorf("%s: %+v, want %q", name, w, c.form)
		}
	}
}

// TestZones: the hour of now in a name may be that of several zones, and a person has to say which.
func TestZones(t *testing.T) {
	now := limiter.InstantOf(time.Date(2026, 11, 26, 7, 40, 0, 0, time.UTC))
	w, ok := naming.WindowOf("loc:x:2026-11-26T13", now) // 13:10 in Delhi
	zones := naming.Zones(w.Zone, now.Time())
	if !ok || w.Length != 0 || zones[0] != 6*time.Hour || !slices.Contains(zones, 5*time.Hour+30*time.Minute) {
		t.Errorf("%+v in %v", w, zones)
	}
}

// TestEdges: a rule may have the beginning or the end of windows of no usual length, of which the name does not tell how long they
// are, and none the instant at which something was made.
func TestEdges(t *testing.T) {
	now := limiter.InstantOf(time.Unix(1_795_723_963, 0))
	for _, c := range [][3]string{
		{"gate:1795723935:u1", "gate:*:*", "gate:{window:start.s}:{who}"}, {"gate:1795723965:u1", "gate:*:*", "gate:{window:end.s}:{who}"},
		{"1795723975000|a", "*|*", "{window:end.ms}|{who}"}, {"job:1795723921:a", "job:*:*", "job:*:{who}"}, {"u:4017455:a", "u:*:*", "u:*:{who}"},
		{"hits[1795723960-1795723980]4f", `hits\[*-*]*`, "hits[{window:start.s}-*]{who}"},
	} {
		if text, _, ok := naming.Template(c[0], c[1], 0, now); ok != (c[2] != "") || text != c[2] {
			t.Errorf("%s: %q, want %q", c[0], text, c[2])
		}
	}
	if a, b := naming.Shows("gate:1795723920:u1", now), naming.Shows("gate:1795723965:u1", now); a != 1 || b != 2 {
		t.Errorf("a beginning shows %d, an end %d", a, b)
	}
}
