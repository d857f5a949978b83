package fire

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"ratescope/feed/connect"
	"ratescope/limiter"
	"ratescope/limiter/redisstore"
	"ratescope/model"
	"ratescope/model/arming"
)

// Allowed returns nil when the program was started so that firing may be armed, else an error
// that wraps ErrReadOnly and says how to allow it.
func (i *Injector) Allowed() error {
	if i.o.Armed {
		return nil
	}
	remedy := "start ratescope with --allow-inject to allow it"
	if i.o.Refused != "" {
		remedy = i.o.Refused
	}
	return fmt.Errorf("%s is %w, so nothing is fired at it: %s", i.endpoint.Shown, connect.ErrReadOnly, remedy)
}

// ByHand says that firing has to be armed first, and each order needs a ticket.
func (i *Injector) ByHand() bool { return i.o.ByHand }

// Armed returns nil when firing is possible now, else an error that says why not.
func (i *Injector) Armed() error {
	if err := i.Allowed(); err != nil || !i.o.ByHand {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.state.Err(i.o.Now())
}

// Arming returns where firing stands now.
func (i *Injector) Arming() arming.Status {
	refused := i.Allowed()
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.state.Status(i.o.Now())
	s.Refused, s.Production = refused, i.production
	return s
}

// Arm makes firing possible for arming.Lasts without use. It asks the server who it is, over the
// client that will write. The error is one sentence.
func (i *Injector) Arm(ctx context.Context) error {
	if err := i.Allowed(); err != nil {
		return err
	}
	server, traits, err := i.identify(ctx)
	if err != nil {
		return fmt.Errorf("firing cannot be armed: %s", connect.Explain(err, i.endpoint.Shown))
	}
	if err := i.audit.open(); err != nil {
		return err
	}
	i.mu.Lock()
	i.state.Arm(i.o.Now(), server)
	i.production = traits.Production()
	i.mu.Unlock()
	return i.note(armed, server.RunID)
}

// Disarm ends the arming.
func (i *Injector) Disarm() {
	i.mu.Lock()
	was := i.o.ByHand && i.state.Err(i.o.Now()) == nil
	i.state.Disarm()
	i.mu.Unlock()
	if was {
		_ = i.note(disarmed, "") // the arming has ended, whether that can be written or not
	}
}

// note writes that the state of the arming has changed.
func (i *Injector) note(outcome, run string) error {
	line := entry{Action: outcome, Server: i.endpoint.Shown, Database: i.endpoint.DB(), Outcome: outcome, RunID: run, person: whoRuns()}
	if err := i.audit.append(line); err != nil {
		return i.audit.unwritable(err)
	}
	return nil
}

// Meet takes in what is known about the server: the arming ends where the connection was lost
// and another one answers.
func (i *Injector) Meet(s model.Server) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch s.Link {
	case model.Down:
		i.state.Lose()
	case model.Live:
		if s.RunID != "" && !i.clustered() {
			i.state.Meet(arming.Server{Name: i.endpoint.Shown, RunID: s.RunID})
		}
	}
}

func (i *Injector) clustered() bool {
	_, yes := i.client.(*redis.ClusterClient)
	return yes
}

// permit returns nil when the order s may be carried out now, and counts it as use.
func (i *Injector) permit(ctx context.Context, s model.Order) error {
	if err := i.Armed(); err != nil || !i.o.ByHand {
		return err
	}
	server, _, err := i.identify(ctx)
	if err != nil {
		return fmt.Errorf("%s: %s", nothing(s), connect.Explain(err, i.endpoint.Shown))
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.state.Meet(server)
	now := i.o.Now()
	switch err := i.state.Err(now); {
	case err != nil:
		return err
	case s.Ticket == nil || s.Ticket.Order.Key != s.Key || s.Ticket.Order.N != s.N || s.Ticket.Order.Rate != s.Rate || s.Ticket.Order.Cost != s.Cost || s.Ticket.Order.Change != s.Change || s.Ticket.Order.Shape.String() != s.Shape.String() || s.Ticket.Order.Scratch != s.Scratch:
		return errors.New(nothing(s) + " without a ticket that says what the order does")
	case s.Ticket.Expired(now):
		return fmt.Errorf("the ticket has expired after %v: what it said may be wrong by now, ask for a new one", model.TicketLasts)
	}
	if err := i.assured(i.production, s.Key, s.Named, s.Reason, nothing(s)); err != nil {
		return err
	}
	return i.state.Use(now)
}

// assured returns nil where a person has typed what a server of production asks for: the name of the
// key and a reason. production says why the server counts as one, nil where it does not; nothing
// begins the sentence that refuses.
func (i *Injector) assured(production []string, key, named, reason, nothing string) error {
	switch {
	case len(production) == 0:
		return nil
	case !arming.Named(key, named):
		return fmt.Errorf("%s: %s counts as production because %s, and the key's name was not typed", nothing, i.endpoint.Shown, production[0])
	case strings.TrimSpace(reason) == "":
		return fmt.Errorf("%s: %s counts as production because %s, and no reason was given", nothing, i.endpoint.Shown, production[0])
	}
	return nil
}

// nothing begins the sentence that says why an order is not carried out.
func nothing(s model.Order) string {
	if s.Change.Kind != model.NoChange {
		return "nothing is changed"
	}
	return "nothing is fired"
}

// use counts a request as use of the arming, and says whether it holds still.
func (i *Injector) use() error {
	if !i.o.ByHand {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.state.Use(i.o.Now())
}

// identify asks the server which life of it this is, and what tells whether it is one of
// production. A user that may not see INFO leaves the run id unknown.
func (i *Injector) identify(ctx context.Context) (arming.Server, arming.Traits, error) {
	ctx, cancel := context.WithTimeout(ctx, i.o.Timeout)
	defer cancel()
	server := arming.Server{Name: i.endpoint.Shown}
	traits := arming.Traits{Marked: i.o.Production, Loopback: i.endpoint.Loopback(), Clients: -1, Replicas: -1}
	nodes := []*redis.Client{}
	switch c := i.locked().(type) {
	case *redis.Client:
		nodes = append(nodes, c)
	case *redis.ClusterClient:
		masters, err := connect.Masters(ctx, c)
		if err != nil {
			return server, traits, err
		}
		nodes = masters
	}
	var runs []string
	for _, n := range nodes {
		text, err := n.Info(ctx).Result()
		if err != nil && !replied(err) {
			return server, traits, err
		}
		f := connect.ParseInfo(text)
		runs = append(runs, f["run_id"])
		traits.Clients = max(traits.Clients, others(ctx, n, number(f["connected_clients"])))
		traits.Replicas = max(traits.Replicas, number(f["connected_slaves"]))
	}
	slices.Sort(runs)
	if !slices.Contains(runs, "") {
		server.RunID = strings.Join(runs, " ")
	}
	return server, traits, nil
}

// mostListed is the number of connections up to which our own are looked for among them: a list of
// more keeps a server busy, and ours are then not what makes them many.
const mostListed = 1000

// others returns how many of the connections to a node are of other programs. Those of ours are
// looked for only where there are so many that it matters: a script that fires in many processes at
// once is no sign of production. Where the user may not list them all are counted.
func others(ctx context.Context, n *redis.Client, clients int) int {
	if clients <= arming.ManyClients || clients > mostListed {
		return clients
	}
	list, err := n.ClientList(ctx).Result()
	if err != nil {
		return clients
	}
	return clients - strings.Count(list, " name="+ownNames)
}

// number reads a whole number of INFO, -1 where it has none.
func number(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return -1
}

// Production returns, a clause each, why the server counts as one of production; nil where it
// does not, or does not answer.
func (i *Injector) Production(ctx context.Context) (why []string) {
	if _, traits, err := i.identify(ctx); err == nil {
		return traits.Production()
	}
	return nil
}

// Preview returns the command that the first request of an order is sent as, or the commands of a
// change, without sending them. It reads the keys of a limiter that another library keeps, because
// what is written there follows from what they hold; of a request that would be denied now, and
// writes nothing, it returns none.
func (i *Injector) Preview(ctx context.Context, s model.Order) ([]string, error) {
	s.Target.Limit.Window = max(s.Target.Limit.Window, s.Target.Window)
	if s.Change.Kind != model.NoChange {
		return i.previewChange(ctx, s)
	}
	p := &preview{}
	switch w, err := writerOf(s); {
	case err != nil:
		return nil, err
	case w != nil:
		if p.commands, err = i.previewLibrary(ctx, w, s); err != nil {
			return nil, err
		}
	default:
		l, err := i.storeOn(p, s.Target)
		if err != nil {
			return nil, err
		}
		if _, err := l.AllowN(ctx, aimed(s).Key, s.Target.Limit, s.Cost); err != nil && !errors.Is(err, errPreview) && len(p.commands) == 0 {
			return nil, err
		}
	}
	if !s.Scratch {
		return p.commands, nil
	}
	var lines []string
	for _, words := range scratchWords(s, aimed(s), limiter.InstantOf(time.Now().Add(i.offset()))) {
		lines = append(lines, written(words))
	}
	return append(lines, p.commands...), nil
}

// errPreview is the answer to a command that is only shown.
var errPreview = errors.New("it is not sent")

// preview is a client that keeps the commands instead of sending them.
type preview struct{ commands []string }

var _ redisstore.Client = (*preview)(nil)

// Process implements redisstore.Client.
func (p *preview) Process(_ context.Context, cmd redis.Cmder) error {
	p.commands = append(p.commands, written(cmd.Args()))
	cmd.SetErr(errPreview)
	return errPreview
}

// written returns a command as one line.
func written(args []any) string {
	var b strings.Builder
	for n, arg := range args {
		text := fmt.Sprint(arg)
		if raw, ok := arg.([]byte); ok {
			text = string(raw)
		}
		if n > 0 {
			b.WriteByte(' ')
		} else {
			text = strings.ToUpper(text)
		}
		if quoted := strconv.Quote(text); len(quoted) != len(text)+2 || text == "" || strings.ContainsAny(text, " '") {
			text = quoted
		}
		b.WriteString(text)
	}
	return b.String()
}

// Keys returns the Redis keys that an order, or a change, may write to from an instant on.
func (i *Injector) Keys(s model.Order, now limiter.Instant) []string {
	if s.Change.Kind != model.NoChange {
		return changed(s, now)
	}
	s = aimed(s)
	return touched(s.Key, s.Target, now)
}
