package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratescope/internal/servertest"
)

// TestScreenOfOthersFormats: the numbers on the screen are those that the keys of
// other programs amount to.
func TestScreenOfOthersFormats(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	w := quietWindow(s.now(t))
	logs, counters := formats(t, s, w)
	spy := s.watch(t)
	estimate := func() int { // what counts of the previous window falls meanwhile
		return 7 + int(5*(1-float64(s.now(t).UnixMilli()%w.Milliseconds())/float64(w.Milliseconds())))
	}
	most := estimate()
	term := openTerminal(t, 160, 48)
	term.run("%s --redis %s --watch '?*' --limit %s", program, s.URL(), limitFlag(10, w))
	term.wait(append([]string{"LIVE", "read-only"}, append(logs, counters...)...)...)
	// used returns the row of a key that has been read: a name is on the screen before its figures.
	used := func(name string) (cells string) {
		servertest.Await(t, name+" has been read", func() bool {
			cells = row(term.screen(), name)
			return strings.Contains(cells, "/10 ")
		})
		return cells
	}
	for _, name := range logs {
		if got := used(name); !strings.Contains(got, " 12/10 ") {
			t.Errorf("%s: 12 of 10 are used, the row says %q", name, got)
		}
	}
	for _, name := range counters {
		got, fits := used(name), false
		least := estimate()
		for n := least; n <= most; n++ {
			fits = fits || strings.Contains(got, fmt.Sprintf(" %d/10 ", n))
		}
		if !fits {
			t.Errorf("%s: the estimate is %d to %d of 10, the row says %q", name, least, most, got)
		}
	}
	// What counts of the selected key: all 12 of the log.
	term.selectRow("z:millis")
	term.wait("counts         12")
	if bad := spy.writing(t, s); len(bad) > 0 {
		t.Errorf("watching sent %v", bad)
	}
	term.press("q")
	term.settled()
}

// selectRow moves the selection until it is on the row of that key.
func (m *terminal) selectRow(name string) {
	m.t.Helper()
	at := func() (selected, wanted int) {
		selected, wanted = -1, -1
		i := 0
		for l := range strings.Lines(m.screen()) {
			in, framed := strings.CutPrefix(l, "│")
			if selected < 0 && framed && strings.HasPrefix(strings.TrimSpace(in), "▌") {
				selected = i
			}
			if wanted < 0 && framed && row(l, name) != "" {
				wanted = i
			}
			i++
		}
		return selected, wanted
	}
	for range 20 {
		selected, wanted := at()
		switch {
		case selected == wanted && selected >= 0:
			return
		case selected < wanted:
			m.press("Down")
		default:
			m.press("Up")
		}
		servertest.Await(m.t, "the selection moves", func() bool { now, _ := at(); return now != selected })
	}
	m.t.Fatalf("%s cannot be selected:\n%s", name, m.screen())
}

// TestSpaceFiresOne: armed, a confirmed key press moves the server, and the screen follows; how
// soon is logged.
func TestSpaceFiresOne(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	s.cli(t, "ZADD", "z:live", strconv.FormatInt(s.now(t).UnixMilli(), 10), "first")
	term := openTerminal(t, 160, 48)
	term.run("%s --redis %s --watch 'z:*' --algorithm sliding-log --limit 1000/30m --allow-inject", program, s.URL())
	term.wait("LIVE", "read-only, ! arms", " 1/1000 ")
	term.press("Space")
	term.wait("press ! to arm it")
	term.arm()
	const presses = 12
	var server, screen []time.Duration
	for n := 2; n < 2+presses; n++ {
		want := strconv.Itoa(n)
		var pressed time.Time
		term.fireOne("ZCARD is "+want, func() {
			if got := s.cli(t, "ZCARD", "z:live"); got != strconv.Itoa(n-1) {
				t.Fatalf("ZCARD is %s before the order was confirmed, want %d", got, n-1)
			}
			pressed = time.Now()
		}, func() bool { return s.cli(t, "ZCARD", "z:live") == want })
		server = append(server, time.Since(pressed))
		term.wait(" " + want + "/1000 ")
		screen = append(screen, time.Since(pressed))
	}
	slices.Sort(server)
	slices.Sort(screen)
	t.Logf("from the press to ZCARD: median %v, worst %v; to the number on the screen: median %v, worst %v (polling included)",
		server[presses/2], server[presses-1], screen[presses/2], screen[presses-1])
	if got := s.cli(t, "ZCARD", "z:live"); got != strconv.Itoa(1+presses) {
		t.Errorf("ZCARD is %s after %d presses on a key with one entry", got, presses)
	}
	audit(t, term.env, "z:live", presses)
	term.press("q")
	term.settled()
}

// TestReadOnlyScreenNeverWrites presses everything that fires, without the flag.
func TestReadOnlyScreenNeverWrites(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	formats(t, s, quietWindow(s.now(t)))
	before := dump(t, s)
	spy := s.watch(t)
	term := openTerminal(t, 120, 36)
	term.run("%s --redis %s --watch '?*' --limit 100/10m", program, s.URL())
	term.wait("LIVE", "read-only", "z:millis")
	term.press("Space", "b", "r", "+", "b", "Down", "Space", "r", "x")
	term.wait("--allow-inject")
	seen := len(spy.commands())
	servertest.Await(t, "readings go on", func() bool { return len(spy.commands()) > seen+50 })
	if bad := spy.writing(t, s); len(bad) > 0 {
		t.Errorf("a read-only screen sent %v", bad)
	}
	if after := dump(t, s); after != before {
		t.Errorf("a read-only screen changed what the server holds")
	}
	term.press("q")
	term.settled()
}

// TestScreenSurvivesTheServer: none there, there, gone, and back.
func TestScreenSurvivesTheServer(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	s.Kill()
	term := openTerminal(t, 120, 36)
	term.run("%s --redis %s --watch 'z:*' --limit 100/30s", program, s.URL())
	term.wait("CONNECTING", s.Addr())
	s.Start()
	term.wait("LIVE", "no key on this server")
	now := s.now(t).UnixMilli()
	s.cli(t, "ZADD", "z:k", strconv.FormatInt(now-1000, 10), "a", strconv.FormatInt(now, 10), "b")
	term.wait("z:k", " 2/100 ")
	s.Kill()
	// A shorter absence than a column of the timeline, 1.5 s, is not seen on it.
	gone := regexp.MustCompile(`DOWN ([2-9]|\d\d+)(\.\d)?s`)
	servertest.Await(t, "the server has been away for two seconds", func() bool { return gone.MatchString(term.screen()) })
	s.Start()
	now = s.now(t).UnixMilli()
	s.cli(t, "ZADD", "z:k", strconv.FormatInt(now-2000, 10), "a", strconv.FormatInt(now-1000, 10), "b", strconv.FormatInt(now, 10), "c")
	term.wait("LIVE", " 3/100 ", "╱") // the time without a reading is hatched
	term.press("q")
	term.settled()
}

// TestEveryWayOut leaves the terminal as it was, with the exit code that the way has.
func TestEveryWayOut(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		leave func(m *terminal)
		codes []int
	}{
		{"q", func(m *terminal) { m.press("q") }, []int{0}},
		{"ctrl+c", func(m *terminal) { m.press("C-c") }, []int{0, 130}},
		{"SIGTERM", func(m *terminal) { m.signal("TERM") }, []int{130}},
		{"SIGINT", func(m *terminal) { m.signal("INT") }, []int{130}},
		{"SIGHUP", func(m *terminal) { m.signal("HUP") }, []int{130}},
		{"ctrl+c while connecting", func(m *terminal) { m.press("C-c") }, []int{0, 130}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			term := openTerminal(t, 100, 30)
			args, shows := "", "LIVE"
			if strings.Contains(tc.name, "connecting") {
				args, shows = " --redis redis://127.0.0.1:"+strconv.Itoa(servertest.FreePort(t)), "CONNECTING"
			}
			term.run("%s%s; echo code''=$?.", program, args)
			term.wait(shows)
			if mode := term.mode(); mode == plainMode {
				t.Fatalf("the dashboard has not taken the terminal over (%s): it proves nothing", mode)
			}
			tc.leave(term)
			screen := term.wait("code=")
			if !slices.ContainsFunc(tc.codes, func(c int) bool { return strings.Contains(screen, fmt.Sprintf("code=%d.", c)) }) {
				t.Errorf("want exit code %v:\n%s", tc.codes, screen)
			}
			term.settled()
		})
	}
}

// signal sends a signal to the program in the terminal.
func (m *terminal) signal(name string) {
	m.t.Helper()
	m.tmux("run-shell", fmt.Sprintf("kill -%s $(ps -o pid= --ppid #{pane_pid})", name))
}

func TestScreenOfHostileNames(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	names := []string{"h:\x1b]0;owned\x07", "h:\x1b[2J\x1b[31m", "h:\u202egnp", "h:👩\u200d💻", "h:\xff", "h:" + strings.Repeat("k", 4096)}
	for _, name := range names {
		s.cli(t, "ZADD", name, strconv.FormatInt(s.now(t).UnixMilli(), 10), "m")
	}
	term := openTerminal(t, 160, 48)
	term.run("%s --redis %s --watch '?*' --limit 100/10m", program, s.URL())
	term.wait("LIVE", `\x1b]0;owned\x07`, `\x1b[2J\x1b[31m`, `\u202egnp`, `👩\u200`, `\xff`, "kkkk") // the title says the h: of all
	if title := term.tmux("display-message", "-p", "#{pane_title}"); strings.Contains(title, "owned") {
		t.Errorf("a key's name became the title of the terminal: %q", title)
	}
	servertest.Await(t, fmt.Sprintf("%d keys have one entry each", len(names)), func() bool {
		return strings.Count(term.screen(), " 1/100 ") == len(names)
	})
	term.press("q")
	term.settled()
}

func TestScreenSizes(t *testing.T) {
	t.Parallel()
	term := openTerminal(t, 160, 48)
	term.run("%s", program)
	term.wait("LIVE")
	for _, size := range [][2]int{{80, 24}, {60, 20}, {50, 15}, {10, 3}, {1, 1}, {200, 60}, {80, 24}} {
		term.tmux("resize-window", "-x", strconv.Itoa(size[0]), "-y", strconv.Itoa(size[1]))
		switch {
		case size[0] >= 60 && size[1] >= 20:
			term.wait("LIVE")
		case size[0] >= 40:
			term.wait("60x20")
		}
	}
	term.press("q")
	term.settled()
}

// TestScreenWithoutColours: NO_COLOR leaves no colour on the screen, --ascii no lines,
// blocks or dots beyond ASCII.
func TestScreenWithoutColours(t *testing.T) {
	t.Parallel()
	coloured := func(m *terminal) bool {
		for _, sequence := range strings.Split(m.tmux("capture-pane", "-e", "-p"), "\x1b[")[1:] {
			codes, _, _ := strings.Cut(sequence, "m")
			for code := range strings.SplitSeq(codes, ";") {
				if n, err := strconv.Atoi(code); err == nil && (n >= 30 && n < 50 && n != 39 && n != 49 || n >= 90) {
					return true
				}
			}
		}
		return false
	}
	s := startRedis(t)
	formats(t, s, quietWindow(s.now(t)))
	for _, tc := range []struct {
		prefix, flags string
		colours       bool
		ascii         bool
	}{{"", "", true, false}, {"NO_COLOR=1 ", "", false, false}, {"", " --ascii", true, true}} {
		term := openTerminal(t, 120, 36)
		term.run("%s%s --redis %s --watch '?*' --limit 10/10m%s", tc.prefix, program, s.URL(), tc.flags)
		screen := term.wait("LIVE", "z:millis")
		if got := coloured(term); got != tc.colours {
			t.Errorf("%s%s: colours on the screen: %v", tc.prefix, tc.flags, got)
		}
		drawn := strings.ContainsFunc(screen, func(r rune) bool { return r >= 0x2500 && r <= 0x28ff })
		if drawn == tc.ascii {
			t.Errorf("%s%s: lines, blocks or dots on the screen: %v:\n%s", tc.prefix, tc.flags, drawn, screen)
		}
		term.press("q")
		term.settled()
	}
}

// TestPlain: lines of text without a terminal, until a signal.
func TestPlain(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	formats(t, s, quietWindow(s.now(t)))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(program, "--plain", "--redis", s.URL(), "--watch", "?*", "--limit", "12/1h", "--mask")
	cmd.Stdout, cmd.Env = w, environment(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	kill := time.AfterFunc(servertest.Patience, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	var seen []string
	for in := bufio.NewScanner(r); in.Scan(); {
		seen = append(seen, in.Text())
		if strings.Contains(in.Text(), "throttled") {
			break
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	text := strings.Join(seen, "\n")
	if strings.ContainsAny(text, "\x1b\r") || strings.Contains(text, "z:millis") || !strings.Contains(text, "***") {
		t.Errorf("the text is not plain, or not masked:\n%s", text)
	}
}
