package cmd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ratescope/model"
	"ratescope/model/collect"
	"ratescope/model/format"
	"ratescope/model/report"
)

func newUndo(p *program) *cobra.Command {
	c := helped("undo ID")
	var reason string
	c.Flags().StringVar(&reason, "reason", "", "why, for the audit file")
	key := c.Flags().String("key", "", "what was fired at, or its last part: a script has to say it where the server counts as production")
	withdraw := c.Flags().Bool("withdraw", false,
		"take what was fired off what the keys hold now, also where another program has written since")
	p.jsonFlag(c)
	id := one("id", "fire prints it at the end of its summary; ratescope undo latest tells that of a killed program")
	return p.command(c, id, func(c *cobra.Command, args []string) error {
		return p.opened(func(src server) error {
			return undoAction(c.Context(), src, args[0], orderOptions{Guard: p.firing(), Withdraw: *withdraw, Key: *key, Reason: reason,
				Ask: question(os.Stderr)}, p.output(c))
		})
	}, serverFlags, []string{"mask", "allow-inject"})
}

// undone is what was taken back of what was fired.
type undone struct {
	ID       string        `json:"id"`
	Key      report.Text   `json:"key"`
	Requests int64         `json:"requests"`
	Restored []report.Text `json:"restored"` // keys that are as they were before
	Removed  []report.Text `json:"removed"`  // keys that were created, and are gone again
	Expired  []report.Text `json:"expired"`  // keys that had expired in the meantime

	Change    string `json:"change,omitempty"`    // what had been done to the key, where no requests were sent
	Lowered   string `json:"lowered,omitempty"`   // the limit that was put back beside requests that were counted since
	Withdrawn *int64 `json:"withdrawn,omitempty"` // units taken off, where nothing was put back
	// Open are the requests of a killed program of which it is not known whether they were counted.
	Open []string `json:"open,omitempty"`

	parts []string
}

func (u undone) String() string {
	what := cmp.Or(u.Change, format.Plural(int(u.Requests), "request")+" at")
	return fmt.Sprintf("%s: %s %s taken back, %s\n", u.ID, what, u.Key.Clean(), strings.Join(u.parts, ", "))
}

// undoAction takes back what one order wrote, by its id, and prints what was done.
func undoAction(ctx context.Context, src server, id string, order orderOptions, o output) error {
	injector := src.Injector(order.Guard)
	key, err := injector.KeyOf(id)
	if err != nil {
		return err
	}
	if err := order.confirmUndo(injector.Production(ctx), key); err != nil {
		return err
	}
	u, err := injector.TakeBack(ctx, model.TakeBack{Action: id, Withdraw: order.Withdraw, Reason: order.Reason})
	if err != nil {
		return err
	}
	n := o.Names
	r := undone{ID: u.Action, Key: n.Name(u.Key), Requests: u.Requests, Restored: n.List(u.Restored), Removed: n.List(u.Removed),
		Expired: n.List(u.Expired), Change: u.Change, Open: u.Open, Withdrawn: collect.Known(u.Withdrawn, u.Units), parts: u.Parts()}
	if u.Lowered != nil {
		r.Lowered = u.Lowered.String()
	}
	return o.print(r)
}
