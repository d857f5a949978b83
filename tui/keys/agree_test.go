package keys_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/model"
	"ratescope/model/report"
	"ratescope/tui"
	"ratescope/tui/tuitest"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // times of day on screen are this machine's
	os.Exit(m.Run())
}

// ledger is an injector that writes down what is ordered, and fires nothing.
type ledger struct{ orders []model.Order }

func (l *ledger) Armed() error { return nil }

func (l *ledger) Fire(_ context.Context, s model.Order, _ func(model.Fired)) (model.Outcomes, error) {
	l.orders = append(l.orders, s)
	return model.Outcomes{}, nil
}

// TestHeaderRowsFilterAndJSONAgree: in each of 200 pictures of few keys and of thirty, and of 50 of two thousand, on a small and
// on a usual terminal, no throttled row stands below one that is not, and the header counts as many throttled keys as rows
// have the mark, as the filter leaves and as the JSON says have to wait.
func TestHeaderRowsFilterAndJSONAgree(t *testing.T) {
	t.Parallel()
	row := regexp.MustCompile(`(?m)^[│▌ ]+([✖▲●·↓?~]) \S*[:…]\S* .*\d+/\d+`)
	still := regexp.MustCompile(`is throttled( by \S+ in \S+)?(, for| on and off).* now`)
	more := regexp.MustCompile(`(\d+) more (?:✖|throttled below)`)
	counted := regexp.MustCompile(`✖ (\d+) throttled|nobody is throttled  `)
	for _, size := range [][2]int{{80, 24}, {140, 42}} {
		for what, people := range map[string][]tuitest.Personality{"few": nil, "thirty": tuitest.Mixed(), "two thousand": tuitest.Crowd(2000)} {
			s := tuitest.NewStage(t, size[0], size[1], tui.Options{}, people...)
			s.Run(5 * time.Second)
			most, least, calm := 0, len(s.Session.Rows.Rows), 0
			pictures := 200
			if what == "two thousand" {
				pictures = 50
			}
			for frame := range pictures {
				s.Run(tuitest.Refresh)
				fail := func(why string, args ...any) {
					t.Helper()
					t.Fatalf("%s keys at %v, picture %d: %s:\n%s", what, size, frame, fmt.Sprintf(why, args...), s.Text())
				}
				list, throttled, json := s.Session.Rows.Rows, 0, 0
				for i, k := range list {
					if k.State(s.Session.Shown.At()) == model.Throttled {
						if throttled++; throttled != i+1 {
							fail("%s is throttled in row %d, below one that is not", k.Reading.Key, i)
						}
					}
					if next := report.KeyOf(&k.Reading, s.Session.Shown.At(), report.Options{}).Next; next != nil && *next != 0 {
						json++
					}
				}
				table, _, _ := strings.Cut(s.Text(), "injector")
				marks := ""
				for _, m := range row.FindAllStringSubmatch(table, -1) {
					marks += m[1]
				}
				shown, rows := strings.Count(marks, "✖"), len([]rune(marks))
				switch m := counted.FindStringSubmatch(table); {
				case m == nil || m[1] != fmt.Sprint(throttled) && (m[1] != "" || throttled > 0):
					fail("%d rows are throttled, and the header says otherwise", throttled)
				case json != throttled:
					fail("%d rows are throttled, and by the JSON %d", throttled, json)
				case rows < 8 || shown != min(throttled, rows) || strings.Contains(strings.TrimLeft(marks, "✖"), "✖"):
					fail("%d rows are throttled, and the marks are %s", throttled, marks)
				}
				more, below := throttled-shown, more.FindStringSubmatch(table)
				if more > 0 && (below == nil || below[1] != fmt.Sprint(more)) || more == 0 && below != nil {
					fail("%d throttled keys are below the last row, and the title says otherwise", more)
				}
				most, least = max(most, throttled), min(least, throttled)
				if throttled == 0 && most > 0 && size[0] == 140 {
					if calm++; !strings.Contains(table, "nobody is throttled · last ") {
						fail("the latest that was throttled is not named")
					}
				}
			}
			s.Press("5")
			for range 20 {
				s.Run(tuitest.Refresh)
				throttled := 0
				for _, k := range s.Session.Rows.Rows {
					if k.State(s.Session.Shown.At()) == model.Throttled {
						throttled++
					}
				}
				if m := still.FindAllString(s.Text(), -1); len(m) > throttled || what == "few" && size[0] == 140 && len(m) != throttled {
					t.Fatalf("%d keys are throttled now, and by the events %q:\n%s", throttled, m, s.Text())
				}
			}
			s.Press("1")
			s.Session.Selection.SetFilter("state:denied") // as it was called before
			former := len(s.Session.Rows.Rows)
			s.Session.Selection.SetFilter("state:throttled")
			if n := len(s.Session.Rows.Rows); n != former {
				t.Errorf("%s keys at %v: the filter leaves %d throttled and %d denied", what, size, n, former)
			}
			for _, k := range s.Session.Rows.Rows {
				if k.State(s.Session.Shown.At()) != model.Throttled {
					t.Errorf("%s keys at %v: the filter leaves %s, which is not throttled", what, size, k.Reading.Key)
				}
			}
			if most == 0 || most == least {
				t.Errorf("%s keys at %v: from %d to %d were throttled: the traffic proves nothing", what, size, least, most)
			}
			t.Logf("%s keys at %v: %d to %d throttled, %d calm pictures", what, size, least, most, calm)
		}
	}
}

// TestASelectedRowHidesNoTrouble: where a key was chosen that is far down, the throttled ones stand in sight again once
// no key was pressed for a while, or the title counts those above and below.
func TestASelectedRowHidesNoTrouble(t *testing.T) {
	t.Parallel()
	more := regexp.MustCompile(`(\d+) more (?:✖|throttled (?:above|below))`)
	row := regexp.MustCompile(`(?m)^[│▌ ]+([✖▲●·↓?~]) \S*[:…]\S* .*\d+/\d+`)
	for _, size := range [][2]int{{80, 24}, {140, 42}} {
		s := tuitest.NewStage(t, size[0], size[1], tui.Options{}, tuitest.Mixed()...)
		s.Run(5 * time.Second)
		hidden := 0
		for i := range 80 {
			if i%10 == 0 {
				s.Press([]string{"end", "pgup"}[i/10%2])
			}
			s.Run(time.Second)
			text, rows := s.Text(), 0
			for _, m := range row.FindAllStringSubmatch(text, -1) {
				if m[1] == "✖" {
					rows++
				}
			}
			throttled, told := 0, 0
			for _, k := range s.Session.Rows.Rows {
				if k.State(s.Session.Shown.At()) == model.Throttled {
					throttled++
				}
			}
			for _, m := range more.FindAllStringSubmatch(text, -1) {
				n, _ := strconv.Atoi(m[1])
				told += n
			}
			if hidden += told; rows+told != throttled {
				t.Fatalf("at %v %d keys are throttled, %d are in sight and the title tells of %d:\n%s", size, throttled, rows, told, text)
			}
			at := slices.IndexFunc(s.Session.Rows.Rows, func(k *model.Watched) bool { return k.Reading.Key == s.Session.Selection.Selected })
			if i%10 > 4 && throttled > 0 && at < 10 && rows == 0 {
				t.Fatalf("at %v the selected row is the %dth, and no throttled one is in sight:\n%s", size, at+1, text)
			}
		}
		if hidden == 0 {
			t.Errorf("at %v no throttled row was ever out of sight: the traffic proves nothing", size)
		}
	}
}
