package lab_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/script/sandbox"
	"ratescope/internal/servertest"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
	"ratescope/model/lab"
)

// number is an answer that is told whole.
var number = regexp.MustCompile(`^((?:[\d:]*\d|nothing)(?:, (?:[\d:]*\d|nothing))*)$`)

// commandSetups are the variants whose commands are compared with a server's.
var commandSetups = []string{
	"fixed-window", "fixed-window/first-request", "fixed-window/closed/first-request", "fixed-window/below/charged",
	"sliding-window", "sliding-window/exact", "sliding-window/round/charged",
	"sliding-log", "sliding-log/closed", "sliding-log/charged", "stream", "stream/closed", "stream/charged",
	"gcra", "gcra/charged", "token-bucket", "token-bucket/interval", "leaky-bucket",
}

// TestCommandsAreThoseThatRun: what the inspector lists is, word for word, whole and in its
// order, what the scripts run on a server, as its MONITOR tells; and what it says that
// reads answer is what they answer there.
func TestCommandsAreThoseThatRun(t *testing.T) {
	address := servertest.Start(t).Addr()
	client := redis.NewClient(&redis.Options{Addr: address})
	t.Cleanup(func() { _ = client.Close() })
	tap := monitor(t, address)
	for _, c := range commandSetups {
		for _, limit := range []limiter.Limit{{Count: 10, Window: 10 * time.Second}, {Count: 7, Window: 10 * time.Second, Burst: 9},
			{Window: 5 * time.Second}} {
			for _, cost := range []int64{1, 3} {
				t.Run(fmt.Sprintf("%s %d cost %d", c, limit.Count, cost), func(t *testing.T) {
					candidate, err := lab.ParseCandidate(c + "/client-clock") // the script is given the instant
					if err != nil {
						t.Fatal(err)
					}
					s := budget.Clone()
					if limit.Count == 0 && candidate.Bursts() { // nothing is listed
						return
					}
					s.Candidates, s.Limit, s.Cost = []lab.Candidate{candidate}, limit, cost
					compareCommands(t, client, tap, s)
				})
			}
		}
	}
}

// compareCommands decides about forty requests here and, with the same instants given, on
// the server.
func compareCommands(t *testing.T, client *redis.Client, tap func(mark string) []string, s lab.Setup) {
	if err := client.FlushDB(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
	src, err := lab.Traffic{Model: lab.Cron, EveryMS: 2300, PhaseMS: 300, Burst: 3, SpreadMS: 2, Cost: s.Cost}.Source(s, 3)
	if err != nil {
		t.Fatal(err)
	}
	run := lab.NewRun(s, lab.NewWorkload(src))
	c, denied := s.Candidates[0], 0
	var on sandbox.Stage
	defer on.Close()
	for i := range 40 {
		m, ok := run.Inspect(0, run.Decided())
		if !ok {
			t.Fatal("the traffic ended")
		}
		listed, err := m.Commands(&on)
		if err != nil {
			t.Fatal(err)
		}
		checkAnswers(t, client, listed)
		words, err := redisstore.Call(c.Algorithm, "rl:lab", s.Limit, m.Arrival.Cost,
			redisstore.WithConvention(c.Convention(s.Convention)), redisstore.WithPrefix(""),
			redisstore.WithClock(func() limiter.Instant { return m.Arrival.At }))
		if err != nil {
			t.Fatal(err)
		}
		mark := fmt.Sprintf("mark %s %d", t.Name(), i)
		send(t, client, "ECHO", mark)
		tap(mark)
		send(t, client, words...)
		send(t, client, "ECHO", mark)
		sameCommands(t, i, listed, tap(mark))
		if !m.Decision.Allowed {
			denied++
		}
		run.Step()
	}
	if denied == 0 && s.Limit.Count > 0 {
		t.Error("nothing was denied, so little was compared")
	}
}

// sameCommands fails where what is listed is not what ran.
func sameCommands(t *testing.T, i int, listed []lab.Command, ran []string) {
	t.Helper()
	if want := texts(listed); !slices.Equal(want, ran) {
		t.Fatalf("request %d: the lab lists\n%s\nthe server ran\n%s", i, strings.Join(want, "\n"), strings.Join(ran, "\n"))
	}
}

// texts returns commands as the lab lists them.
func texts(listed []lab.Command) (all []string) {
	for _, one := range listed {
		all = append(all, one.Text)
	}
	return all
}

// TestCommandsOnTheServersClock fires at a server by its own clock, puts the instants that
// it decided at before the lab, and compares every command of every decision: this is
// what a limiter in use runs, with TIME, and with the short scripts for a cost of 1. No window ends
// meanwhile: Redis 7.0 counts an expiry from the start of a script and the window from TIME, so that what
// the server has at the end of a window depends on how long the script took. TestCommandsAreThoseThatRun has
// windows that end, on instants that it gives.
func TestCommandsOnTheServersClock(t *testing.T) {
	address := servertest.Start(t).Addr()
	client := redis.NewClient(&redis.Options{Addr: address})
	t.Cleanup(func() { _ = client.Close() })
	tap := monitor(t, address)
	for _, c := range commandSetups {
		if strings.Contains(c, "first-request") { // its end is an expiry, which goes in whole milliseconds
			continue
		}
		for _, limit := range []limiter.Limit{{Count: 7, Window: time.Hour, Burst: 9}, {Count: 150, Window: time.Hour}} {
			for _, cost := range []int64{1, 2} {
				t.Run(fmt.Sprintf("%s %d cost %d", c, limit.Count, cost), func(t *testing.T) {
					candidate, err := lab.ParseCandidate(c)
					if err != nil {
						t.Fatal(err)
					}
					live(t, client, tap, candidate, limit, cost)
				})
			}
		}
	}
}

// live fires requests at a server until some were denied, and then replays them in the lab.
func live(t *testing.T, client *redis.Client, tap func(mark string) []string, c lab.Candidate, limit limiter.Limit, cost int64) {
	ctx := context.Background()
	if err := client.FlushDB(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	s := lab.Setup{Candidates: []lab.Candidate{c}, Limit: limit, Cost: cost}
	l, err := redisstore.New(client, c.Algorithm, redisstore.WithConvention(c.Convention(s.Convention)), redisstore.WithPrefix(""))
	if err != nil {
		t.Fatal(err)
	}
	var list []lab.Arrival
	var ran [][]string
	send(t, client, "ECHO", t.Name())
	tap(t.Name())
	for i := range int(limit.Count/cost) + 20 {
		mark := fmt.Sprintf("mark %s %d", t.Name(), i)
		d, err := l.AllowN(ctx, "rl:lab", limit, cost)
		if err != nil {
			t.Fatal(err)
		}
		send(t, client, "ECHO", mark)
		list, ran = append(list, lab.Arrival{At: d.At, Cost: cost}), append(ran, tap(mark))
	}
	s.Zero = list[0].At.Floor(limit.Window)
	run := lab.NewRun(s, lab.NewWorkload(lab.Given(list)))
	var on sandbox.Stage
	defer on.Close()
	for i := range list {
		if c.Algorithm == limiter.SlidingLog && list[i].At%1000 == 0 {
			return // in the lab it stands for any microsecond, so that what is trimmed from here on may differ
		}
		m, ok := run.Inspect(0, i)
		if !ok {
			t.Fatal("a request is missing")
		}
		listed, err := m.Commands(&on)
		if err != nil {
			t.Fatal(err)
		}
		if listed[0].Text != "TIME" {
			t.Fatalf("the script does not ask for the time first: %v", listed)
		}
		// The store examines a key that it does not know, and a known one every 64th time, by a
		// longer script, which redisstore's tests cover; the lab lists the usual one.
		if i%64 != 0 {
			sameCommands(t, i, listed, ran[i])
		}
		marked(t, &on, c, m, s, listed)
		run.Step()
	}
}

// marked fails where a command is not at a line of the script that calls it.
func marked(t *testing.T, on lab.Redis, c lab.Candidate, m lab.Moment, s lab.Setup, listed []lab.Command) {
	t.Helper()
	lines, err := m.ScriptRun(on)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, l := range lines {
		ran += len(l.Ran)
		for _, one := range l.Ran {
			if !strings.Contains(l.Text, "'"+one.Verb()+"'") {
				t.Fatalf("%q is marked with %q", l.Text, one.Text)
			}
		}
	}
	if ran != len(listed) {
		t.Fatalf("%d lines ran %d commands", ran, len(listed))
	}
}

// checkAnswers runs the reads of a list whose answer is a number, before anything is
// charged.
func checkAnswers(t *testing.T, client *redis.Client, listed []lab.Command) {
	for _, one := range listed {
		if one.Writes() {
			return
		}
		want := number.FindStringSubmatch(one.Answer)
		if want == nil || !slices.Contains([]string{"GET", "MGET", "ZCOUNT", "HMGET"}, one.Verb()) {
			continue
		}
		answer := send(t, client, strings.Fields(one.Text)...)
		list, ok := answer.([]any)
		if !ok {
			list = []any{answer}
		}
		var got []string
		for _, v := range list {
			if v == nil {
				v = "nothing"
			}
			got = append(got, fmt.Sprint(v))
		}
		if n := strings.Count(want[1], ",") + 1; strings.Join(got[:n], ", ") != want[1] {
			t.Fatalf("%s answers %v, the lab says %s", one.Text, got, one.Answer)
		}
	}
}

// send runs one command; an answer of nothing is nil.
func send(t *testing.T, client *redis.Client, words ...string) any {
	t.Helper()
	args := make([]any, len(words))
	for i, w := range words {
		args[i] = w
	}
	answer, err := client.Do(context.Background(), args...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return answer
}

// monitor listens to what scripts run, and returns it up to an ECHO.
func monitor(t *testing.T, addr string) (until func(mark string) []string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprint(conn, "MONITOR\r\n")
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 1<<20)
	lines.Scan()
	return func(mark string) (commands []string) {
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		for lines.Scan() {
			_, line, _ := strings.Cut(lines.Text(), "] ")
			if strings.Contains(line, strconv.Quote(mark)) {
				return commands
			}
			if strings.Contains(lines.Text(), " lua] ") {
				commands = append(commands, strings.Join(strings.Split(strings.Trim(line, `"`), `" "`), " "))
			}
		}
		t.Fatalf("MONITOR ended: %v", lines.Err())
		return nil
	}
}
