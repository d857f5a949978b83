package headless

import (
	"context"

	"ratescope/feed"
	"ratescope/model"
)

// Keeping is a recording of what somebody else takes from a source: a dashboard's.
type Keeping struct {
	box  *feed.Mailbox
	stop context.CancelFunc
	done chan struct{}
	k    keeper
}

// Keep begins to write what it is given to a new file; the clock of r is not looked at.
func Keep(r Recording) (*Keeping, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	k := &Keeping{box: feed.NewMailbox(), stop: stop, done: make(chan struct{}), k: keeper{Recording: r}}
	go func() {
		defer close(k.done)
		for {
			b, err := k.box.Take(ctx)
			if err != nil {
				return
			}
			if !k.k.full && k.k.err == nil {
				k.k.keep(b)
			}
		}
	}()
	return k, nil
}

// Put hands over a batch that nobody changes any more. It never blocks.
func (k *Keeping) Put(b model.Batch) { k.box.Put(b) }

// Close ends the file and says what it holds.
func (k *Keeping) Close() (account string, err error) {
	k.stop()
	<-k.done
	if err := k.k.close(); err != nil {
		return "", err
	}
	if k.k.out == nil {
		return "nothing was recorded", nil
	}
	return k.k.account(), nil
}
