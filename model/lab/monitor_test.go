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

	"ratescope/limiter"
	"ratescope/limiter/limitertest"
	"ratescope/model/lab"
)

// given is how much longer a key lives under a script that is told the time.
const given = time.Hour

// number begins an answer that a note tells whole.
var number = regexp.MustCompile(`^# ([\d:]*\d(?:, [\d:]*\d)*)`)

// TestCommandsAreThoseThatRun: what the inspector lists is, word for word and in its
// order, what the scripts run on a server, as its MONITOR tells; and what it says that
// reads answer is what they answer there.
func TestCommandsAreThoseThatRun(t *testing.T) {
	address := limitertest.Address(t)
	client := redis.NewClient(&redis.Options{Addr: address})
	t.Cleanup(func() { _ = client.Close() })
	tap := monitor(t, address)
	for _, c := range []string{
		"fixed-window", "fixed-window/first-request", "fixed-window/closed/first-request", "fixed-window/below/charged",
		"sliding-window", "sliding-window/exact", "sliding-window/round/charged",
		"sliding-log", "sliding-log/closed", "sliding-log/charged", "stream", "stream/closed", "stream/charged",
		"gcra", "gcra/charged", "token-bucket", "token-bucket/interval", "leaky-bucket",
	} {
		for _, limit := range []limiter.Limit{{Count: 10, Window: 10 * time.Second}, {Count: 7, Window: 10 * time.Second, Burst: 9}, {Window: 5 * time.Second}} {
			for _, cost := range []int64{1, 3} {
				t.Run(fmt.Sprintf("%s %d cost %d", c, limit.Count, cost), func(t *testing.T) {
					contender, err := lab.ParseContender(c)
					if err != nil {
						t.Fatal(err)
					}
					s := budget.Clone()
					s.Contenders, s.Limit, s.Cost = []lab.Contender{contender}, limit, cost
					compareCommands(t, client, tap, s)
				})
			}
		}
	}
}

// compareCommands decides about forty requests here and on the server.
func compareCommands(t *testing.T, client *redis.Client, tap func(mark string) []string, s lab.Setup) {
	ctx := context.Background()
	if err := client.FlushDB(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	src, err := lab.Traffic{Model: lab.Cron, EveryMS: 2300, PhaseMS: 300, Burst: 3, Cost: s.Cost}.Source(s, 3)
	if err != nil {
		t.Fatal(err)
	}
	run := lab.NewRun(s, lab.NewTape(src))
	c, denied := s.Contenders[0], 0
	for i := range 40 {
		m, ok := run.Inspect(0, run.Decided())
		if !ok {
			t.Fatal("the traffic ended")
		}
		listed := lab.Commands(c, m, s)
		checkAnswers(t, client, listed)
		words, err := limiter.Call(c.Algorithm, "rl:lab", s.Limit, m.Arrival.Cost,
			limiter.WithConvention(run.Terms(0)), limiter.WithClock(func() limiter.Instant { return m.Arrival.At }))
		if err != nil {
			t.Fatal(err)
		}
		mark := fmt.Sprintf("mark %s %d", t.Name(), i)
		send(t, client, "ECHO", mark)
		tap(mark)
		send(t, client, words...)
		send(t, client, "ECHO", mark)
		ran := tap(mark)
		rest := ran
		for _, command := range listed {
			if strings.HasPrefix(command, "#") {
				continue
			}
			at := slices.Index(rest, command)
			if at < 0 {
				t.Fatalf("request %d: the lab lists\n%s\nthe server ran\n%s", i, strings.Join(listed, "\n"), strings.Join(ran, "\n"))
			}
			rest = rest[at+1:]
		}
		if !m.Decision.Allowed {
			denied++
		}
		run.Step()
	}
	if denied == 0 && s.Limit.Count > 0 {
		t.Error("nothing was denied, so little was compared")
	}
}

// checkAnswers runs the reads of a list whose answer is a number, before anything is
// charged.
func checkAnswers(t *testing.T, client *redis.Client, listed []string) {
	for i := 0; i+1 < len(listed); i++ {
		verb, _, _ := strings.Cut(listed[i], " ")
		want := number.FindStringSubmatch(listed[i+1])
		if want == nil || !slices.Contains([]string{"GET", "MGET", "ZCOUNT", "HMGET"}, verb) {
			continue
		}
		answer := send(t, client, strings.Fields(listed[i])...)
		list, ok := answer.([]any)
		if !ok {
			list = []any{answer}
		}
		var got []string
		for _, v := range list {
			if v == nil {
				v = 0
			}
			got = append(got, fmt.Sprint(v))
		}
		if n := strings.Count(want[1], ",") + 1; strings.Join(got[:n], ", ") != want[1] {
			t.Fatalf("%s answers %v, the lab says %s", listed[i], got, listed[i+1])
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
				commands = append(commands, shorter(strings.Split(strings.Trim(line, `"`), `" "`)))
			}
		}
		t.Fatalf("MONITOR ended: %v", lines.Err())
		return nil
	}
}

// shorter takes the hour that a script adds, which is told the time, off a command's life.
func shorter(words []string) string {
	for i, w := range words {
		if i > 0 && (words[0] == "PEXPIRE" && i == 2 || words[i-1] == "PX") {
			if ms, err := strconv.ParseInt(w, 10, 64); err == nil {
				words[i] = strconv.FormatInt(ms-given.Milliseconds(), 10)
			}
		}
	}
	return strings.Join(words, " ")
}
