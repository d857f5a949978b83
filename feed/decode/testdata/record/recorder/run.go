package recorder

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Ask makes one request of a cost at a limiter and returns what the limiter said.
type Ask func(cost int64) (Answer, error)

// Scenario is a fixture without its steps, how to open the limiter, and what to do with it.
type Scenario struct {
	Fixture
	// Open constructs the limiter on a database of the server.
	Open func(addr string, db int) (Ask, error)
	// Alone gives the scenario a server of its own, for a library that knows only database 0.
	Alone bool
	// Call is how one request is written in the library's own words, with %d for the cost.
	Call string
	// Story is what happens. It is one of the stories of this package or the scenario's own.
	Story func(r *Run) error
}

// Run records one scenario. It is used by one goroutine.
type Run struct {
	Scenario
	ctx     context.Context
	db      int
	client  *redis.Client
	monitor *monitor
	ask     Ask
	marks   int
}

// Limit returns the configured limit as a number of requests.
func (r *Run) Limit() int { return int(r.Configured.Limit) }

// Window returns the configured window.
func (r *Run) Window() time.Duration { return r.Configured.Window() }

// Client returns a connection to the scenario's database whose commands are not recorded.
func (r *Run) Client() *redis.Client { return r.client }

// Call makes a request of the cost and records it as a step.
func (r *Run) Call(cost int64) error {
	name := r.Scenario.Call
	if strings.Contains(name, "%d") {
		name = fmt.Sprintf(name, cost)
	}
	return r.Do(name, cost, r.ask)
}

// Calls makes n requests of cost 1.
func (r *Run) Calls(n int) error {
	for range n {
		if err := r.Call(1); err != nil {
			return err
		}
	}
	return nil
}

// Do records a step with another function of the library.
func (r *Run) Do(name string, cost int64, ask Ask) error {
	if err := r.drain(); err != nil {
		return err
	}
	answer, err := ask(cost)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	at, keys, err := readKeys(r.ctx, r.client)
	if err != nil {
		return err
	}
	commands, err := r.commands()
	if err != nil {
		return err
	}
	r.Steps = append(r.Steps, Step{AtMS: at, Call: name, Cost: cost, Commands: commands, Answer: answer, Keys: keys})
	return nil
}

func (r *Run) commands() ([][]Text, error) {
	r.marks++
	mark := fmt.Sprintf("mark %d %d", r.db, r.marks)
	if err := r.client.Echo(r.ctx, mark).Err(); err != nil {
		return nil, err
	}
	return r.monitor.until(r.db, Text(mark))
}

func (r *Run) drain() error {
	_, err := r.commands()
	return err
}

// Peek asks the library until it admits a request of cost 1, with the state of the last step
// put back before every request, and records how long that took since the last step.
// The state is put back at the end, too. What the library keeps in its own process is not.
func (r *Run) Peek() error {
	before, err := save(r.ctx, r.client)
	if err != nil {
		return err
	}
	step := r.Steps[len(r.Steps)-1]
	denied, deadline := step.AtMS, time.Now().Add(4*r.Window()+10*time.Second)
	for {
		if err := before.restore(r.ctx, r.client); err != nil {
			return err
		}
		answer, err := r.ask(1)
		if err != nil {
			return err
		}
		clock, err := r.client.Time(r.ctx).Result()
		if err != nil {
			return err
		}
		now := millis(clock)
		if *answer.Allowed {
			r.Peeks = append(r.Peeks, Peek{AfterStep: len(r.Steps) - 1, AtMS: step.AtMS, NextMS: now - step.AtMS,
				How: "the same instance polled, with the keys put back before each request, until admitted", ResolutionMS: now - denied})
			return before.restore(r.ctx, r.client)
		}
		denied = now
		if time.Now().After(deadline) {
			return fmt.Errorf("peek after step %d: not admitted within %s", len(r.Steps)-1, 4*r.Window()+10*time.Second)
		}
		time.Sleep(3 * time.Millisecond)
	}
}

// Sleep lets time pass.
func (r *Run) Sleep(d time.Duration) error {
	time.Sleep(d)
	return nil
}

// Phase waits until the clock is at the phase (0 to 1) of the next window aligned to the
// epoch; of this one if that is still ahead and next is false.
func (r *Run) Phase(phase float64, next bool) error {
	w := r.Window()
	now := time.Duration(time.Now().UnixNano())
	at := now - now%w + time.Duration(phase*float64(w))
	if next || at < now {
		at += w
	}
	time.Sleep(at - now)
	return nil
}

// Record runs the scenarios on the server, some at a time, and writes a file for each below
// dir. It returns the errors of those that failed.
func Record(s *Server, dir string, scenarios []Scenario) (failed []error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	places := make(chan struct{}, 12)
	for _, sc := range scenarios {
		wg.Go(func() {
			places <- struct{}{}
			err := record(s, dir, sc)
			<-places
			if err != nil {
				mu.Lock()
				failed = append(failed, fmt.Errorf("%s/%s: %w", sc.Library, sc.Fixture.Scenario, err))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return failed
}

func record(s *Server, dir string, sc Scenario) error {
	if sc.Alone {
		var err error
		if s, err = StartServer(); err != nil {
			return err
		}
		defer s.Stop()
	}
	db, c := s.database()
	defer c.Close()
	r := &Run{Scenario: sc, ctx: context.Background(), db: db, client: c, monitor: s.monitor}
	r.Steps, r.Peeks = []Step{}, []Peek{}
	if r.Notes == nil {
		r.Notes = []string{}
	}
	if r.InRedis == nil {
		r.InRedis = []string{}
	}
	var err error
	if r.ask, err = sc.Open(s.Addr, db); err != nil {
		return err
	}
	if err := sc.Story(r); err != nil {
		return err
	}
	return write(dir, r.Fixture)
}

func write(dir string, f Fixture) error {
	path := filepath.Join(dir, f.Library, f.Scenario+".json")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	b, err := Format(f)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o644)
}

// Format returns the JSON of a fixture with a line for every command and every key.
func Format(f Fixture) ([]byte, error) {
	short := f
	short.Steps, short.Peeks = nil, nil
	head, err := json.MarshalIndent(short, "", "  ")
	if err != nil {
		return nil, err
	}
	steps, err := formatSteps(f.Steps)
	if err != nil {
		return nil, err
	}
	peeks, err := list("    ", f.Peeks)
	if err != nil {
		return nil, err
	}
	text := strings.Replace(string(head), `"steps": null`, `"steps": [`+steps+"\n  ]", 1)
	text = strings.Replace(text, `"peeks": null`, `"peeks": `+peeks, 1)
	return []byte(text + "\n"), nil
}
